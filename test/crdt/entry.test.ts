import { describe, expect, it } from 'vitest'
import { internEntry } from '../../src/crdt/entry.ts'
import type { EntryContent } from '../../src/crdt/index.ts'
import {
  createEntry,
  EntryState,
  entryBytes,
  type InvalidEntryError,
  isEntry,
  MAX_COUNTER,
  sameContent,
  utf8Length,
  withState
} from '../../src/crdt/index.ts'
import { StringPool } from '../../src/crdt/string-pool.ts'
import { content, ref } from '../support/crdt/builders.ts'

const OVER = [{ replica: ref('P', 3), head: 9 }]

/** One other valid value per field. */
const OTHERS: Partial<EntryContent>[] = [
  { topic: 'other' },
  { key: 'other' },
  { user: 'other' },
  { session: 'AZaz09-_AZaz09-_' },
  { connection: MAX_COUNTER },
  { meta: '{}' },
  { joinedAt: 0 },
  { revision: 1 },
  { epoch: 2 },
  { over: OVER },
  { over: [...OVER, ...OVER] },
  { over: [{ replica: ref('P', 4), head: 9 }] },
  { over: [{ replica: ref('P', 3), head: 10 }] },
  { over: [{ replica: ref('Q', 3), head: 9 }] }
]

function refusal(task: () => unknown): InvalidEntryError {
  try {
    task()
  } catch (error) {
    return error as InvalidEntryError
  }
  throw new Error('accepted')
}

describe('entry', () => {
  it('created: says its content, counter and state; live by default', () => {
    const given = content(1, { over: OVER })
    expect(createEntry(given, 5)).toMatchObject({ ...given, counter: 5, state: EntryState.live })
    expect(createEntry(given, 5, EntryState.closed).state).toBe(EntryState.closed)
  })

  it('the same content: the same hash, whatever counter, state and objects; and the same content', () => {
    const [a, b] = [createEntry(content(1, { over: OVER }), 5), createEntry(structuredClone(content(1, { over: OVER })), 6, 1)]
    expect([a.hashHigh, a.hashLow]).toEqual([b.hashHigh, b.hashLow])
    expect(sameContent(a, b)).toBe(true)
  })

  it.each(OTHERS)('another field %j: another hash in both lanes, another content', given => {
    const [a, b] = [createEntry(content(1), 5), createEntry(content(1, given), 5)]
    expect(a.hashHigh).not.toBe(b.hashHigh)
    expect(a.hashLow).not.toBe(b.hashLow)
    expect(sameContent(a, b)).toBe(false)
  })

  it('all variants of one content: pairwise different hashes', () => {
    const hashes = [{}, ...OTHERS].map(given => createEntry(content(1, given), 5)).map(each => `${each.hashHigh},${each.hashLow}`)
    expect(new Set(hashes).size).toBe(hashes.length)
  })

  it('texts swapped between fields: another hash', () => {
    const [a, b] = [createEntry(content(1, { key: 'x', user: 'y' }), 1), createEntry(content(1, { key: 'y', user: 'x' }), 1)]
    expect([a.hashHigh, a.hashLow]).not.toEqual([b.hashHigh, b.hashLow])
  })

  it('withState: a new object with the new state, the old one as it was', () => {
    const before = createEntry(content(1), 5)
    const after = withState(before, EntryState.lingering)
    expect([before.state, after.state]).toEqual([0, 1])
    expect(after).toEqual({ ...before, state: 1 })
    expect(refusal(() => withState(before, EntryState.removed)).field).toBe('state')
  })

  it.each<[string, unknown]>([
    ['topic', 1],
    ['topic', undefined],
    ['topic', '\ud800'],
    ['key', null],
    ['key', 'a\udc00'],
    ['user', {}],
    ['meta', { a: 1 }],
    ['session', ''],
    ['session', 'short'],
    ['session', 'AAAAAAAAAAAAAAA+'],
    ['session', 'AAAAAAAAAAAAAAAé'],
    ['session', 'AAAAAAAAAAAAAAAAA'],
    ['session', 16],
    ['connection', -1],
    ['connection', 1.5],
    ['connection', MAX_COUNTER + 1],
    ['connection', '1'],
    ['joinedAt', Number.NaN],
    ['joinedAt', Number.POSITIVE_INFINITY],
    ['revision', -0.5],
    ['epoch', null],
    ['over', undefined],
    ['over', { length: 0 }],
    ['over[0]', [null]],
    ['over[0]', [{ head: 1 }]],
    ['over[0].replica.id', [{ replica: { id: '', incarnation: 1 }, head: 1 }]],
    ['over[0].replica.id', [{ replica: { id: 'x'.repeat(129), incarnation: 1 }, head: 1 }]],
    ['over[0].replica.incarnation', [{ replica: { id: 'P', incarnation: -1 }, head: 1 }]],
    ['over[1].head', [...OVER, { replica: ref('P'), head: Number.NaN }]]
  ])('refused: %s is %j', (field, value) => {
    const name = field.split('[')[0] as string
    const error = refusal(() => createEntry({ ...content(1), [name]: value } as EntryContent, 1))
    expect([error.name, error.code, error.field]).toEqual(['InvalidEntryError', 'ERR_INVALID_ENTRY', field])
    expect(error.message).toContain('allowed is')
  })

  it.each([0, -1, 1.5, Number.NaN, MAX_COUNTER + 1])('refused: counter %d', counter => {
    expect(refusal(() => createEntry(content(1), counter)).field).toBe('counter')
  })

  it.each([3, 4, -1, 0.5, '0', null])('refused: state %j', state => {
    expect(refusal(() => createEntry(content(1), 1, state as 0)).field).toBe('state')
  })

  it('names such as __proto__ are ordinary', () => {
    const entry = createEntry(content(1, { topic: '__proto__', key: 'constructor', user: 'toString' }), 1)
    expect([entry.topic, entry.key, entry.user]).toEqual(['__proto__', 'constructor', 'toString'])
  })

  it('isEntry: only what was made here', () => {
    const entry = createEntry(content(1), 1)
    expect([entry, withState(entry, 1), { ...entry }, null, undefined, 1].map(isEntry)).toEqual([true, true, false, false, false, false])
  })

  it('interned: equal to what it was; frozen: left alone', () => {
    const pool = new StringPool()
    const entry = createEntry(content(1), 1)
    expect(internEntry(entry, pool)).toBe(entry)
    expect(entry).toEqual(createEntry(content(1), 1))
    expect(pool.size).toBe(4)
    const frozen = Object.freeze(createEntry(content(2), 1))
    expect(internEntry(frozen, pool)).toBe(frozen)
    expect(pool.size).toBe(4)
  })
})

describe('encoded size', () => {
  it.each(['', 'abc', 'é', '€', '😀', 'aé€😀z', '\u007f\u0080\u07ff\u0800\uffff'])('utf8Length of %j: that of the encoder', text => {
    expect(utf8Length(text)).toBe(new TextEncoder().encode(text).length)
  })

  it('of an entry: at least its JSON-free parts at full width, and it grows with each text by its bytes', () => {
    const base = entryBytes(createEntry(content(1), 1))
    expect(base).toBeGreaterThan(12 + 5 * 8 + 'room:1user:1user:1{"n":1}'.length)
    expect(base).toBeLessThan(160)
    expect(entryBytes(createEntry(content(1, { topic: 'room:1€€' }), 1))).toBe(base + 6)
    expect(entryBytes(createEntry(content(1, { over: OVER }), 1))).toBeGreaterThanOrEqual(base + 1 + 2 * 9)
  })
})
