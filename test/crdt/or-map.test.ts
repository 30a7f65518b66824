import { describe, expect, it } from 'vitest'
import type { DeltaInterval, Entry } from '../../src/crdt/index.ts'
import { createEntry, EntryState, InvalidEntryError, InvalidMarkError, OrMap, OwnRecordError } from '../../src/crdt/index.ts'
import { content, interval, mark, ref } from '../support/crdt/builders.ts'

const O = ref('O')
const R = ref('R')

function owner(adds: number, options: { logLimit?: number } = {}): OrMap {
  const map = new OrMap({ self: O, ...options })
  for (let n = 1; n <= adds; n++) {
    map.add(content(n))
  }
  return map
}

/** Sends what `from` has for `to`, answer by answer, until there is nothing more to say. */
function pull(to: OrMap, from: OrMap, of = from.self, adds?: number): DeltaInterval[] {
  const answers: DeltaInterval[] = []
  for (;;) {
    const answer = from.serve(to.request(of), adds === undefined ? {} : { adds })
    if (answer === undefined) {
      return answers
    }
    answers.push(answer)
    to.merge(answer)
  }
}

function dots(entries: Iterable<Entry>): number[] {
  return Array.from(entries, entry => entry.counter)
}

describe('OrMap, own record', () => {
  it('new: one record, of itself, complete and empty', () => {
    const map = new OrMap({ self: O })
    expect([map.self, map.shard, map.count]).toEqual([O, 0, 0])
    expect(map.record(O)).toMatchObject({ ref: O, head: 0, horizon: 0, known: 0, floor: 0, cursor: null, complete: true, repairing: false })
    expect(Array.from(map.records(), record => record.ref)).toEqual([O])
    expect(map.sizes()).toEqual({ records: 1, entries: 0, logMarks: 0, parked: 0, pooledStrings: 0 })
  })

  it('add: one event, a live entry under its number', () => {
    const map = owner(0)
    const entry = map.add(content(1))
    expect(entry).toEqual(createEntry(content(1), 1))
    expect([map.record(O)?.head, map.count, map.get(O, 1)]).toEqual([1, 1, entry])
    expect(map.marksSince(O, 0)).toEqual([])
  })

  it('add of invalid content: throws, and no event is lost', () => {
    const map = owner(1)
    expect(() => map.add({ ...content(2), topic: '\ud800' })).toThrow(InvalidEntryError)
    expect([map.record(O)?.head, map.count, map.add(content(2)).counter]).toEqual([1, 1, 2])
  })

  it('update: one event that removes the old dot and makes the new, with its mark', () => {
    const map = owner(2)
    const entry = map.update(1, content(9), 5)
    expect(entry?.counter).toBe(3)
    expect([dots(map.entries(O)), map.record(O)?.head, map.count]).toEqual([[2, 3], 3, 2])
    expect(map.marksSince(O, 0)).toEqual([mark(3, 1, 3, 5)])
  })

  it('update of a dot that is not held: nothing happens', () => {
    const map = owner(1)
    expect([map.update(2, content(9)), map.update(0, content(9)), map.update(1.5, content(9))]).toEqual([undefined, undefined, undefined])
    expect(map.record(O)?.head).toBe(1)
  })

  it('update with invalid content or reason: throws, the old entry stays', () => {
    const map = owner(1)
    expect(() => map.update(1, { ...content(9), epoch: -1 })).toThrow(InvalidEntryError)
    expect(() => map.update(1, content(9), 256)).toThrow(InvalidMarkError)
    expect([dots(map.entries(O)), map.record(O)?.head]).toEqual([[1], 1])
  })

  it('mark: a state only moves on, each move is one event, and gives the entry as it was', () => {
    const map = owner(1)
    expect(map.mark(1, 1, 4)?.state).toBe(EntryState.live)
    expect(map.mark(1, 1, 4)).toBeUndefined()
    expect(map.mark(1, 2, 5)?.state).toBe(EntryState.lingering)
    expect(map.mark(1, 1, 4)).toBeUndefined()
    expect(map.get(O, 1)?.state).toBe(EntryState.closed)
    expect(map.mark(1, 3, 6)?.state).toBe(EntryState.closed)
    expect([map.mark(1, 3, 6), map.get(O, 1), map.count, map.record(O)?.head]).toEqual([undefined, undefined, 0, 4])
    expect(map.marksSince(O, 0)).toEqual([mark(2, 1, 1, 4), mark(3, 1, 2, 5), mark(4, 1, 3, 6)])
    expect(map.marksSince(O, 2)).toEqual([mark(3, 1, 2, 5), mark(4, 1, 3, 6)])
  })

  it.each([
    [0, 1],
    [4, 1],
    [1.5, 1],
    [3, -1],
    [3, 256],
    [3, Number.NaN]
  ])('mark with state %d and reason %d: refused, no event', (state, reason) => {
    const map = owner(1)
    expect(() => map.mark(1, state as 1, reason)).toThrow(InvalidMarkError)
    expect([map.record(O)?.head, map.get(O, 1)?.state]).toEqual([1, 0])
  })

  it('INV-9: an interval about the own record changes nothing', () => {
    const map = owner(1)
    const lie = interval(0, 9, { since: 9, asOf: 9 })
    expect(map.merge(lie)).toMatchObject({ outcome: 'own', added: [], changed: [], removed: [], complete: true, advanced: false })
    expect([map.record(O)?.head, map.count]).toEqual([1, 1])
  })

  it('a hash that was left and reached again is the same', () => {
    const map = owner(3)
    const other = owner(3)
    map.add(content(4))
    map.mark(4, 3, 1)
    other.add(content(4))
    other.mark(4, 3, 1)
    expect(map.record(O)?.hash).toEqual(other.record(O)?.hash)
    expect(map.record(O)?.hash).toEqual(owner(3).record(O)?.hash)
    expect(map.mark(1, 1, 1)).toBeDefined()
    expect(map.record(O)?.hash).not.toEqual(other.record(O)?.hash)
  })
})

