import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compose, createEntry, type DeltaInterval, type Entry, NotContiguousError, OrMap } from '../../src/crdt/index.ts'
import { owners, within } from '../support/crdt/arbitraries.ts'
import { ref } from '../support/crdt/builders.ts'
import { recordText } from '../support/crdt/fingerprint.ts'
import { histories, runHistory } from '../support/crdt/history.ts'
import { LONG, makeOrMap } from '../support/crdt/make-map.ts'
import { entryText, intervalText } from '../support/crdt/notation.ts'
import type { OwnerModel } from '../support/crdt/owner-model.ts'

const RUNS = LONG ? 100_000 : 2_000
const SEED = LONG ? Date.now() % 2 ** 31 : 20_180_131
const O = ref('O')

/** Pairs of numbers, from which spans within an owner's events are taken. */
const spans = fc.array(fc.tuple(fc.nat(255), fc.nat(255)), { minLength: 1, maxLength: 12 })

function plains(model: OwnerModel, numbers: readonly (readonly [number, number])[]): DeltaInterval[] {
  return numbers.map(([a, b]) => {
    const from = within(a, 0, model.head - 1)
    return model.interval(from, within(b, from + 1, model.head))
  })
}

function merged(intervals: readonly DeltaInterval[], parkLimit: number): OrMap {
  const map = new OrMap({ self: ref('R'), parkLimit })
  for (const interval of intervals) {
    map.merge(interval)
  }
  return map
}

function stateOf(map: OrMap): unknown {
  const record = map.record(O)
  return record && [record.head, record.complete, record.hash, Array.from(map.entries(O), entryText)]
}

/** One who knows all dots as of event `head`, by a full state. */
function knowing(model: OwnerModel, head: number): OrMap {
  return merged(head === 0 ? [] : [model.interval(0, head, head, head)], 4)
}

describe('map: laws over reachable histories of several replicas', () => {
  it(`R2: ${RUNS} histories with loss, duplication, reordering, slices, relays, drops and repairs: equal heads of complete records mean equal entries, hashes and answers, and all converge`, () => {
    const totals: Record<string, number> = {}
    const startMs = performance.now()
    const property = fc.property(histories(), history => {
      const { counts } = runHistory(makeOrMap, history)
      for (const [name, count] of Object.entries(counts)) {
        totals[name] = (totals[name] ?? 0) + count
      }
    })
    fc.assert(property, { numRuns: RUNS, seed: SEED })
    const seconds = ((performance.now() - startMs) / 1000).toFixed(1)
    console.log(`seed ${SEED}, ${RUNS} histories in ${seconds} s: ${JSON.stringify(totals)}`)
    expect(totals.merges).toBeGreaterThan(RUNS * 5)
    expect(totals.relayAnswers).toBeGreaterThan(RUNS / 2)
    expect(totals.repairs).toBeGreaterThan(RUNS / 10)
    expect(totals.slices).toBeGreaterThan(RUNS)
  }, 1_800_000)
})

