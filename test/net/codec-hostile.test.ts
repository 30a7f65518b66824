import { Packr } from 'msgpackr'
import { describe, expect, test } from 'vitest'
import { decodeMessage, encodeMessage, InvalidFrameError } from '../../src/net/codec.ts'
import { createRandom, type Random } from '../../src/tracker/environment.ts'
import type { Message } from '../../src/tracker/messages.ts'
import { SAMPLES, SELF } from './codec-samples.ts'
import { assertValid } from './codec-validity.ts'

const MUTATIONS = process.env.ROLLCALL_LONG === undefined ? 20_000 : 2_000_000
/** A long run takes minutes; it is not judged by its time. */
const LONG_MS = 3_600_000
const SEED = process.env.ROLLCALL_SEED ?? '1'

const FRAMES = Object.values(SAMPLES).flatMap(message => [encodeMessage(message), encodeMessage(message, { sender: SELF.id })])

describe('codec: hostile bytes', () => {
  test(
    `codec: ${MUTATIONS} mutated frames, each is refused with InvalidFrameError or is a message that encodes again (seed ${SEED})`,
    () => {
      const random = createRandom(`mutations/${SEED}`)
      let valid = 0
      for (let i = 0; i < MUTATIONS; i++) {
        const bytes = mutate(random)
        const message = decodeHostile(bytes)
        if (message !== undefined) {
          valid++
          if (valid % 8 === 0) {
            expect(decodeMessage(encodeMessage(message))).toStrictEqual(message)
          }
        }
      }
      // Blind mutations that nothing survives, or nothing fails, would test nothing.
      expect(valid).toBeGreaterThan(MUTATIONS / 100)
      expect(valid).toBeLessThan(MUTATIONS)
      expectNoPollution()
    },
    LONG_MS
  )

  test(
    'codec: random bytes, each is refused with InvalidFrameError or is a message',
    () => {
      const random = createRandom(`noise/${SEED}`)
      for (let i = 0; i < MUTATIONS / 4; i++) {
        const payload = Uint8Array.from({ length: random.below(80) }, () => random.below(256))
        decodeHostile(payload)
        decodeHostile(sealed(16 + random.below(8), payload))
      }
      expectNoPollution()
    },
    LONG_MS
  )

  test('codec: every truncation and every frame with a byte more is refused', () => {
    for (const frame of FRAMES) {
      for (let length = 0; length < frame.length; length++) {
        expectRefused(frame.subarray(0, length))
      }
      expectRefused(Uint8Array.of(...frame, 0))
      const payload = payloadOf(frame)
      for (let length = 0; length < payload.length; length++) {
        expectRefused(sealed(kindOf(frame), payload.subarray(0, length)))
      }
      expectRefused(sealed(kindOf(frame), Uint8Array.of(...payload, 0)))
    }
  })
})

describe('codec: MessagePack that is no frame', () => {
  const frame = FRAMES[0] as Uint8Array
  const payload = payloadOf(frame)
  const packr = new Packr({ useRecords: false, moreTypes: true, structuredClone: true })
  const records = new Packr({ useRecords: true, structures: [] })

  test.each<[string, Uint8Array]>([
    ['an empty frame', new Uint8Array(0)],
    ['a map with __proto__', packr.pack(new Map([['__proto__', { polluted: true }]]))],
    ['a map in the place of the payload', packr.pack([16, { ['__proto__']: { polluted: true }, constructor: 1 }])],
    ['a record', records.pack({ kind: 16, payload })],
    ['a record in the place of the payload', records.pack([16, { payload }])],
    ['a record definition alone', Uint8Array.of(0xd4, 0x72, 0x40)],
    ['a record definition behind the kind', Uint8Array.of(0x92, 16, 0xd4, 0x72, 0x40, 0x91, 0xa1, 0x61, 1)],
    ['a reference to a record as kind', Uint8Array.of(0x92, 0xd5, 0x72, 0x40, 0)],
    ['a date', packr.pack([16, new Date(0)])],
    ['a set', packr.pack([16, new Set([1])])],
    ['an error', packr.pack([16, new Error('x')])],
    ['a typed array', packr.pack([16, new Float64Array(4)])],
    ['a regular expression', packr.pack([16, /x/])],
    ['a big integer as kind', packr.pack([2n ** 63n, payload])],
    ['a negative kind', packr.pack([-1, payload])],
    ['a fraction as kind', packr.pack([16.5, payload])],
    ['NaN as kind', packr.pack([Number.NaN, payload])],
    ['a text as payload', packr.pack([16, 'payload'])],
    ['nothing as payload', packr.pack([16, null])],
    ['an array of one', packr.pack([16])],
    ['an array of three', packr.pack([16, payload, 1])],
    ['an array with a long header', Uint8Array.of(0xdc, 0, 2, ...frame.subarray(1))],
    ['two frames', Uint8Array.of(...frame, ...frame)],
    ['a payload that claims 4 GiB', Uint8Array.of(0x92, 16, 0xc6, 0xff, 0xff, 0xff, 0xff)],
    ['a payload that claims a byte less', Uint8Array.of(0x92, 16, 0xc4, payload.length - 1, ...payload)],
    ['extension data of 4 GiB', Uint8Array.of(0x92, 16, 0xc9, 0xff, 0xff, 0xff, 0xff, 0x72)],
    ['arrays nested 60,000 deep', new Uint8Array(60_000).fill(0x91)],
    ['arrays nested behind the kind', Uint8Array.of(0x92, 16, ...new Uint8Array(60_000).fill(0x91))],
    ['maps nested 30,000 deep', Uint8Array.from({ length: 60_000 }, (_, i) => (i % 2 === 0 ? 0x81 : 0xc0))],
    ['a varint without end', sealed(17, new Uint8Array(1_000).fill(0x80))]
  ])('codec: %s, refused', (_, bytes) => {
    expectRefused(bytes)
    expectNoPollution()
  })

  test.each([
    ['a number', 7],
    ['a text', 'frame'],
    ['nothing', undefined],
    ['an object that looks like bytes', { length: 3, 0: 0x92, 1: 16, 2: 0xc0 }]
  ])('codec: %s instead of bytes, refused', (_, value) => {
    expectRefused(value as unknown as Uint8Array)
  })

  test('codec: 65,537 bytes, refused by the frame limit before a byte is read', () => {
    expectRefused(new Uint8Array(65_537), /frame is "65537 bytes", allowed is at most 65536 bytes/)
  })

  test.each([
    ['version 0', 4],
    ['version 2', 36],
    ['a tag of no message', 16 + 7]
  ])('codec: %s, refused by name', (_, kind) => {
    expectRefused(sealed(kind, payload), /invalid frame: (version|tag) is/)
  })
})