describe('OrMap, reincarnation', () => {
  const AGAIN = ref('O', 2)

  it('every entry gets a new dot in the old order, and keeps content and state; the old record is gone', () => {
    const map = owner(4)
    map.update(2, content(9))
    map.mark(3, 1, 0)
    map.mark(1, 3, 0)
    const old = [...map.entries(O)]
    const pairs = map.reincarnate(AGAIN)
    expect(pairs.map(({ before }) => before)).toEqual(old)
    expect(pairs.map(({ before, after }) => ({ ...after, counter: before.counter }))).toEqual(old)
    expect(dots(map.entries(AGAIN))).toEqual([1, 2, 3])
    expect([map.self, map.record(O), map.count]).toEqual([AGAIN, undefined, 3])
    expect(map.record(AGAIN)).toMatchObject({ head: 3, horizon: 3, known: 3, floor: 0, logSize: 0, complete: true })
    expect(map.add(content(10)).counter).toBe(4)
  })

  it('its entries, lingering ones too, reach a peer from any point', () => {
    const map = owner(3)
    map.mark(2, 1, 0)
    map.reincarnate(AGAIN)
    const [fresh, behind] = [new OrMap({ self: R }), new OrMap({ self: R })]
    behind.merge(interval(0, 1, { replica: AGAIN, adds: [map.get(AGAIN, 1) as Entry] }))
    for (const peer of [fresh, behind]) {
      pull(peer, map)
      expect([...peer.entries(AGAIN)]).toEqual([...map.entries(AGAIN)])
      expect(peer.record(AGAIN)?.hash).toEqual(map.record(AGAIN)?.hash)
    }
  })

  it.each([[ref('O', 1)], [ref('O', 0)], [ref('P', 2)], [ref('O', 1.5)], [ref('O', Number.NaN)], [ref('O', 2 ** 53)]])(
    'under %j: refused, nothing changes',
    self => {
      const map = owner(1)
      expect(() => map.reincarnate(self)).toThrow(OwnRecordError)
      expect([map.self, map.count]).toEqual([O, 1])
    }
  )

  it('a record that others claimed under the new ref is replaced', () => {
    const map = owner(1)
    map.merge(interval(0, 9, { replica: AGAIN, adds: [createEntry(content(5), 9)] }))
    expect(map.count).toBe(2)
    map.reincarnate(AGAIN)
    expect([map.count, map.record(AGAIN)?.head, map.sizes().records]).toEqual([1, 1, 1])
  })
})

