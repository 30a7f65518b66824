import { describe, expect, it } from 'vitest'
import type { DeltaInterval, OrMap } from '../../src/crdt/index.ts'
import { content } from '../support/crdt/builders.ts'
import { join, network, orMap, sync } from '../support/crdt/cast.ts'
import { list, pullFrom, quiesce, transfer } from '../support/crdt/gossip.ts'
import { show, showRecord, showResult } from '../support/crdt/notation.ts'
import type { Process } from '../support/crdt/world.ts'

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
