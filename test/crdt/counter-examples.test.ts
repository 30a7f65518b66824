import { describe, expect, it } from 'vitest'
import { compose, type Entry, NotContiguousError, OrMap } from '../../src/crdt/index.ts'
import { content, ref } from '../support/crdt/builders.ts'
import type { CounterExample } from '../support/crdt/counter-example.ts'
import { COUNTER_EXAMPLES, thinned } from '../support/crdt/counter-examples.ts'
import { MARK_COUNTER_EXAMPLES } from '../support/crdt/counter-examples-marks.ts'
import { makeOrMap, makeReference, makeWithout } from '../support/crdt/make-map.ts'
import type { MakeMap } from '../support/crdt/map-like.ts'
import { show, showRecord, showResult } from '../support/crdt/notation.ts'
import { composeBlindly, OneContextMap } from '../support/crdt/other-designs.ts'
import { RULES } from '../support/crdt/rules.ts'
import { Schedule } from '../support/crdt/schedule.ts'

function run(example: CounterExample, make: MakeMap, isWhole: boolean): void {
  const schedule = new Schedule(make, example.limits ?? {}, isWhole)
  const isThin = !isWhole && example.rule === 'marks of dots inside the interval travel'
  example.run(schedule, isThin ? thinned : interval => interval)
  schedule.settle()
}

const ALL = [...COUNTER_EXAMPLES, ...MARK_COUNTER_EXAMPLES]

describe.each(ALL.map(example => [example.id, example] as const))('map: %s', (_, example) => {
  it('OrMap holds', () => {
    run(example, makeOrMap, true)
  })

  it('the reference holds', () => {
    run(example, makeReference, true)
  })

  it(`the reference does not without the rule: ${example.rule}`, () => {
    const runWithout = (): void => {
      run(example, makeWithout(example.rule), false)
    }
    expect(runWithout).toThrow(example.effect)
  })
})

it('map: every rule of the table has a counter-example', () => {
  const numbers = new Set(Object.values(RULES).flatMap(of => (of === '' ? [] : of.split(' '))))
  const covered = new Set(ALL.map(({ id }) => id.slice(0, id.indexOf(':'))))
  expect([...numbers].filter(number => !covered.has(number))).toEqual([])
})

/** An owner that adds, updates and removes; receivers by name. */
function cast(): { owner: OrMap; r: OrMap; x: OrMap } {
  return { owner: new OrMap({ self: ref('O') }), r: new OrMap({ self: ref('R') }), x: new OrMap({ self: ref('X') }) }
}

describe('map: C1: one context for events and for dead dots', () => {
  it('the naive design has a ghost at equal contexts', () => {
    const [r, y] = [new OneContextMap(), new OneContextMap()]
    // 1: add, 2: update of 1, 3: remove of 2
    r.merge({ from: 0, to: 1, adds: [1], removes: [] })
    r.merge({ from: 2, to: 3, adds: [], removes: [2] })
    y.merge({ from: 0, to: 3, adds: [], removes: [1, 2] })
    expect([...r.context].sort()).toEqual([...y.context].sort())
    expect([...y.live]).toEqual([])
    expect([...r.live]).toEqual([1])
  })

  it('OrMap waits for what is between, and has none', () => {
    const { owner, r, x } = cast()
    owner.add(content(1))
    r.merge(owner.serve(r.request(owner.self))!)
    owner.update(1, content(2), 7)
    const late = owner.serve({ ...r.request(owner.self), head: 1 })!
    owner.mark(2, 3, 7)
    expect(showResult(r.merge(owner.serve({ ...r.request(owner.self), head: 2 })!))).toBe('gap')
    expect(showRecord(r, owner)).toBe('1 {1}')
    expect(showResult(r.merge(late))).toBe('applied −1')
    x.merge(owner.serve(x.request(owner.self))!)
    expect(showRecord(r, owner)).toBe('3 {}')
    expect(showRecord(x, owner)).toBe('3 {}')
    expect(r.record(owner.self)!.hash).toEqual(x.record(owner.self)!.hash)
  })
})