describe('OrMap, merge', () => {
  it('the results of one merge: added, changed and removed, once per dot, by event', () => {
    const [o, r] = [owner(4), new OrMap({ self: R })]
    pull(r, o)
    const [one, , three, four] = [...r.entries(O)]
    o.mark(3, 1, 11)
    o.mark(1, 1, 12)
    o.mark(4, 1, 13)
    o.mark(3, 2, 14)
    o.mark(1, 3, 15)
    o.mark(4, 3, 16)
    o.add(content(5))
    const result = r.merge(o.serve(r.request(O)) as DeltaInterval)
    expect(result).toMatchObject({ outcome: 'applied', complete: true, advanced: true })
    expect(dots(result.added)).toEqual([11])
    expect(result.changed).toEqual([{ before: three, after: r.get(O, 3), reason: 14 }])
    expect(result.removed).toEqual([
      { entry: one, reason: 15 },
      { entry: four, reason: 16 }
    ])
    expect(r.get(O, 3)?.state).toBe(EntryState.closed)
  })

  it('the same again: old, nothing changes', () => {
    const [o, r] = [owner(2), new OrMap({ self: R })]
    const [answer] = pull(r, o)
    expect(r.merge(answer as DeltaInterval)).toMatchObject({ outcome: 'old', added: [], advanced: false, complete: true })
  })

  it('INV-2: over a gap nothing changes, the record is asked for from its head, and a parked interval joins in once it fits', () => {
    const [o, r] = [owner(3), new OrMap({ self: R })]
    const entries = [...o.entries(O)]
    const steps = entries.map((entry, i) => interval(i, i + 1, { adds: [entry] }))
    r.merge(steps[0] as DeltaInterval)
    expect(r.merge(steps[2] as DeltaInterval)).toMatchObject({ outcome: 'gap', added: [], complete: true, advanced: false })
    expect([r.request(O).head, r.record(O)?.parked, r.count]).toEqual([1, 1, 1])
    expect(dots(r.merge(steps[1] as DeltaInterval).added)).toEqual([2, 3])
    expect([r.request(O).head, r.record(O)?.parked]).toEqual([3, 0])
  })

  it('a dot added by one interval and removed by a parked one of the same merge: appears nowhere', () => {
    const [o, r] = [owner(1), new OrMap({ self: R })]
    const first = o.serve({ replica: O, shard: 0, head: 0, cursor: null }) as DeltaInterval
    o.mark(1, 3, 1)
    r.merge(o.serve({ replica: O, shard: 0, head: 1, cursor: null }) as DeltaInterval)
    expect(r.merge(first)).toMatchObject({ outcome: 'applied', added: [], changed: [], removed: [] })
    expect([r.record(O)?.head, r.count, r.sizes().pooledStrings]).toEqual([2, 0, 0])
  })

  it('a dot moved on by an interval and again by a parked one: changed once, from the first state to the last', () => {
    const [o, r] = [owner(1), new OrMap({ self: R })]
    pull(r, o)
    const before = r.get(O, 1)
    o.mark(1, 1, 1)
    const first = o.serve(r.request(O)) as DeltaInterval
    o.mark(1, 2, 2)
    r.merge(o.serve({ replica: O, shard: 0, head: 2, cursor: null }) as DeltaInterval)
    expect(r.merge(first).changed).toEqual([{ before, after: r.get(O, 1), reason: 2 }])
  })

  it('300,000 entries parked and then merged at once: no stack is too small', () => {
    const r = new OrMap({ self: R })
    const adds: Entry[] = []
    const one = createEntry(content(1), 1)
    for (let counter = 2; counter <= 300_000; counter++) {
      adds.push(createEntry(one, counter))
    }
    r.merge(interval(1, 300_000, { adds }))
    expect(r.merge(interval(0, 1, { adds: [one] })).added).toHaveLength(300_000)
  })

  it('parked in any order: all join in once the first fits', () => {
    const r = new OrMap({ self: R })
    for (const from of [5, 3, 4]) {
      r.merge(interval(from, from + 1))
    }
    r.merge(interval(0, 3))
    expect([r.request(O).head, r.record(O)?.parked]).toEqual([6, 0])
  })

  it('overlapping what is known: every mark stands once in the log', () => {
    const r = new OrMap({ self: R })
    r.merge(interval(0, 3, { adds: [createEntry(content(1), 1, 1), createEntry(content(2), 2)], marks: [mark(3, 1, 1)] }))
    r.merge(interval(2, 4, { marks: [mark(3, 1, 1), mark(4, 2, 3)] }))
    expect(r.marksSince(O, 0)).toEqual([mark(3, 1, 1), mark(4, 2, 3)])
    expect(dots(r.entries(O))).toEqual([1])
  })

  it('parking: at most parkLimit, those that start earliest; with 0 an unknown ref leaves no trace', () => {
    const far = [5, 3, 9, 7].map(from => interval(from, from + 1))
    const r = new OrMap({ self: R, parkLimit: 2 })
    for (const each of [...far, ...far]) {
      expect(r.merge(each).outcome).toBe('gap')
    }
    expect(r.record(O)?.parked).toBe(2)
    r.merge(interval(0, 3))
    expect(r.request(O).head).toBe(4)
    r.merge(interval(4, 5))
    expect([r.request(O).head, r.record(O)?.parked]).toEqual([6, 0])
    const none = new OrMap({ self: R, parkLimit: 0 })
    expect([none.merge(far[0] as DeltaInterval).outcome, none.record(O), none.sizes().records]).toEqual(['gap', undefined, 1])
  })

  it('past the log: the full state sweeps what it does not name, for no reason, and moves states on', () => {
    const [o, r] = [owner(4, { logLimit: 1 }), new OrMap({ self: R })]
    pull(r, o)
    o.mark(1, 3, 9)
    o.mark(3, 1, 9)
    o.mark(2, 3, 9)
    const [answer] = [o.serve(r.request(O)) as DeltaInterval]
    expect([answer.from, answer.since]).toEqual([0, 7])
    const result = r.merge(answer)
    expect(result.removed.map(({ entry, reason }) => [entry.counter, reason])).toEqual([
      [1, 0],
      [2, 0]
    ])
    expect(result.changed.map(({ after, reason }) => [after.counter, after.state, reason])).toEqual([[3, 1, 0]])
    expect(r.record(O)).toMatchObject({ head: 7, floor: 7, complete: true, hash: o.record(O)?.hash })
  })

  it('in slices: incomplete with a cursor until the last, then equal', () => {
    const [o, r] = [owner(5, { logLimit: 0 }), new OrMap({ self: R })]
    o.mark(1, 1, 0)
    const first = o.serve(r.request(O), { adds: 2 }) as DeltaInterval
    expect(r.merge(first)).toMatchObject({ complete: false, advanced: true })
    expect(r.record(O)).toMatchObject({ head: 0, horizon: 6, known: 2, cursor: { to: 2, asOf: 6 }, complete: false })
    expect(r.serve({ replica: O, shard: 0, head: 0, cursor: null })).toBeUndefined()
    expect(pull(r, o, O, 2)).toHaveLength(2)
    expect(r.record(O)).toMatchObject({ head: 6, cursor: null, complete: true, hash: o.record(O)?.hash })
  })

  it('INV-8: one entry into many costs one: touched does not grow with what is held', () => {
    const [o, r] = [owner(3_000), new OrMap({ self: R })]
    pull(r, o)
    o.update(7, content(1))
    o.mark(8, 1, 0)
    const answer = o.serve(r.request(O)) as DeltaInterval
    expect(r.merge(answer).touched).toBeLessThanOrEqual(2 * (answer.adds.length + answer.marks.length) + 1)
  })

  it('frozen entries, marks and intervals: merged like any other', () => {
    const r = new OrMap({ self: R })
    const entry = Object.freeze(createEntry(content(1), 1))
    const frozen = interval(0, 2, { adds: Object.freeze([entry]), marks: Object.freeze([]) })
    expect(r.merge(Object.freeze(frozen)).added).toEqual([entry])
  })
})