describe('codec: counts that lie', () => {
  // flags, no ids, one ref of the sender without incarnation, then the number of intervals
  const head = [0, 0, 1, 0]

  test.each<[string, number[], RegExp]>([
    ['2^50 intervals', [...head, ...varint(2 ** 50)], /^invalid frame: intervals is/],
    ['2^50 ids', [0, ...varint(2 ** 50)], /^invalid frame: replica ids is/],
    ['2^50 refs', [0, 0, ...varint(2 ** 50)], /^invalid frame: replica refs is/],
    // one interval: columns from, span and adds, of which the last is the constant 2^40
    ['2^40 adds', [...head, 1, 0b111, 0, 8, ...varint(2 ** 40 * 8)], /^invalid frame: adds is 1099511627776/],
    // columns from, span and marks
    ['2^40 marks', [...head, 1, 0b1011, 0, 8, ...varint(2 ** 40 * 8)], /^invalid frame: marks is 1099511627776/],
    // 8 adds, of which the column of topics claims a packed width of 53 bits
    [
      'packed columns longer than the frame',
      [...head, 1, 0b111, 0, 64, 64, 0b1, ...varint(53 * 8 + 3), 0],
      /^invalid frame: adds.topic is 53, allowed is at most 0 bytes/
    ],
    [
      'a column of varints longer than the frame',
      [...head, 1, 0b111, 0, 64, 64, 0b1, 2, 0, 0],
      /^invalid frame: adds.topic is 8, allowed is at most 2 rows/
    ],
    [
      'runs past the end of the column',
      [...head, 1, 0b111, 0, 64, 64, 0b1, 1 + 16, 7, 1, 0, 1],
      /^invalid frame: adds.topic is 9, allowed is runs over 8 rows/
    ],
    ['more runs than rows', [...head, 1, 0b111, 0, 64, 64, 0b1, ...varint(2 ** 40 * 8 + 1), 0, 0], /^invalid frame: adds.topic is .*/]
  ])('codec: %s, refused', (_, payload, reason) => {
    expectRefused(sealed(20, Uint8Array.from(payload)), reason)
  })

  test('codec: the smallest frame with the most rows, decodes into a bounded heap', () => {
    const bomb = bombOf(8_192)
    expect(bomb.length).toBeLessThan(100)
    const before = process.memoryUsage()
    const message = decodeMessage(bomb, { sender: 'x' })
    const after = process.memoryUsage()
    expect(message.type === 'delta' && message.intervals[0]?.adds.length).toBe(8_192)
    expect(after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers).toBeLessThan(32 * 2 ** 20)
    expectRefused(bombOf(8_193), /adds is 8193, allowed is at most 8192/)
  })

  test('codec: one meta of 60 kB for a thousand entries, refused by the budget of text', () => {
    const delta = deltaOf(Array.from({ length: 1_000 }, () => `{"a":"${'x'.repeat(60_000)}"}`))
    expect(() => encodeMessage(delta)).toThrow(/of text", allowed is at most 1048576 in a frame/)
    expectRefused(encodeMessage(delta, { limits: { textBytes: 2 ** 27 } }), /at most 1048576 in a frame/)
  })

  test('codec: metas that share a long beginning, refused by the budget of text', () => {
    const stem = `{"a":"${'x'.repeat(1_000)}`
    const metas = Array.from({ length: 1_100 }, (_, i) => `${stem}${String.fromCharCode(0x4e00 + i)}"}`)
    const delta = deltaOf(metas)
    expect(() => encodeMessage(delta)).toThrow(/bytes of text", allowed is at most 1048576 in a frame/)
    const roomy = encodeMessage(delta, { limits: { textBytes: 2 ** 24 } })
    expect(roomy.length).toBeLessThan(65_536)
    expectRefused(roomy, /at most 1048576 in a frame/)
  })
})

/** One topic, key and session for all, so that every column is constant: no row costs a byte. */
function bombOf(rows: number): Uint8Array {
  const frame = encodeMessage(
    {
      type: 'delta',
      answer: false,
      intervals: [
        {
          replica: { id: 'x', incarnation: 1 },
          shard: 0,
          from: 0,
          to: rows,
          since: 0,
          asOf: rows,
          adds: deltaEntries(rows),
          marks: []
        }
      ]
    },
    { sender: 'x', limits: { adds: rows } }
  )
  return frame
}

const sample = (SAMPLES['delta of one join'] as Message & { type: 'delta' }).intervals[0] as { adds: readonly { counter: number }[] }

function deltaEntries(rows: number): never[] {
  return Array.from({ length: rows }, (_, i) => ({ ...sample.adds[0], counter: i + 1 })) as never[]
}

function deltaOf(metas: readonly string[]): Message {
  const adds = metas.map((meta, i) => ({ ...sample.adds[0], counter: i + 1, meta })) as never[]
  const to = metas.length
  const interval = { replica: SELF, shard: 0, from: 0, to, since: 0, asOf: to, adds, marks: [] }
  return { type: 'delta', answer: false, intervals: [interval] }
}

function mutate(random: Random): Uint8Array {
  const frame = FRAMES[random.below(FRAMES.length)] as Uint8Array
  // Most mutations are sealed anew: else the length in the container would catch nearly all of them.
  if (random.below(8) === 0) {
    return mutated(frame, random)
  }
  const kind = random.below(16) === 0 ? 16 + random.below(8) : kindOf(frame)
  return sealed(kind, mutated(payloadOf(frame), random))
}

function mutated(bytes: Uint8Array, random: Random): Uint8Array {
  let result = Uint8Array.from(bytes)
  for (let n = 1 + random.below(3); n > 0; n--) {
    const at = random.below(result.length + 1)
    switch (random.below(6)) {
      case 0:
        result[at] = (result[at] ?? 0) ^ (1 << random.below(8))
        break
      case 1:
        result[at] = random.below(256)
        break
      case 2:
        result = result.slice(0, at)
        break
      case 3:
        result = Uint8Array.of(...result.slice(0, at), ...varint(2 ** random.below(53)), ...result.slice(at + 1))
        break
      case 4: {
        const other = payloadOf(FRAMES[random.below(FRAMES.length)] as Uint8Array)
        const start = random.below(other.length)
        result = Uint8Array.of(...result.slice(0, at), ...other.slice(start, start + random.below(12)), ...result.slice(at))
        break
      }
      default:
        result = Uint8Array.of(...result.slice(0, at), ...result.slice(at + 1 + random.below(4)))
    }
  }
  return result
}

function decodeHostile(bytes: Uint8Array): Message | undefined {
  try {
    const message = decodeMessage(bytes, { sender: SELF.id })
    assertValid(message)
    return message
  } catch (error) {
    if (!(error instanceof InvalidFrameError)) {
      throw new Error(`frame ${Buffer.from(bytes).toString('hex')}`, { cause: error })
    }
    return undefined
  }
}

function expectRefused(bytes: Uint8Array, message: RegExp = /^invalid frame: .+ is .+, allowed is .+/): void {
  let thrown: unknown
  try {
    decodeMessage(bytes, { sender: SELF.id })
  } catch (error) {
    thrown = error
  }
  expect(thrown).toBeInstanceOf(InvalidFrameError)
  expect(thrown).toMatchObject({ name: 'InvalidFrameError', code: 'ERR_INVALID_FRAME', message: expect.stringMatching(message) })
}

function expectNoPollution(): void {
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  expect(Object.keys(Object.prototype)).toEqual([])
}

function sealed(kind: number, payload: Uint8Array): Uint8Array {
  return Uint8Array.of(0x92, kind, 0xc5, payload.length >> 8, payload.length & 255, ...payload)
}

function kindOf(frame: Uint8Array): number {
  return frame[1] as number
}

function payloadOf(frame: Uint8Array): Uint8Array {
  return frame.subarray(frame[2] === 0xc4 ? 4 : 5)
}

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) + 128, ...varint(Math.floor(value / 128))]
}
