import { describe, expect, it } from 'vitest'
import { Sample } from '../../../src/net/gateway/feeds/sample.ts'
import { createRandom } from '../../../src/tracker/environment.ts'
import type { Presence } from '../../../src/tracker/types.ts'
import { presenceOf } from './fakes.ts'

type Listed = Map<string, readonly Presence[]>

const listing = (count: number, prefix = 'user'): Listed =>
  new Map(Array.from({ length: count }, (_, i) => [`${prefix}${i}`, [presenceOf(`${prefix}${i}`, `s${i}`)]]))
const keys = (sample: Sample): string[] => [...sample.shown.keys()].sort()
const refs = (listed: ReadonlyMap<string, readonly Presence[]>): string[] =>
  [...listed.values()].flatMap(each => each.map(({ ref }) => ref)).sort()

describe('a sample', () => {
  it('shows as many keys as it may, and all where there are fewer', () => {
    const sample = new Sample(10)
    sample.next(listing(1_000))
    expect(sample.shown.size).toBe(10)
    sample.next(listing(3))
    expect(keys(sample)).toEqual(['user0', 'user1', 'user2'])
    sample.next(new Map())
    expect(sample.shown.size).toBe(0)
  })

  it('members stay while they are listed, whoever comes; who leaves is replaced', () => {
    const sample = new Sample(10)
    const listed = listing(100)
    sample.next(listed)
    const before = keys(sample)
    for (const [key, presences] of listing(10_000, 'newcomer')) {
      listed.set(key, presences)
    }
    expect(sample.next(listed)).toEqual({ joins: [], leaves: [], updates: [] })
    expect(keys(sample)).toEqual(before)
    const [gone] = before as [string]
    const left = listed.get(gone)?.[0]
    listed.delete(gone)
    const diff = sample.next(listed)
    expect(diff.leaves).toEqual([{ presence: left }])
    expect(diff.joins).toHaveLength(1)
    expect(keys(sample)).toEqual([...before.slice(1), diff.joins[0]?.key].sort())
  })

  it('two samples of the same listing show the same, whatever the order; of nearly the same listing nearly the same', () => {
    const listed = [...listing(5_000)]
    const one = new Sample(100)
    const other = new Sample(100)
    one.next(new Map(listed))
    other.next(new Map(createRandom('order').shuffle([...listed])))
    expect(keys(other)).toEqual(keys(one))
    const behind = new Sample(100)
    behind.next(new Map(listed.slice(0, 4_900)))
    behind.next(new Map(listed))
    const common = keys(behind).filter(key => one.shown.has(key))
    expect(common.length).toBeGreaterThanOrEqual(95)
  })

  it('the choice does not depend on what the names have in common: any hundred names are about evenly likely', () => {
    const chosen = new Sample(1_000)
    chosen.next(listing(10_000))
    const perThousand = Array.from(
      { length: 10 },
      (_, i) => keys(chosen).filter(key => Math.floor(Number(key.slice(4)) / 1_000) === i).length
    )
    expect(Math.min(...perThousand)).toBeGreaterThan(60)
    expect(Math.max(...perThousand)).toBeLessThan(140)
  })

  it('an update is one, a further presence of a key is a join, one of several that went is a leave', () => {
    const sample = new Sample(10)
    const old = presenceOf('ann', 'a', 0)
    sample.next(new Map([['ann', [old]]]))
    const next = presenceOf('ann', 'a', 1)
    expect(sample.next(new Map([['ann', [next]]]))).toEqual({ joins: [], leaves: [], updates: [{ prev: old, next }] })
    const tab = presenceOf('ann', 'b', 0)
    expect(sample.next(new Map([['ann', [next, tab]]]))).toEqual({ joins: [tab], leaves: [], updates: [] })
    expect(sample.next(new Map([['ann', [tab]]]))).toEqual({ joins: [], leaves: [{ presence: next }], updates: [] })
  })

  it('the same session under two keys is two presences', () => {
    const sample = new Sample(10)
    const one = presenceOf('one', 'a', 0)
    const two = presenceOf('two', 'a', 1)
    sample.next(new Map([['one', [one]]]))
    expect(sample.next(new Map([['two', [two]]]))).toEqual({ joins: [two], leaves: [{ presence: one }], updates: [] })
  })

  it('keys that name built-in properties are ordinary keys', () => {
    const sample = new Sample(10)
    const listed: Listed = new Map(['__proto__', 'constructor', ''].map(key => [key, [presenceOf(key)]]))
    expect(
      sample
        .next(listed)
        .joins.map(({ key }) => key)
        .sort()
    ).toEqual(['', '__proto__', 'constructor'])
  })

  it('INV-93: over a long random run it is a part of what is listed, full where it can be, and its diffs fold to it', () => {
    const random = createRandom('sample run')
    const sample = new Sample(8)
    const listed: Listed = new Map()
    const folded = new Set<string>()
    const revisions = new Map<string, number>()
    for (let step = 0; step < 3_000; step++) {
      for (let i = random.below(6); i > 0; i--) {
        const key = `k${random.below(20)}`
        const session = `s${random.below(3)}`
        const others = (listed.get(key) ?? []).filter(({ ref }) => !ref.startsWith(session.padEnd(16, '_')))
        const revision = (revisions.get(key + session) ?? 0) + 1
        revisions.set(key + session, revision)
        const presences = random.below(3) === 0 ? others : [...others, presenceOf(key, session, revision)]
        if (presences.length > 0) {
          listed.set(key, presences)
        } else {
          listed.delete(key)
        }
      }
      const before = [...sample.shown.keys()]
      const diff = sample.next(listed)
      for (const ref of [...diff.leaves.map(({ presence }) => presence.ref), ...diff.updates.map(({ prev }) => prev.ref)]) {
        expect(folded.delete(ref)).toBe(true)
      }
      for (const { ref } of [...diff.joins, ...diff.updates.map(({ next }) => next)]) {
        expect(folded.has(ref)).toBe(false)
        folded.add(ref)
      }
      expect([...folded].sort()).toEqual(refs(sample.shown))
      expect(sample.shown.size).toBe(Math.min(8, listed.size))
      for (const [key, presences] of sample.shown) {
        expect(presences).toBe(listed.get(key))
      }
      expect(before.filter(key => listed.has(key) && !sample.shown.has(key))).toEqual([])
    }
  })
})