describe('OrMap, serve', () => {
  it('nothing to say: for the unknown, the level, the one ahead, another shard’s cursor beyond the head', () => {
    const o = owner(2)
    const point = { replica: O, shard: 0, cursor: null }
    expect(o.serve({ ...point, replica: R, head: 0 })).toBeUndefined()
    expect(o.serve({ ...point, head: 2 })).toBeUndefined()
    expect(o.serve({ ...point, head: 3 })).toBeUndefined()
    expect(o.serve({ ...point, head: 0, cursor: { to: 1, asOf: 3 } })).toBeUndefined()
  })

  it('INV-6: owner and relay give the same answer from the same point', () => {
    const [o, relay] = [owner(6), new OrMap({ self: R })]
    relay.merge(o.serve({ replica: O, shard: 0, head: 5, cursor: null }, {}) as DeltaInterval)
    relay.merge(interval(0, 1, { adds: [o.get(O, 1) as Entry] }))
    pull(relay, o)
    o.update(2, content(9), 3)
    o.mark(3, 1, 4)
    pull(relay, o)
    for (const head of [1, 2, 5, 6, 7]) {
      for (const adds of [1, 2, 9]) {
        const point = { replica: O, shard: 0, head, cursor: null }
        expect(relay.serve(point, { adds })).toEqual(o.serve(point, { adds }))
      }
    }
  })

  it('from an incomplete record: nothing, also below its head', () => {
    const [o, r] = [owner(4), new OrMap({ self: R })]
    pull(r, o)
    r.merge(interval(0, 2, { since: 9, asOf: 9, adds: [createEntry(content(1), 1)] }))
    expect(r.record(O)).toMatchObject({ head: 4, complete: false })
    expect(r.serve({ replica: O, shard: 0, head: 1, cursor: null })).toBeUndefined()
  })

  it('cut where no later event touches what is sent: plain, and the later marks come with their dots', () => {
    const [o, r] = [owner(3), new OrMap({ self: R })]
    r.merge(interval(0, 1, { adds: [o.get(O, 1) as Entry] }))
    o.mark(3, 1, 7)
    expect(pull(r, o, O, 1).map(({ from, to, since, asOf, marks }) => [from, to, since, asOf, marks])).toEqual([
      [1, 2, 1, 2, []],
      [2, 4, 2, 4, [mark(4, 3, 1, 7)]]
    ])
  })

  it('a budget of bytes: answers stay within it, and still make progress when nothing fits', () => {
    const o = owner(100)
    const small = o.serve({ replica: O, shard: 0, head: 0, cursor: null }, { bytes: 1_500 }) as DeltaInterval
    expect(small.adds.length).toBeGreaterThan(2)
    expect(small.adds.length).toBeLessThan(12)
    const r = new OrMap({ self: R })
    let answers = 0
    for (let answer = o.serve(r.request(O), { bytes: 0 }); answer !== undefined; answer = o.serve(r.request(O), { bytes: 0 })) {
      expect(answer.adds).toHaveLength(1)
      r.merge(answer)
      answers++
    }
    expect([answers, r.count, r.record(O)?.complete]).toEqual([100, 100, true])
  })

  it('more marks than fit: cut before the first that does not, then the rest', () => {
    const [o, r] = [owner(5), new OrMap({ self: R })]
    pull(r, o)
    for (let dot = 1; dot <= 5; dot++) {
      o.mark(dot, 3, dot)
    }
    o.mark(o.add(content(6)).counter, 3, 6)
    const spans: number[][] = []
    for (let answer = o.serve(r.request(O), { marks: 2 }); answer !== undefined; answer = o.serve(r.request(O), { marks: 2 })) {
      spans.push([answer.from, answer.to, answer.since, answer.asOf, answer.marks.length])
      r.merge(answer)
    }
    expect(spans).toEqual([
      [5, 5, 5, 7, 2],
      [5, 5, 7, 9, 2],
      [5, 12, 9, 12, 2]
    ])
    o.mark(o.add(content(7)).counter, 3, 7)
    o.mark(o.add(content(8)).counter, 3, 8)
    // Event 15 made a dot and marked none: the first mark says nothing less of it.
    expect(o.serve(r.request(O), { marks: 1 })).toMatchObject({ from: 12, to: 12, since: 12, asOf: 15 })
    expect([r.count, r.record(O)?.complete]).toEqual([0, true])
  })
})