describe('map: laws of merge', () => {
  it('I7: with unbounded parking the state is a function of the set delivered: commutative, associative, idempotent', () => {
    const property = fc.property(owners(), spans, fc.array(fc.nat(255), { maxLength: 24 }), (model, numbers, order) => {
      const set = plains(model, numbers)
      const once = merged(set, 1000)
      const shuffled = order.map(index => set[index % set.length]!)
      // In another order, with repetition, and what that order left out at the end.
      const again = merged([...shuffled, ...set.toReversed()], 1000)
      expect(recordText(again, O)).toBe(recordText(once, O))
    })
    fc.assert(property, { numRuns: RUNS, seed: SEED })
  })

  it('I7: what is delivered again changes nothing', () => {
    const property = fc.property(owners(), spans, (model, numbers) => {
      const set = plains(model, numbers)
      const map = merged(set, 1000)
      const before = recordText(map, O)
      for (const interval of set) {
        const result = map.merge(interval)
        expect([result.advanced, result.added.length + result.changed.length + result.removed.length]).toEqual([false, 0])
      }
      expect(recordText(map, O)).toBe(before)
    })
    fc.assert(property, { numRuns: RUNS, seed: SEED })
  })

  it('I7: with bounded parking every step is L(head, head), and delivery again or one pull gives the same end', () => {
    const property = fc.property(owners(), spans, fc.nat(2), (model, numbers, parkLimit) => {
      const set = [...plains(model, numbers), model.interval(0, model.head)]
      const map = new OrMap({ self: ref('R'), parkLimit })
      for (const interval of set.slice(0, -1)) {
        map.merge(interval)
        const head = map.record(O)?.head ?? 0
        expect(Array.from(map.entries(O), entryText)).toEqual(model.held(head, head).map(entryText))
      }
      const delivered = merged([...set, ...set], parkLimit)
      const pulled = map.request(O)
      map.merge(pulled.head < model.head ? model.interval(pulled.head, model.head) : set.at(-1)!)
      expect(stateOf(map)).toEqual(stateOf(delivered))
      expect(stateOf(map)).toEqual(stateOf(merged(set, 1000)))
    })
    fc.assert(property, { numRuns: RUNS, seed: SEED })
  })

  it('what one merge and the parked intervals behind it do is told as one: what was held before, what is held now', () => {
    const property = fc.property(owners(), fc.nat(255), fc.array(fc.nat(255), { maxLength: 4 }), (model, start, numbers) => {
      const first = within(start, 0, model.head - 1)
      const cuts = [...new Set([first, ...numbers.map(number => within(number, first, model.head)), model.head])].sort((x, y) => x - y)
      const parts = cuts.slice(1).map((to, index) => model.interval(cuts[index]!, to))
      const [map, direct] = [knowing(model, first), knowing(model, first)]
      for (const part of parts.slice(1).toReversed()) {
        expect(map.merge(part).outcome).toBe('gap')
      }
      const { added, changed, removed } = map.merge(parts[0]!)
      const due = direct.merge(model.interval(first, model.head))
      const text = (of: Pick<typeof due, 'added' | 'changed' | 'removed'>): string[][] => [
        of.added.map(entryText).sort(),
        of.changed.map(({ before, after, reason }) => `${entryText(before)} ${entryText(after)} ${reason}`).sort(),
        of.removed.map(({ entry, reason }) => `${entryText(entry)} ${reason}`).sort()
      ]
      expect(text({ added, changed, removed })).toEqual(text(due))
      expect(recordText(map, O)).toBe(recordText(direct, O))
    })
    fc.assert(property, { numRuns: RUNS, seed: SEED })
  })

  it('I6: a delta merged gives what the full state gives, for every receiver’s head', () => {
    const property = fc.property(owners(), fc.nat(255), fc.nat(255), fc.nat(255), (model, a, b, c) => {
      const head = within(a, 0, model.head)
      const to = within(b, Math.min(head + 1, model.head), model.head)
      const from = within(c, 0, Math.min(head, to - 1))
      const byDelta = knowing(model, head)
      byDelta.merge(model.interval(from, to))
      const byState = knowing(model, head)
      byState.merge(model.interval(0, to, to, to))
      expect(stateOf(byDelta)).toEqual(stateOf(byState))
      expect(byDelta.record(O)!.head).toBe(Math.max(head, to))
    })
    fc.assert(property, { numRuns: RUNS, seed: SEED })
  })

  it('I6: one merge of a composed interval gives what its parts give one by one', () => {
    const property = fc.property(owners(), fc.array(fc.nat(255), { minLength: 2, maxLength: 6 }), (model, numbers) => {
      const points = [...new Set(numbers.map(number => within(number, 0, model.head)))].sort((x, y) => x - y)
      fc.pre(points.length >= 2)
      const parts = points.slice(1).map((to, index) => model.interval(points[index]!, to))
      const [whole, apart] = [knowing(model, points[0]!), knowing(model, points[0]!)]
      whole.merge(parts.reduce(compose))
      for (const part of parts) {
        apart.merge(part)
      }
      expect(recordText(whole, O)).toBe(recordText(apart, O))
    })
    fc.assert(property, { numRuns: RUNS, seed: SEED })
  })
})

describe('map: the hash of a record', () => {
  it('differs when one content, one state or the place of two contents differs at the same head', () => {
    const property = fc.property(owners(), fc.nat(255), fc.nat(255), (model, a, b) => {
      const { head } = model
      const held = model.held(head, head)
      fc.pre(held.length >= 2)
      const [i, j] = [a % held.length, b % held.length]
      const [one, two] = [held[i]!, held[j]!]
      const hashWith = (...entries: Entry[]): string => {
        const adds = held.map(entry => entries.find(({ counter }) => counter === entry.counter) ?? entry)
        return JSON.stringify(merged([{ ...model.interval(0, head, head, head), adds }], 4).record(O)!.hash)
      }
      const right = hashWith()
      expect(right).toBe(JSON.stringify(knowing(model, head).record(O)!.hash))
      expect(hashWith(createEntry({ ...one, meta: '{"n":-1}' }, one.counter, one.state))).not.toBe(right)
      expect(hashWith(createEntry(one, one.counter, one.state === 0 ? 1 : 0))).not.toBe(right)
      if (i !== j) {
        expect(hashWith(createEntry(two, one.counter, one.state), createEntry(one, two.counter, two.state))).not.toBe(right)
      }
    })
    fc.assert(property, { numRuns: RUNS, seed: SEED })
  })
})

