import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonicalize } from '../../src/crdt/index.ts'
import { ByteReader } from '../../src/net/codec/byte-reader.ts'
import { ByteWriter, varintSize } from '../../src/net/codec/byte-writer.ts'
import { columnSize, readColumn, writeColumn } from '../../src/net/codec/int-column.ts'
import { checkMeta } from '../../src/net/codec/meta.ts'
import { readSessions, SessionWriter } from '../../src/net/codec/session-column.ts'
import { readTexts, writeTexts } from '../../src/net/codec/text-block.ts'
import { TextBudget } from '../../src/net/codec/text-budget.ts'
import { counter, name } from './codec-arbitrary.ts'

const value = fc.oneof(counter, fc.nat(3), fc.constantFrom(2 ** 49, 2 ** 49 - 1))
const column = fc.oneof(
  fc.array(value, { maxLength: 60 }),
  fc.array(fc.nat(2), { maxLength: 200 }),
  // Runs, and steps of nearly equal size
  fc.array(fc.tuple(value, fc.nat(30)), { maxLength: 6 }).map(runs => runs.flatMap(([v, n]) => new Array<number>(n).fill(v))),
  fc.tuple(fc.nat(), fc.array(fc.nat(3), { maxLength: 60 })).map(([first, steps]) => steps.map((step, i) => first + 1_000 * i + step))
)

describe('int column', () => {
  test('int column: any integers from 0 to 2^52, read back, are the same, in as many bytes as foretold', () => {
    fc.assert(
      fc.property(column, values => {
        const bytes = written(writer => writeColumn(writer, values))
        expect(bytes.length).toBe(columnSize(values))
        const reader = new ByteReader(bytes)
        expect([...readColumn(reader, values.length, 'field')]).toEqual(values)
        reader.end()
      }),
      { numRuns: 2_000 }
    )
  })

  test('int column: never longer than a varint for each value and one for the form', () => {
    fc.assert(
      fc.property(column, values => {
        expect(columnSize(values)).toBeLessThanOrEqual(1 + values.reduce((sum, one) => sum + varintSize(one), 0))
      })
    )
  })

  test.each([
    ['one value', new Array<number>(1_000).fill(15), 1],
    ['consecutive values', Array.from({ length: 1_000 }, (_, i) => 70_000 + i), 4],
    ['two runs', [...new Array<number>(500).fill(1), ...new Array<number>(500).fill(2)], 7],
    ['bits without order', Array.from({ length: 1_000 }, (_, i) => ((i * i * 7) % 11) & 1), 2 + 125]
  ])('int column: %s, %#: as short as its form', (_, values, bytes) => {
    expect(columnSize(values)).toBe(bytes)
  })
})

describe('varint', () => {
  test('varint: forms longer than needed, and values above 2^53, are refused', () => {
    for (const bytes of [
      [0x80, 0],
      [0xff, 0],
      [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0],
      [0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 16],
      [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 17],
      [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1]
    ]) {
      expect(() => new ByteReader(Uint8Array.from(bytes)).varint('field')).toThrow(/field is/)
    }
    expect(new ByteReader(Uint8Array.of(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 16)).varint('field')).toBe(2 ** 53)
  })
})

describe('text block', () => {
  const spec = { field: 'names', minBytes: 0, maxBytes: 1_024 }

  test('text block: any distinct names, read back, are the same', () => {
    fc.assert(
      fc.property(fc.uniqueArray(name, { maxLength: 40 }), texts => {
        const bytes = written(writer => writeTexts(writer, texts, spec, new TextBudget(2 ** 20)))
        const reader = new ByteReader(bytes)
        expect(readTexts(reader, texts.length, spec, new TextBudget(2 ** 20))).toEqual(texts)
        reader.end()
      }),
      { numRuns: 1_000 }
    )
  })

  test('text block: names with numbers behind one stem, a stem once and bits for the numbers', () => {
    const texts = Array.from({ length: 1_000 }, (_, i) => `user:${10_000 + ((i * 7_919) % 90_000)}`)
    expect(written(writer => writeTexts(writer, texts, spec, new TextBudget(2 ** 20))).length).toBeLessThan(17 * 125 + 20)
  })
})

