import { describe, expect, it } from 'vitest'
import { compose, type DeltaInterval, NotContiguousError, OrMap } from '../../src/crdt/index.ts'
import { content, interval, ref } from '../support/crdt/builders.ts'
import { list, pullFrom, quiesce, transfer } from '../support/crdt/gossip.ts'
import { makeOrMap } from '../support/crdt/make-map.ts'
import type { MapLimits } from '../support/crdt/map-like.ts'
import { show, showRecord, showResult } from '../support/crdt/notation.ts'
import { type Process, World } from '../support/crdt/world.ts'

/** A network of real maps, each answer and merge held against the owners' events. */
function network(processes: number, limits: MapLimits = {}): { world: World; all: Process[] } {
  const world = new World(makeOrMap, processes, limits)
  return { world, all: world.processes }
}

function join(world: World, process: Process, times: number): void {
  for (let i = 0; i < times; i++) {
    world.add(process)
  }
}

/** Removes the oldest entries of a process. */
function leave(world: World, process: Process, times: number): void {
  const dots = Array.from(process.map.entries(process.map.self), entry => entry.counter)
  for (const dot of dots.slice(0, times)) {
    world.mark(process, dot, 3, 7)
  }
}

function orMap(id: string, limits: MapLimits = {}, incarnation = 1): OrMap {
  return new OrMap({ self: ref(id, incarnation), ...limits })
}

/** All that `from` has for `to` of one record, at once. */
function sync(to: OrMap, from: OrMap, of = from.self): string {
  const answer = from.serve(to.request(of))
  return answer === undefined ? 'nothing' : showResult(to.merge(answer))
}

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

describe('map: updates', () => {
  it('pub-A8: a hundred times join, update, update, leave: nothing is left at the other replica', () => {
    const [a, b] = [orMap('A', { logLimit: 50 }), orMap('B', { logLimit: 50 })]
    for (let i = 0; i < 100; i++) {
      let { counter } = a.add(content(i))
      sync(b, a)
      counter = a.update(counter, content(i, { revision: 1 }), 7)!.counter
      sync(b, a)
      counter = a.update(counter, content(i, { revision: 2 }), 7)!.counter
      expect([...b.entries(a.self)].length).toBe(1)
      a.mark(counter, 3, 7)
      sync(b, a)
    }
    expect(showRecord(b, a)).toBe('400 {}')
    expect(b.sizes()).toEqual({ records: 2, entries: 0, logMarks: 50, parked: 0, pooledStrings: 0 })
    expect(a.sizes()).toEqual({ records: 1, entries: 0, logMarks: 50, parked: 0, pooledStrings: 0 })
  })

  it('pub-A9: between the two halves of an update nobody can look: one merge tells both', () => {
    const [a, b] = [orMap('A'), orMap('B')]
    a.add(content(1))
    sync(b, a)
    a.update(1, content(2), 9)
    expect([...a.entries(a.self)].map(({ counter }) => counter)).toEqual([2])
    const result = b.merge(a.serve(b.request(a.self))!)
    expect(showResult(result)).toBe('applied +2 −1')
    expect(result.removed[0]!.reason).toBe(9)
    expect([...b.entries(a.self)].map(({ counter }) => counter)).toEqual([2])
  })

  it('T4: an update past the log, delivered in slices: the identity is missing only while the record is incomplete', () => {
    const [a, b] = [orMap('A', { logLimit: 0 }), orMap('B')]
    a.add(content(1))
    a.add(content(2))
    sync(b, a)
    a.update(1, content(1, { revision: 1 }), 7)
    const steps: string[] = []
    for (const { answer } of transfer(b, a, { adds: 1 })) {
      steps.push(`${show(answer)} ${showRecord(b, a)}`)
    }
    expect(steps).toEqual(['(0@3→2@3] +2 2 {2}…', '(2@3→3@3] +3 3 {2 3}'])
  })

  it('T4: a hundred updates flushed as one interval are one entry out and one in', () => {
    const [a, b] = [orMap('A'), orMap('B')]
    let { counter } = a.add(content(0))
    sync(b, a)
    for (let i = 1; i <= 100; i++) {
      counter = a.update(counter, content(i), 7)!.counter
    }
    const answer = a.serve(b.request(a.self))!
    expect([answer.adds.length, answer.marks.length]).toEqual([1, 100])
    expect(showResult(b.merge(answer))).toBe('applied +101 −1')
  })

  it('T6: two connections of one user are two entries, and the end of one leaves the other', () => {
    const [a, b, c] = [orMap('A'), orMap('B'), orMap('C')]
    const tab = { topic: 'room', key: 'u', user: 'u', meta: '{}' }
    const first = a.add(content(1, tab))
    a.add(content(2, tab))
    b.add(content(3, tab))
    sync(c, a)
    sync(c, b)
    expect(c.count).toBe(3)
    a.mark(first.counter, 3, 7)
    sync(c, a)
    expect([...c.entries(a.self), ...c.entries(b.self)].map(({ connection }) => connection)).toEqual([2, 3])
  })
})