describe('compose', () => {
  /** Four points of the plane, each reached from the one before: dots as of an event, neither going back. */
  const points = fc.array(fc.tuple(fc.nat(255), fc.nat(255)), { minLength: 4, maxLength: 4 })

  function stepsOf(model: OwnerModel, numbers: readonly (readonly [number, number])[]): DeltaInterval[] {
    let [dot, event] = [0, 0]
    const steps: DeltaInterval[] = []
    for (const [a, b] of numbers) {
      const asOf = within(b, event, model.head)
      const to = within(a, dot, asOf)
      if (to > dot || asOf > event) {
        steps.push(model.interval(dot, to, event, asOf))
      }
      dot = to
      event = asOf
    }
    return steps
  }

  it('neighbours, slices included: equals what is computed directly, however it is bracketed', () => {
    const property = fc.property(owners(), points, (model, numbers) => {
      const steps = stepsOf(model, numbers)
      fc.pre(steps.length >= 2)
      const first = steps[0]!
      const last = steps.at(-1)!
      const direct = model.interval(first.from, last.to, first.since, last.asOf)
      expect(intervalText(steps.reduce(compose))).toBe(intervalText(direct))
      expect(intervalText(steps.reduceRight((right, left) => compose(left, right)))).toBe(intervalText(direct))
    })
    fc.assert(property, { numRuns: RUNS, seed: SEED })
  })

  it('pub-A6: anything but the exact neighbour is refused: a hole, an overlap, another owner, another shard', () => {
    const property = fc.property(owners(), spans, (model, numbers) => {
      const [a, b] = plains(model, [...numbers, ...numbers])
      fc.pre(a!.to !== b!.from)
      expect(() => compose(a!, b!)).toThrow(NotContiguousError)
      const next = { ...b!, from: a!.to, since: a!.asOf, to: a!.to + 1, asOf: a!.asOf + 1, adds: [], marks: [] }
      expect(compose(a!, next).to).toBe(next.to)
      expect(() => compose(a!, { ...next, since: a!.asOf + 1 })).toThrow(NotContiguousError)
      expect(() => compose(a!, { ...next, from: a!.to - 1 })).toThrow(NotContiguousError)
      expect(() => compose(a!, { ...next, replica: ref('P') })).toThrow(NotContiguousError)
      expect(() => compose(a!, { ...next, replica: ref('O', 2) })).toThrow(NotContiguousError)
      expect(() => compose(a!, { ...next, shard: 1 })).toThrow(NotContiguousError)
    })
    fc.assert(property, { numRuns: RUNS, seed: SEED })
  })
})

describe('map: an update is one event', () => {
  it('T4: at a complete receiver fed by plain intervals an identity never has 0 or 2 entries', () => {
    const cuts = fc.array(fc.nat(3), { minLength: 1, maxLength: 12 })
    const property = fc.property(fc.nat(4), cuts, fc.boolean(), (others, steps, isLast) => {
      const owner = new OrMap({ self: O })
      const receiver = new OrMap({ self: ref('R') })
      const identity = { key: 'one', user: 'one', session: 'oneoneoneoneone1' }
      let held = owner.add({ ...blank, ...identity })
      for (let i = 0; i < others; i++) {
        owner.add({ ...blank, key: `other ${i}` })
      }
      let sent = 0
      for (const updates of [0, ...steps]) {
        for (let i = 0; i < updates; i++) {
          held = owner.update(held.counter, { ...blank, ...identity, revision: held.revision + 1 }, 7)!
        }
        const interval = owner.serve({ replica: O, shard: 0, head: sent, cursor: null })
        sent = interval?.to ?? sent
        if (interval !== undefined) {
          const result = receiver.merge(interval)
          const listed = [...receiver.entries(O)].filter(entry => entry.key === 'one')
          expect(listed.map(entry => entry.revision)).toEqual([held.revision])
          // Both halves are told at once, or neither.
          const [joined, left] = [result.added, result.removed.map(({ entry }) => entry)].map(
            of => of.filter(entry => entry.key === 'one').length
          )
          expect(joined).toBe(interval.from === 0 ? 1 : left)
        }
      }
      if (isLast) {
        owner.mark(held.counter, 3, 7)
        receiver.merge(owner.serve({ replica: O, shard: 0, head: sent, cursor: null })!)
        expect([...receiver.entries(O)].filter(entry => entry.key === 'one')).toEqual([])
      }
    })
    fc.assert(property, { numRuns: RUNS, seed: SEED })
  })
})

const blank = {
  topic: 't',
  key: 'k',
  user: 'u',
  session: 'ssssssssssssssss',
  connection: 1,
  meta: '{}',
  joinedAt: 1,
  revision: 0,
  epoch: 1,
  over: []
}
