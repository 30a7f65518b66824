import { describe, expect, it } from 'vitest'
import { compose, NotContiguousError } from '../../src/crdt/index.ts'
import { content, interval, ref } from '../support/crdt/builders.ts'
import { join, leave, network, orMap, sync } from '../support/crdt/cast.ts'
import { list, pullFrom, quiesce } from '../support/crdt/gossip.ts'
import { show, showRecord, showResult } from '../support/crdt/notation.ts'
import type { Process } from '../support/crdt/world.ts'

describe('map: intervals and their bounds', () => {
  const L = 10
  it.each([L - 1, L, L + 1, 10 * L])('pub-A1: two replicas that meet with %i changes behind them, log of 10: both list all', changes => {
    const { world, all } = network(2, { logLimit: L })
    for (const process of all) {
      join(world, process, changes)
    }
    const [a, b] = all as [Process, Process]
    quiesce(world)
    // Both logs roll while the two are cut.
    for (const process of all) {
      for (const entry of [...process.map.entries(process.map.self)]) {
        world.update(process, entry.counter, 7)
      }
    }
    quiesce(world, all, { bytes: 2_000 })
    expect(list(world, a)).toHaveLength(2 * changes)
    expect(list(world, b)).toEqual(list(world, a))
  })

  it('pub-A1: an interval whose start is not covered is never applied', () => {
    const [a, b] = [orMap('A'), orMap('B', { parkLimit: 0 })]
    for (let i = 0; i < 4; i++) {
      a.add(content(i))
    }
    sync(b, a)
    a.mark(1, 3, 7)
    a.add(content(5))
    const uncovered = a.serve({ replica: a.self, shard: 0, head: 5, cursor: null })!
    expect(show(uncovered)).toBe('(5→6] +6')
    expect(showResult(b.merge(uncovered))).toBe('gap')
    expect(showRecord(b, a)).toBe('4 {1 2 3 4}')
    expect(b.request(a.self)).toEqual({ replica: a.self, shard: 0, head: 4, cursor: null })
  })

  it('pub-A4: the newest interval that fits is empty: one of one entry is sent, never an empty one', () => {
    const { world, all } = network(3, { logLimit: 50 })
    const [n1, n2, n3] = all as [Process, Process, Process]
    join(world, n1, 1)
    join(world, n2, 52)
    quiesce(world, [n1, n2])
    leave(world, n2, 51)
    world.restart(n3)
    const sent = quiesce(world, [n2, n3])
    expect(list(world, n3)).toEqual(list(world, n2))
    expect([...n3.map.entries(n2.map.self)].map(entry => entry.counter)).toEqual([52])
    expect(sent.filter(({ from, to, since, asOf }) => from === to && since === asOf)).toEqual([])
    expect(n2.map.serve(n3.map.request(n2.map.self))).toBeUndefined()
  })

  it('pub-A5: coverage of a replica that the asker does not know counts as 0', () => {
    const { world, all } = network(3)
    const [n1, n2, n3] = all as [Process, Process, Process]
    join(world, n2, 70)
    join(world, n3, 83)
    quiesce(world, [n2, n3])
    world.drop(n2, n3.map.self)
    expect(n1.map.request(n3.map.self)).toEqual({ replica: n3.map.self, shard: 0, head: 0, cursor: null })
    expect(n2.map.serve(n1.map.request(n3.map.self))).toBeUndefined()
    quiesce(world, [n1, n2])
    expect(list(world, n1)).toHaveLength(70)
    expect(list(world, n2)).toEqual(list(world, n1))
  })

  it('pub-A6: two intervals with a hole between them do not become one', () => {
    expect(() => compose(interval(0, 2), interval(3, 4))).toThrow(NotContiguousError)
    expect(() => compose(interval(0, 2), interval(1, 4))).toThrow(NotContiguousError)
    expect(show(compose(interval(0, 2), interval(2, 4)))).toBe('(0→4]')
  })

  it('pub-A6: joins by the hundred on both sides of a cut, and a third one gone: equal within two rounds', () => {
    const { world, all } = network(3, { logLimit: 64 })
    const [a, b, c] = all as [Process, Process, Process]
    quiesce(world)
    for (let batch = 0; batch < 3; batch++) {
      for (const process of [b, c]) {
        join(world, process, 100)
        leave(world, process, 50)
      }
      // A is linked to both, B and C are cut from one another.
      pullFrom(world, a, b)
      pullFrom(world, a, c)
    }
    for (let round = 0; round < 2; round++) {
      pullFrom(world, b, c)
      pullFrom(world, c, b)
    }
    expect(list(world, b)).toHaveLength(300)
    expect(list(world, c)).toEqual(list(world, b))
  })

  it('pub-A7: seven replicas start at once: 140 entries everywhere within six rounds, and no message claims what it leaves out', () => {
    for (let seed = 1; seed <= 8; seed++) {
      const { world, all } = network(7)
      for (const process of all) {
        join(world, process, 20)
      }
      let state = seed
      const draw = (below: number): number => {
        state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
        return (state >>> 8) % below
      }
      let rounds = 0
      while (rounds <= 6 && all.some(process => list(world, process).length < 140)) {
        rounds++
        for (const process of all) {
          const peer = all[draw(7)]!
          pullFrom(world, process, peer)
          pullFrom(world, peer, process)
        }
      }
      expect(rounds).toBeLessThanOrEqual(6)
      quiesce(world)
      expect(new Set(all.map(process => list(world, process).join())).size).toBe(1)
    }
  })
})

