import { describe, expect, it } from 'vitest'
import type { DeltaInterval, Entry, EntryState, Mark } from '../../src/crdt/index.ts'
import { createEntry, InvalidIntervalError, MAX_COUNTER, OrMap, validateInterval } from '../../src/crdt/index.ts'
import { content, interval, mark, ref } from '../support/crdt/builders.ts'

function entry(counter: number, state: EntryState = 0): Entry {
  return createEntry(content(counter % 1_000), counter, state)
}

function refusal(value: unknown): InvalidIntervalError {
  try {
    validateInterval(value)
  } catch (error) {
    return error as InvalidIntervalError
  }
  throw new Error('accepted')
}

/** Dots 1 and 2 stand; 3 lingers, then closes; 4 died; 5 is the update of 4. */
const GOOD = interval(0, 7, { adds: [entry(1), entry(2), entry(3, 2), entry(5)], marks: [mark(5, 4), mark(6, 3, 1), mark(7, 3, 2)] })

class Interval implements DeltaInterval {
  replica = ref('O')
  shard = 0
  from = 0
  to = 1
  since = 0
  asOf = 1
  adds: Entry[] = []
  marks: Mark[] = []
}

describe('validateInterval', () => {
  it.each<[string, DeltaInterval]>([
    ['plain, with everything', GOOD],
    ['plain, empty of entries and marks', interval(3, 4)],
    ['a slice', interval(2, 5, { since: 6, asOf: 9, adds: [entry(3)], marks: [mark(8, 1), mark(9, 7)] })],
    ['a slice of marks only', interval(2, 2, { since: 6, asOf: 9, marks: [mark(7, 1)] })],
    ['a step along the dots only', interval(2, 9, { since: 9, asOf: 9 })],
    ['a full state of lingering entries, without their marks', interval(0, 9, { since: 9, asOf: 9, adds: [entry(4, 1), entry(9, 2)] })],
    ['dot 4 moved on three times', interval(4, 8, { marks: [mark(5, 4, 1), mark(6, 4, 2), mark(8, 4, 3)] })],
    ['marks out of the order of their dots', interval(4, 8, { marks: [mark(6, 3), mark(7, 2), mark(8, 1)] })],
    ['numbers up to 2^52', interval(MAX_COUNTER - 1, MAX_COUNTER, { adds: [entry(MAX_COUNTER)] })],
    ['objects without a prototype', Object.assign(Object.create(null), interval(0, 1))]
  ])('accepted: %s', (_, value) => {
    expect(() => validateInterval(value)).not.toThrow()
  })

  it.each<[string, unknown]>([
    ['interval', null],
    ['interval', undefined],
    ['interval', 'text'],
    ['interval', []],
    ['interval', new Interval()],
    ['interval.extra', { ...GOOD, extra: 1 }],
    ['interval', Object.create(Object.assign(Object.create(null), { inherited: 1 }), Object.getOwnPropertyDescriptors(GOOD))],
    ['replica', { ...GOOD, replica: undefined }],
    ['replica', { ...GOOD, replica: 'O#1' }],
    ['replica.admin', { ...GOOD, replica: { ...ref('O'), admin: true } }],
    ['replica.id', { ...GOOD, replica: ref('') }],
    ['replica.id', { ...GOOD, replica: ref('x'.repeat(129)) }],
    ['replica.id', { ...GOOD, replica: ref('\ud800') }],
    ['replica.id', { ...GOOD, replica: { id: 1, incarnation: 1 } }],
    ['replica.incarnation', { ...GOOD, replica: ref('O', -1) }],
    ['replica.incarnation', { ...GOOD, replica: ref('O', 0.5) }],
    ['replica.incarnation', { ...GOOD, replica: ref('O', MAX_COUNTER + 1) }],
    ['shard', { ...GOOD, shard: -1 }],
    ['shard', { ...GOOD, shard: 65_536 }],
    ['adds', { ...GOOD, adds: undefined }],
    ['adds', { ...GOOD, adds: { length: 0 } }],
    ['adds', { ...GOOD, adds: new Set() }],
    ['marks', { ...GOOD, marks: null }],
    ['marks', { ...GOOD, marks: 'abc' }]
  ])('refused: %s (%#)', (field, value) => {
    const error = refusal(value)
    expect([error.name, error.code, error.field]).toEqual(['InvalidIntervalError', 'ERR_INVALID_INTERVAL', field])
    expect(error.message).toContain('allowed is')
  })

  describe.each(['from', 'to', 'since', 'asOf'])('refused: %s', field => {
    it.each([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, MAX_COUNTER + 1, 2 ** 53, '1', 1n, null, undefined, [1]])('is %s', value => {
      expect(refusal({ ...GOOD, [field]: value }).field).toBe(field)
    })
  })

  it.each<[string, number[]]>([
    ['since', [5, 6, 4, 9]],
    ['since', [5, 6, 10, 9]],
    ['to', [5, 4, 5, 9]],
    ['to', [5, 10, 5, 9]],
    ['asOf', [5, 5, 9, 9]],
    ['asOf', [0, 0, 0, 0]]
  ])('refused: %s of (from, to, since, asOf) = %j', (field, [from, to, since, asOf]) => {
    expect(refusal({ ...interval(0, 0), from, to, since, asOf }).field).toBe(field)
  })

  it.each<[string, unknown[]]>([
    ['adds[0]', [null]],
    ['adds[0]', new Array(1)],
    ['adds[0]', [{ ...entry(3) }]],
    ['adds[1]', [entry(3), JSON.parse(JSON.stringify(entry(4)))]],
    ['adds[0].counter', [entry(2)]],
    ['adds[0].counter', [entry(6)]],
    ['adds[1].counter', [entry(4), entry(4)]],
    ['adds[1].counter', [entry(4), entry(3)]]
  ])('refused: %s of (2, 5] (%#)', (field, adds) => {
    expect(refusal({ ...interval(2, 5), adds }).field).toBe(field)
  })

  it.each<[string, unknown]>([
    ['marks[0]', null],
    ['marks[0]', [6, 1, 3, 7]],
    ['marks[0].why', { ...mark(6, 1), why: 'x' }],
    ['marks[0].event', mark(5, 1)],
    ['marks[0].event', mark(10, 1)],
    ['marks[0].event', mark(6.5, 1)],
    ['marks[0].event', { counter: 1, state: 3, reason: 7 }],
    ['marks[0].counter', mark(6, 0)],
    ['marks[0].counter', mark(6, -1)],
    ['marks[0].counter', mark(6, 1.5)],
    ['marks[0].counter', mark(6, 6)],
    ['marks[0].counter', mark(6, Number.NaN)],
    ['marks[0].state', mark(6, 1, 0 as 1)],
    ['marks[0].state', mark(6, 1, 4 as 1)],
    ['marks[0].state', mark(6, 1, '3' as unknown as 3)],
    ['marks[0].reason', mark(6, 1, 3, -1)],
    ['marks[0].reason', mark(6, 1, 3, 256)],
    ['marks[0].reason', mark(6, 1, 3, 1.5)]
  ])('refused: %s in (5, 9] (%#)', (field, value) => {
    expect(refusal(interval(5, 9, { marks: [value as Mark] })).field).toBe(field)
  })

  it.each<[string, string, Partial<DeltaInterval>]>([
    ['marks[1].event', 'two marks by one event', { marks: [mark(6, 1), mark(6, 2)] }],
    ['marks[1].event', 'marks out of order', { marks: [mark(7, 1), mark(6, 2)] }],
    ['marks[0].state', 'a dot removed twice', { marks: [mark(6, 2), mark(7, 1), mark(8, 2)] }],
    ['marks[0].state', 'a state moved back', { marks: [mark(6, 2, 2), mark(8, 2, 1)] }],
    ['marks[0].state', 'a removed dot among the entries', { adds: [entry(6)], marks: [mark(8, 6)] }],
    ['marks[0].state', 'an entry behind its mark', { adds: [entry(6)], marks: [mark(8, 6, 1)] }],
    ['marks[0].state', 'an entry ahead of its mark', { adds: [entry(6, 2)], marks: [mark(8, 6, 1)] }],
    ['marks[0].state', 'a dot that lingers and is not among the entries', { marks: [mark(8, 6, 1)] }],
    ['marks[1].state', 'the last of several marks against the entry', { adds: [entry(6, 1)], marks: [mark(8, 6, 1), mark(9, 6, 2)] }]
  ])('refused: %s: %s', (field, _, given) => {
    expect(refusal(interval(5, 9, given)).field).toBe(field)
  })

  it('the message shows at most 40 characters of what a peer sent', () => {
    const error = refusal({ ...GOOD, replica: { ...ref('O'), id: 'x'.repeat(100_000) } })
    expect(error.message.length).toBeLessThan(200)
    expect(refusal({ ...GOOD, ['y'.repeat(100_000)]: 1 }).message.length).toBeLessThan(200)
  })

  it('merge of a refused interval: throws, and nothing has changed', () => {
    const map = new OrMap({ self: ref('R') })
    map.merge(GOOD)
    const before = [map.sizes(), map.request(ref('O')), map.record(ref('O'))?.hash, [...map.entries(ref('O'))]]
    for (const bad of [
      interval(7, 9, { marks: [mark(8, 1), mark(9, 1)] }),
      interval(7, 8, { adds: [entry(9)] }),
      interval(7, 8, { shard: 1 })
    ]) {
      expect(() => map.merge(bad)).toThrow(InvalidIntervalError)
    }
    expect(() => map.merge(interval(0, 1, { replica: ref('') }))).toThrow(InvalidIntervalError)
    expect([map.sizes(), map.request(ref('O')), map.record(ref('O'))?.hash, [...map.entries(ref('O'))]]).toEqual(before)
  })
})