describe('map: C12: a relay with exceptions serves its prefix', () => {
  it('the naive design differs at equal contexts', () => {
    const [relay, r, x] = [new OneContextMap(), new OneContextMap(), new OneContextMap()]
    // 1: add, 2: add, 3: remove of 1
    r.merge({ from: 0, to: 1, adds: [1], removes: [] })
    relay.merge({ from: 0, to: 1, adds: [1], removes: [] })
    relay.merge({ from: 2, to: 3, adds: [], removes: [1] })
    x.merge(relay.servePrefix())
    expect([...x.context]).toEqual([...r.context])
    expect([...r.live]).toEqual([1])
    expect([...x.live]).toEqual([])
  })

  it('OrMap has no exceptions: past the gap nothing is taken, and the relay serves what it had', () => {
    const { owner, r, x } = cast()
    owner.add(content(1))
    r.merge(owner.serve(r.request(owner.self))!)
    owner.add(content(2))
    owner.mark(1, 3, 7)
    expect(showResult(r.merge(owner.serve({ ...r.request(owner.self), head: 2 })!))).toBe('gap')
    const relayed = r.serve(x.request(owner.self))!
    expect(show(relayed)).toBe('(0@1→1@1] +1')
    x.merge(relayed)
    expect(showRecord(x, owner)).toBe('1 {1}')
  })
})

describe('map: C14: two intervals with a hole between them', () => {
  function parts(): { owner: OrMap; first: ReturnType<typeof compose>; third: ReturnType<typeof compose> } {
    const { owner, r } = cast()
    const at = (head: number): ReturnType<typeof compose> => owner.serve({ ...r.request(owner.self), head })!
    owner.add(content(1))
    owner.add(content(2))
    const first = { ...at(0), since: 0, asOf: 1, to: 1, adds: at(0).adds.slice(0, 1) }
    owner.add(content(3))
    return { owner, first, third: at(2) }
  }

  it('composed blindly they claim what neither carries, and an entry is lost', () => {
    const { owner, first, third } = parts()
    const x = new OrMap({ self: ref('X') })
    expect(show(composeBlindly(first, third))).toBe('(0→3] +1 +3')
    x.merge(composeBlindly(first, third))
    expect(showRecord(x, owner)).toBe('3 {1 3}')
  })

  it('compose refuses, and says where the hole is', () => {
    const { first, third } = parts()
    expect(() => compose(first, third)).toThrow(NotContiguousError)
    expect(() => compose(first, third)).toThrow(/dot 1 .* dot 2/)
  })
})

/**
 * No rule of the map can hold an update together when its two halves come in two slices. What the map owes to the layer
 * above is to say so: the record is incomplete for exactly as long as the identity is missing.
 */
describe('map: C24: an update across two slices', () => {
  it('OrMap: the identity is missing only while the record says that it is incomplete', () => {
    const { owner, r } = cast()
    const identity = { topic: 'room', key: 'u', user: 'u', session: 'sssssssssssssss1' }
    const listed = (): Entry[] => [...r.entries(owner.self)].filter(entry => entry.key === 'u')
    owner.add(content(1, identity))
    owner.add(content(2))
    r.merge(owner.serve(r.request(owner.self), { adds: 1 })!)
    expect(listed()).toHaveLength(1)
    owner.update(1, content(3, identity), 7)
    const afresh = owner.serve({ ...r.request(owner.self), cursor: null }, { adds: 1 })!
    expect(show(afresh)).toBe('(0@3→2@3] +2')
    const half = r.merge(afresh)
    expect(listed()).toHaveLength(0)
    expect(showResult(half)).toBe('applied +2 −1')
    expect([half.complete, half.removed[0]!.reason]).toEqual([false, 0])
    const rest = r.merge(owner.serve(r.request(owner.self), { adds: 1 })!)
    expect(listed()).toHaveLength(1)
    expect(rest.complete).toBe(true)
  })

  it('OrMap: who resumes from the cursor gets the mark and its reason', () => {
    const { owner, r } = cast()
    owner.add(content(1))
    owner.add(content(2))
    r.merge(owner.serve(r.request(owner.self), { adds: 1 })!)
    owner.update(1, content(3), 7)
    const next = owner.serve(r.request(owner.self), { adds: 1 })!
    expect(show(next)).toBe('(1@2→2@3] +2 [3:1x]')
    expect(r.merge(next).removed.map(({ reason }) => reason)).toEqual([7])
  })
})