describe('map: replicas that go and come', () => {
  it('pub-A2: nothing is served of a dropped incarnation, neither from the record nor from the log', () => {
    const [a, c] = [orMap('A'), orMap('C')]
    const d1 = orMap('D')
    d1.add(content(1))
    d1.add(content(2))
    sync(a, d1)
    d1.mark(1, 3, 7)
    sync(a, d1)
    expect(a.marksSince(d1.self, 0)).toBeUndefined()
    expect(a.drop(d1.self)).toBe(1)
    expect(a.serve(c.request(d1.self))).toBeUndefined()
    expect(a.serve({ replica: d1.self, shard: 0, head: 2, cursor: null })).toBeUndefined()
    expect(a.marksSince(d1.self, 2)).toBeUndefined()
    expect(a.sizes()).toEqual({ records: 1, entries: 0, logMarks: 0, parked: 0, pooledStrings: 0 })
    const d2 = orMap('D', {}, 2)
    expect(sync(d2, a, d1.self)).toBe('nothing')
    expect(d2.count).toBe(0)
  })

  it('pub-A17: after a cut without changes there is nothing to send, and neither list has changed', () => {
    const { world, all } = network(2)
    const [a, b] = all as [Process, Process]
    join(world, a, 3)
    join(world, b, 3)
    quiesce(world)
    const before = [list(world, a), list(world, b)]
    expect(quiesce(world)).toEqual([])
    expect(a.map.serve(b.map.request(a.map.self))).toBeUndefined()
    expect(b.map.serve(a.map.request(b.map.self))).toBeUndefined()
    expect([list(world, a), list(world, b)]).toEqual(before)
  })

  it('R10: a forgotten replica is learned again from its head on, and its removed entries stay removed', () => {
    const [a, b] = [orMap('A', { logLimit: 2 }), orMap('B')]
    for (let i = 1; i <= 5; i++) {
      a.add(content(i))
    }
    sync(b, a)
    expect(b.drop(a.self)).toBe(5)
    for (let i = 1; i <= 4; i++) {
      a.mark(i, 3, 7)
    }
    expect(sync(b, a)).toBe('applied +5')
    expect(showRecord(b, a)).toBe('9 {5}')
  })

  it('R10: what was under way when a replica was forgotten brings it back whole, never in part', () => {
    const [a, b] = [orMap('A'), orMap('B')]
    a.add(content(1))
    const full = a.serve(b.request(a.self))!
    b.merge(full)
    a.mark(1, 3, 7)
    const removal = a.serve(b.request(a.self))!
    b.merge(removal)
    b.drop(a.self)
    // A graveyard refuses both before they come to the map; the map itself stays true to what it is told.
    expect(showResult(b.merge(removal))).toBe('gap')
    expect(showRecord(b, a)).toBe('0 {}')
    expect(showResult(b.merge(full))).toBe('applied')
    expect(showRecord(b, a)).toBe('2 {}')
  })

  it('a new incarnation renumbers its entries and takes nothing from the old one', () => {
    const [a, b] = [orMap('A'), orMap('B')]
    a.add(content(1))
    a.add(content(2))
    a.add(content(3))
    a.mark(2, 1, 7)
    a.mark(1, 3, 7)
    sync(b, a)
    const old = a.self
    a.reincarnate(ref('A', 2))
    expect(sync(b, a)).toBe('applied +1~ +2')
    expect([...b.entries(old)].map(({ counter }) => counter)).toEqual([2, 3])
    expect([...b.entries(a.self)].map(({ connection, state }) => [connection, state])).toEqual([
      [2, 1],
      [3, 0]
    ])
  })
})