describe('session column', () => {
  test('session column: numbered and random sessions, read back, are the same', () => {
    const characters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const text = (length: number): fc.Arbitrary<string> =>
      fc.string({ unit: fc.constantFrom(...characters), minLength: length, maxLength: length })
    const session = fc.oneof(
      text(16),
      text(5).map(end => `Rollcall012${end}`),
      text(1).map(end => `Rollcall-12AAAA${end}`)
    )
    fc.assert(
      fc.property(fc.array(session, { maxLength: 40 }), sessions => {
        const column = new SessionWriter()
        for (const one of sessions) {
          column.add(one)
        }
        const reader = new ByteReader(written(writer => column.write(writer)))
        expect(readSessions(reader, column.references)).toEqual(sessions)
        reader.end()
      }),
      { numRuns: 500 }
    )
  })
})

describe('check of metas', () => {
  const json = fc.oneof(
    fc.json({ maxDepth: 10 }),
    fc
      .object({ maxDepth: 4, values: [fc.string({ unit: 'binary' }), fc.double(), fc.integer(), fc.boolean(), fc.constant(null)] })
      .map(asJson),
    fc.jsonValue().map(value => asCanonical({ value })),
    fc.constantFrom(
      '{}',
      '[]',
      '{"a":1}',
      '{"a":1,"a":1}',
      '{"b":1,"a":1}',
      '{"a":1 }',
      ' {}',
      '{} ',
      '{"a":-0}',
      '{"a":1.0}',
      '{"a":1e21}',
      '{"a":1e+21}',
      '{"a":1e400}',
      '{"a":01}',
      '{"a":-}',
      '{"a":tru}',
      '{"a":true}',
      '{"a":nullx}',
      '{"a":undefined}',
      '{"a":"\\u0041"}',
      '{"a":"\\u0000"}',
      '{"a":"\\ud800"}',
      '{"a":"\\/"}',
      '{"a":"\\n"}',
      '{"\\n":1}',
      '{"\\"":1,"a":2}',
      '{"a":"',
      '{"a":[1,]}',
      '{"a":[,1]}',
      '{"a"}',
      '{"a":}',
      '{,}',
      '{"a":1,}',
      '{',
      '',
      'x',
      '"a"',
      '{"__proto__":{"polluted":1}}',
      '{"__proto__":1,"a":2}',
      `{"a":${'['.repeat(7)}${']'.repeat(7)}}`,
      `{"a":${'['.repeat(8)}${']'.repeat(8)}}`,
      `${'{"a":'.repeat(60_000)}`,
      `{"a":${'['.repeat(60_000)}`
    )
  )

  test('check of metas: any text, accepted exactly when it is what canonicalize makes of the object that it says', () => {
    fc.assert(
      fc.property(json, fc.nat(200), fc.constantFrom('', '"', '\\', ',', '0', '}', ' '), (text, at, inserted) => {
        for (const candidate of [text, text.slice(0, at) + inserted + text.slice(at), text.slice(0, at) + text.slice(at + 1)]) {
          if (candidate.isWellFormed()) {
            expect(isAccepted(candidate), candidate.slice(0, 200)).toBe(isCanonicalObject(candidate))
          }
        }
      }),
      { numRuns: 3_000 }
    )
  })

  function asJson(value: unknown): string {
    return JSON.stringify(value)
  }

  function asCanonical(value: unknown): string {
    try {
      return canonicalize(value)
    } catch {
      return '{}'
    }
  }

  function isCanonicalObject(text: string): boolean {
    try {
      return text.startsWith('{') && canonicalize(JSON.parse(text)) === text
    } catch {
      return false
    }
  }

  function isAccepted(text: string): boolean {
    try {
      checkMeta(text)
      return true
    } catch {
      return false
    }
  }
})

function written(write: (writer: ByteWriter) => void): Uint8Array {
  const writer = new ByteWriter()
  write(writer)
  return Uint8Array.from(writer.bytes)
}
