import { describe, expect, it } from 'vitest'
import { type DeltaInterval, entryBytes, INTERVAL_BYTES, MARK_BYTES, type OrMap } from '../../src/crdt/index.ts'
import { content, interval, mark } from '../support/crdt/builders.ts'
import { orMap, sync } from '../support/crdt/cast.ts'
import { quiesce, transfer } from '../support/crdt/gossip.ts'
import { makeOrMap } from '../support/crdt/make-map.ts'
import type { MapLimits } from '../support/crdt/map-like.ts'
import { show, showRecord } from '../support/crdt/notation.ts'
import { type Process, World } from '../support/crdt/world.ts'

/** What the interval may take at most, encoded. */
function bytesOf({ adds, marks }: DeltaInterval): number {
  return INTERVAL_BYTES + MARK_BYTES * marks.length + adds.reduce((sum, entry) => sum + entryBytes(entry), 0)
}

describe('map: what an answer costs', () => {
  function laggard(entries: number, since: number, limits: MapLimits = {}): { a: OrMap; b: OrMap } {
    const [a, b] = [orMap('A', limits), orMap('B')]
    for (let i = 0; i < entries; i++) {
      a.add(content(i))
    }
    sync(b, a)
    for (let i = 0; i < since; i++) {
      a.update(1 + i, content(entries + i), 7)
    }
    return { a, b }
  }

  it('R4: who is behind by 10 events gets exactly those, whatever the state’s size', () => {
    for (const entries of [100, 400]) {
      const { a, b } = laggard(entries, 10)
      const answer = a.serve(b.request(a.self))!
      expect([answer.from, answer.to, answer.adds.length, answer.marks.length]).toEqual([entries, entries + 10, 10, 10])
      expect(bytesOf(answer)).toBe(INTERVAL_BYTES + 10 * MARK_BYTES + answer.adds.reduce((sum, entry) => sum + entryBytes(entry), 0))
      b.merge(answer)
      expect(b.record(a.self)).toMatchObject({ complete: true, count: entries })
    }
  })

  it('R4: who is at the edge of the log gets a delta, who is past it the full state, in frames, without a mark', () => {
    const { a, b } = laggard(100, 10, { logLimit: 10 })
    expect(show(a.serve(b.request(a.self)))).toMatch(/^\(100→110\] /)
    a.update(11, content(500), 7)
    const frames: DeltaInterval[] = []
    for (const { answer } of transfer(b, a, { bytes: 4_000 })) {
      frames.push(answer)
    }
    expect(frames.length).toBeGreaterThan(3)
    expect(frames.map(({ from, since, asOf }) => [from === 0, since, asOf])).toEqual(frames.map((_, index) => [index === 0, 111, 111]))
    expect(frames.flatMap(({ adds }) => adds.map(({ counter }) => counter))).toEqual([...a.entries(a.self)].map(({ counter }) => counter))
    expect(frames.flatMap(({ marks }) => marks)).toEqual([])
    expect(b.record(a.self)!.hash).toEqual(a.record(a.self)!.hash)
  })

  it('R7: no answer is above its budget, each fills its frame, and the rest follows from where it ended', () => {
    for (const bytes of [1_000, 1_500, 8_000, 60_000]) {
      const { a, b } = laggard(300, 200)
      const marked = a.record(a.self)!.head
      for (const { answer } of transfer(b, a, { bytes })) {
        expect(bytesOf(answer)).toBeLessThanOrEqual(bytes)
        const isLast = answer.to === marked && answer.asOf === marked
        // Another entry or mark would not have fitted.
        expect(isLast || bytesOf(answer) > bytes - 250).toBe(true)
      }
      expect(b.record(a.self)!.hash).toEqual(a.record(a.self)!.hash)
    }
  })

  it('R7: one entry larger than a frame is still sent, alone', () => {
    const [a, b] = [orMap('A'), orMap('B')]
    a.add(content(1))
    a.add(content(2, { meta: JSON.stringify({ text: 'x'.repeat(5_000) }) }))
    a.add(content(3))
    const frames: string[] = []
    for (const { answer } of transfer(b, a, { bytes: 2_000 })) {
      frames.push(show(answer))
    }
    expect(frames).toEqual(['(0@3→1@3] +1', '(1@3→2@3] +2', '(2@3→3@3] +3'])
  })

  it('R7: a burst of joins above a frame is cut into plain intervals, and its receiver stays complete', () => {
    const { a, b } = laggard(10, 0)
    for (let i = 0; i < 40; i++) {
      a.add(content(i))
    }
    const frames: string[] = []
    for (const { answer, result } of transfer(b, a, { adds: 15 })) {
      expect(result.complete).toBe(true)
      frames.push(`(${answer.from}→${answer.to}] as of (${answer.since}→${answer.asOf}]`)
    }
    expect(frames).toEqual(['(10→25] as of (10→25]', '(25→40] as of (25→40]', '(40→50] as of (40→50]'])
  })

  it('R7: a slice reaches up to the next entry: what is dead between two entries costs no frame', () => {
    const { a, b } = laggard(6, 0)
    for (const counter of [2, 3, 5]) {
      a.mark(counter, 3, 7)
    }
    b.drop(a.self)
    const answer = a.serve(b.request(a.self), { adds: 1 })!
    expect(show(answer)).toBe('(0@9→3@9] +1')
    b.merge(answer)
    expect(show(a.serve(b.request(a.self), { adds: 1 }))).toBe('(3@9→5@9] +4')
  })

  it('R7: a transfer cut short leaves a valid record, and any peer goes on with it', () => {
    const world = new World(makeOrMap, 3)
    const [a, b, c] = world.processes as [Process, Process, Process]
    for (let i = 0; i < 10; i++) {
      world.add(a)
    }
    quiesce(world, [a, b])
    world.merge(c, world.serve(a, c.map.request(a.map.self), { adds: 4 })!)
    expect(c.map.record(a.map.self)).toMatchObject({ complete: false, head: 0, cursor: { to: 4, asOf: 10 } })
    world.mark(a, 1, 3, 7)
    world.mark(a, 2, 3, 7)
    quiesce(world, [a, b])
    const rest = world.serve(b, c.map.request(a.map.self))!
    expect(show(rest)).toBe('(4@10→12@12] +5 +6 +7 +8 +9 +10 [11:1x] [12:2x]')
    world.merge(c, rest)
    expect(showRecord(c.map, a.map)).toBe('12 {3 4 5 6 7 8 9 10}')
  })

  it('a relay that received an add and its removal in one interval answers one who has the add', () => {
    const [a, relay, b] = [orMap('A'), orMap('relay'), orMap('B')]
    a.add(content(1))
    sync(b, a)
    a.mark(1, 3, 9)
    relay.merge(interval(0, 2, { replica: a.self, marks: [mark(2, 1, 3, 9)] }))
    const answer = relay.serve(b.request(a.self))
    expect(answer).toEqual(a.serve(b.request(a.self)))
    expect(b.merge(answer!).removed).toMatchObject([{ entry: { counter: 1 }, reason: 9 }])
  })

  it('a relay’s answer is deep-equal to the owner’s from every point, and forwarding what came in is as good', () => {
    const { a, b: relay } = laggard(30, 12)
    sync(relay, a)
    for (let head = 0; head < 42; head++) {
      for (const budget of [undefined, { adds: 2, marks: 2 }, { bytes: 1_200 }]) {
        const request = { replica: a.self, shard: 0, head, cursor: null }
        // The relay took a full state at 30, so its log starts there; before that both say all they have.
        if (head === 0 || head >= relay.record(a.self)!.floor) {
          expect(relay.serve(request, budget)).toEqual(a.serve(request, budget))
        }
      }
    }
  })
})