describe('map: concurrent owners', () => {
  it('pub-A10: two replicas add the same (topic, key, connection) while cut: both entries stand, in whatever order they come', () => {
    const { world, all } = network(4)
    const [a, b, c, d] = all as [Process, Process, Process, Process]
    const same = content(1)
    world.add(a, same)
    world.add(b, same)
    pullFrom(world, c, a)
    pullFrom(world, c, b)
    pullFrom(world, d, b)
    pullFrom(world, d, a)
    expect(list(world, c)).toEqual(list(world, d))
    expect(list(world, c)).toHaveLength(2)
    world.mark(a, 1, 3, 7)
    quiesce(world)
    for (const process of all) {
      expect([...process.map.entries(a.map.self)]).toEqual([])
      expect([...process.map.entries(b.map.self)].map(entry => entry.key)).toEqual([same.key])
    }
  })

  it('pub-A11: the same thing added six times and removed twice: counts are right, and dropping it leaves nothing', () => {
    const [a, b] = [orMap('A'), orMap('B')]
    for (let i = 0; i < 6; i++) {
      a.add(content(1))
    }
    expect(a.mark(1, 3, 7)?.counter).toBe(1)
    expect(a.mark(1, 3, 7)).toBeUndefined()
    expect(a.record(a.self)!.head).toBe(7)
    sync(b, a)
    expect(b.count).toBe(5)
    expect(b.drop(a.self)).toBe(5)
    expect(b.drop(a.self)).toBe(0)
    expect(b.sizes()).toEqual({ records: 1, entries: 0, logMarks: 0, parked: 0, pooledStrings: 0 })
  })

  it('pub-A13: removed at B, kept at A: by delta and by state, both ways, the same', () => {
    const make = (): [OrMap, OrMap] => {
      const [a, b] = [orMap('A'), orMap('B')]
      a.add(content(1, { key: 'b', meta: '{"of":"A"}' }))
      b.add(content(2, { key: 'b', meta: '{"of":"B"}' }))
      b.mark(1, 3, 7)
      return [a, b]
    }
    const delta = (to: OrMap, from: OrMap, head: number): void => {
      to.merge({ ...from.serve({ replica: from.self, shard: 0, head: 0, cursor: null })!, since: 0, marks: from.marksSince(from.self, 0)! })
      expect(to.record(from.self)!.head).toBe(head)
    }
    const ways: ((a: OrMap, b: OrMap) => unknown)[] = [
      (a, b) => sync(a, b),
      (a, b) => sync(b, a),
      (a, b) => delta(a, b, 2),
      (a, b) => delta(b, a, 1)
    ]
    const results = ways.map((way, index) => {
      const [a, b] = make()
      way(a, b)
      const map = index % 2 === 0 ? a : b
      return [...map.records()].flatMap(record => Array.from(map.entries(record.ref), ({ key, meta }) => `${key} ${meta}`))
    })
    expect(results).toEqual(ways.map(() => ['b {"of":"A"}']))
  })

  it('pub-A14: a removal does not send the value again, and one batch of add and remove sends none', () => {
    const [a, b] = [orMap('A'), orMap('B')]
    a.add(content(1))
    sync(b, a)
    a.mark(1, 3, 7)
    const removal = a.serve(b.request(a.self))!
    expect(show(removal)).toBe('(1→2] [2:1x]')
    expect(showResult(b.merge(removal))).toBe('applied −1')
    const { counter } = a.add(content(2))
    a.mark(counter, 3, 7)
    const both = a.serve(b.request(a.self))!
    expect(show(both)).toBe('(2→4] [4:3x]')
    expect(showResult(b.merge(both))).toBe('applied')
    expect(b.sizes()).toMatchObject({ entries: 0, pooledStrings: 0 })
  })

  it('pub-A16: two writers, flushes at 7 and 11 operations, deliveries one to three ticks late: nobody loses an entry', () => {
    const [a, b] = [orMap('A', { logLimit: 100 }), orMap('B', { logLimit: 100 })]
    const late: { at: number; to: OrMap; interval: DeltaInterval }[] = []
    const sentTo = new Map<OrMap, number>()
    const flush = (from: OrMap, to: OrMap, tick: number): void => {
      const answer = from.serve({ replica: from.self, shard: 0, head: sentTo.get(to) ?? 0, cursor: null })
      if (answer !== undefined) {
        sentTo.set(to, answer.to)
        late.push({ at: tick + 1 + ((tick * 7) % 3), to, interval: answer })
      }
    }
    const shrinks: number[] = []
    let listed = 0
    for (let tick = 0; tick < 5_003; tick++) {
      if (tick < 5_000) {
        a.add(content(tick))
        b.add(content(tick + 10_000))
      }
      if (tick % 7 === 0) {
        flush(a, b, tick)
      }
      if (tick % 11 === 0) {
        flush(b, a, tick)
      }
      for (const { to, interval: due } of late.filter(({ at }) => at === tick).reverse()) {
        to.merge(due)
      }
      const now = a.count
      if (now < listed) {
        shrinks.push(tick)
      }
      listed = now
    }
    sync(a, b)
    sync(b, a)
    expect(shrinks).toEqual([])
    expect([a.count, b.count]).toEqual([10_000, 10_000])
    expect(b.record(a.self)!.hash).toEqual(a.record(a.self)!.hash)
    expect(a.record(b.self)!.hash).toEqual(b.record(b.self)!.hash)
  })

  it('R3: an add wins over a concurrent removal, which takes only the dot that it saw', () => {
    const { world, all } = network(3)
    const [a, b, c] = all as [Process, Process, Process]
    join(world, a, 1)
    quiesce(world)
    // B sees the user of A's entry and adds it, too; A removes its own at the same time, and adds it again.
    const again = content(0)
    world.add(b, again)
    world.mark(a, 1, 3, 7)
    world.add(a, again)
    for (const order of [
      [a, b],
      [b, a]
    ] as const) {
      for (const from of order) {
        pullFrom(world, c, from)
      }
    }
    expect([...c.map.entries(a.map.self)].map(({ counter }) => counter)).toEqual([3])
    expect([...c.map.entries(b.map.self)].map(({ key }) => key)).toEqual([again.key])
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