describe('OrMap, drop and repair', () => {
  it('drop: the record is gone, with the number of its entries; the own one is refused', () => {
    const [o, r] = [owner(3), new OrMap({ self: R })]
    pull(r, o)
    r.add(content(9))
    expect([r.drop(O), r.drop(O), r.record(O), r.count]).toEqual([3, 0, undefined, 1])
    expect(r.request(O)).toEqual({ replica: O, shard: 0, head: 0, cursor: null })
    expect(() => r.drop(R)).toThrow(OwnRecordError)
  })

  it('all removed and dropped: every size is zero', () => {
    const [o, r] = [owner(2_000), new OrMap({ self: R })]
    pull(r, o)
    r.merge(interval(9_000, 9_001))
    expect(r.sizes()).toMatchObject({ records: 2, entries: 2_000, parked: 1 })
    for (const dot of dots(o.entries(O))) {
      o.mark(dot, 3, 1)
    }
    pull(r, o)
    expect(r.sizes()).toMatchObject({ entries: 0, logMarks: 2_000, pooledStrings: 0 })
    r.drop(O)
    expect(r.sizes()).toEqual({ records: 1, entries: 0, logMarks: 0, parked: 0, pooledStrings: 0 })
    expect(o.sizes()).toMatchObject({ entries: 0, pooledStrings: 0 })
  })

  it('invalidate: entries stay held, nothing is served, the owner is asked for everything', () => {
    const [o, r] = [owner(3), new OrMap({ self: R })]
    pull(r, o)
    o.mark(1, 1, 0)
    pull(r, o)
    r.merge(interval(9, 10))
    expect(r.record(O)).toMatchObject({ logSize: 1, parked: 1 })
    expect(r.invalidate(O)).toBe(true)
    expect(r.record(O)).toMatchObject({ head: 0, horizon: 0, complete: false, repairing: true, count: 3, logSize: 0, parked: 0 })
    expect(r.request(O)).toEqual({ replica: O, shard: 0, head: 0, cursor: null })
    expect(r.serve({ replica: O, shard: 0, head: 0, cursor: null })).toBeUndefined()
    expect([r.invalidate(R), r.invalidate(ref('P'))]).toEqual([false, false])
  })

  it('repair: wrong contents are overwritten, missing entries come, false ones go, and the hash is the owner’s', () => {
    const [o, r] = [owner(6), new OrMap({ self: R })]
    const wrong = [...o.entries(O)].filter(({ counter }) => counter !== 3)
    wrong[1] = createEntry(content(77), 2)
    wrong[2] = createEntry(content(4), 4, EntryState.closed)
    r.merge(interval(0, 7, { adds: [...wrong, createEntry(content(8), 7)] }))
    o.mark(5, 3, 0)
    expect(r.record(O)?.head).toBe(o.record(O)?.head)
    expect(r.record(O)?.hash).not.toEqual(o.record(O)?.hash)
    expect(pull(r, o)).toEqual([])
    r.invalidate(O)
    const result = r.merge(o.serve(r.request(O)) as DeltaInterval)
    expect(dots(result.added)).toEqual([3])
    expect(
      result.changed.map(({ before, after, reason }) => [before.counter, before.meta, before.state, after.meta, after.state, reason])
    ).toEqual([
      [2, '{"n":77}', 0, '{"n":2}', 0, 0],
      [4, '{"n":4}', 2, '{"n":4}', 0, 0]
    ])
    expect(result.removed.map(({ entry, reason }) => [entry.counter, reason])).toEqual([
      [5, 0],
      [7, 0]
    ])
    expect([...r.entries(O)]).toEqual([...o.entries(O)])
    expect(r.record(O)).toMatchObject({ head: 7, complete: true, repairing: false, hash: o.record(O)?.hash })
  })

  it('repair in slices: complete after the last, and equal', () => {
    const [o, r] = [owner(4), new OrMap({ self: R })]
    r.merge(interval(0, 4, { adds: [createEntry(content(4), 4)] }))
    r.invalidate(O)
    o.add(content(5))
    pull(r, o, O, 1)
    expect([...r.entries(O)]).toEqual([...o.entries(O)])
    expect(r.record(O)).toMatchObject({ head: 5, complete: true, hash: o.record(O)?.hash })
  })

  it('repair: what is held above the owner’s head goes at its end', () => {
    const [o, r] = [owner(3), new OrMap({ self: R })]
    r.merge(interval(0, 5, { since: 9, asOf: 9, adds: [createEntry(content(1), 1), createEntry(content(5), 5)] }))
    r.invalidate(O)
    const result = r.merge(o.serve(r.request(O)) as DeltaInterval)
    expect([dots(result.added), result.removed.map(({ entry }) => entry.counter), result.complete]).toEqual([[2, 3], [5], true])
    expect(r.record(O)?.hash).toEqual(o.record(O)?.hash)
  })
})
