import { describe, expect, it } from 'vitest'
import { createEntry, type DeltaInterval } from '../../src/crdt/index.ts'
import { content, type Node, names, World } from '../support/cluster-harness.ts'

/** What a really said of (from, to], with `key` in place of the truth. */
function forged(a: Node, from: number, to: number, key: string): DeltaInterval {
  return { replica: a.self, shard: 0, from, to, since: from, asOf: to, adds: [createEntry(content(key), to)], marks: [] }
}

const diverged = (node: Node): boolean[] => node.logged('replica:diverged').map(event => event.quarantined as boolean)

describe('repair', () => {
  it('B6: INV-42: another hash at a head that the owner announced: found within one heartbeat, loaded again from it, and reported', () => {
    const world = new World()
    const [a, b, c] = world.mesh('a', 'b', 'c') as [Node, Node, Node]
    a.track(...names('x', 20))
    world.run(3_000)
    world.hold('a', 'b')
    a.track('true')
    b.map.merge(forged(a, 20, 21, 'false'))
    world.release('a', 'b')
    expect(b.list()).toContain('false')
    const fromMs = world.clock.nowMs
    world.run(1_200)
    expect(b.list()).toEqual(a.list())
    expect(diverged(b)).toEqual([false])
    expect(b.logged('hide').length + b.logged('drop').length).toBe(0)
    expect(world.frames('delta', frame => frame.sentMs > fromMs && frame.to === 'b').map(frame => frame.from)).toEqual(['a'])
    world.run(60_000)
    expect(b.stat('diverged')).toBe(1)
    expect(c.stat('diverged')).toBe(0)
  })

  it('its presences stay listed while a record is loaded again', () => {
    const world = new World()
    const [a, b] = world.mesh('a', 'b') as [Node, Node]
    a.track(...names('x', 20))
    world.run(3_000)
    world.hold('a', 'b')
    a.track('true')
    b.map.merge(forged(a, 20, 21, 'false'))
    world.direction('a', 'b').held.length = 0
    world.run(1_500)
    while (world.direction('a', 'b').held.some(frame => frame.message.type === 'heartbeat')) {
      const index = world.direction('a', 'b').held.findIndex(frame => frame.message.type === 'heartbeat')
      world.deliver('a', 'b', index)
    }
    expect(b.map.record(a.self)?.repairing).toBe(true)
    expect(b.list()).toHaveLength(21)
    world.release('a', 'b')
    world.run(3_000)
    expect(b.list()).toEqual(a.list())
  })

  it('three reloads within ten minutes: then quarantine, and it is served to nobody', () => {
    const world = new World()
    const [a, b] = world.line('a', 'b') as [Node, Node]
    world.run(3_000)
    for (let i = 1; i <= 4; i++) {
      world.hold('a', 'b')
      a.track(`true${i}`)
      b.map.merge(forged(a, i - 1, i, `false${i}`))
      world.release('a', 'b')
      world.run(3_000)
    }
    expect(diverged(b)).toEqual([false, false, false, true])
    world.run(60_000)
    expect(b.stat('quarantined')).toBe(1)
    const c = world.start('c')
    world.link('b', 'c')
    world.run(5_000)
    expect(c.list()).toEqual([])
    world.link('a', 'c')
    world.run(1_000)
    expect(c.list()).toEqual(a.list())
    world.run(10 * 60_000)
    a.track('x')
    world.run(20)
    expect(b.list()).toContain('x')
  })

  it('INV-42: a member relays (a, head, 2^52], then a tracks: it is seen within five periods, and what a said stays', () => {
    for (const before of [0, 3]) {
      const world = new World()
      const [a, b, m] = world.mesh('a', 'b', 'm') as [Node, Node, Node]
      a.track(...names('x', before))
      world.run(3_000)
      const poison: DeltaInterval = { ...forged(a, before, 2 ** 52, 'poison') }
      world.inject('m', 'b', { type: 'delta', intervals: [poison], answer: false })
      world.inject('m', 'b', { type: 'delta', intervals: [poison], answer: true })
      expect(b.list()).toEqual(names('x', before))
      expect(b.stat('unannounced')).toBe(2)
      // Where there was no stream to a, it could not be told from the truth.
      world.unlink('a', 'b')
      world.inject('m', 'b', { type: 'delta', intervals: [poison], answer: true })
      expect(b.list()).toContain('poison')
      world.run(1_000)
      world.link('a', 'b')
      a.track('y')
      world.run(5_000)
      expect(b.list()).toContain('y')
      expect(m.list()).toContain('y')
      world.run(20_000)
      expect(b.list()).toEqual([...names('x', before), 'y'])
      expect(a.list()).toEqual(b.list())
      expect(b.stat('diverged')).toBeLessThanOrEqual(1)
      expect(m.list()).toEqual(b.list())
    }
  })

  it('INV-42: more events here than the owner announced by its second heartbeat: is an alarm, also when the owner does not hear of it', () => {
    const world = new World()
    const [a, b] = world.mesh('a', 'b') as [Node, Node]
    a.track(...names('x', 3))
    world.run(3_000)
    world.direction('b', 'a').mode = 'cut'
    b.map.merge(forged(a, 3, 9, 'false'))
    world.run(2_500)
    expect(diverged(b)).toEqual([false])
    expect(a.stat('reincarnations')).toBe(0)
    world.direction('b', 'a').mode = 'flow'
    world.run(3_000)
    expect(b.list()).toEqual(names('x', 3))
    expect(b.map.record(a.self)?.head).toBe(3)
  })

  it('INV-43: an interval about ourselves is never merged; one that is ahead of us is a claim', () => {
    const world = new World()
    const [a, b] = world.mesh('a', 'b') as [Node, Node]
    a.track('x')
    world.run(2_000)
    world.inject('b', 'a', { type: 'delta', intervals: [forged(a, 0, 1, 'other')], answer: true })
    expect(a.list()).toEqual(['x'])
    expect(a.stat('reincarnations')).toBe(0)
    world.inject('b', 'a', { type: 'delta', intervals: [forged(a, 1, 9, 'other')], answer: true })
    expect(a.stat('ownIntervals')).toBe(2)
    expect(a.stat('reincarnations')).toBe(1)
    expect(a.list()).toEqual(['x'])
    world.run(1_000)
    expect(new Set(b.list())).toEqual(new Set(['x']))
  })

  it('an interval that breaks a rule: is counted, changes nothing, and costs its sender the link', () => {
    const world = new World()
    const [a, b] = world.mesh('a', 'b') as [Node, Node]
    a.track('x')
    world.run(2_000)
    const bad = { ...forged(a, 1, 2, 'y'), to: 1 }
    world.inject('a', 'b', { type: 'delta', intervals: [bad], answer: false })
    expect(b.stat('invalid')).toBe(1)
    expect(b.list()).toEqual(['x'])
    world.run(10)
    expect(world.isLinked('a', 'b')).toBe(false)
  })

  it("a hello, heartbeat or goodbye in another's name: costs the link, or nothing", () => {
    const world = new World()
    const [a, b, m] = world.mesh('a', 'b', 'm') as [Node, Node, Node]
    a.track('x')
    world.run(2_000)
    world.inject('m', 'b', { type: 'bye', replica: a.self, head: 0, announce: true })
    expect(b.list()).toEqual(['x'])
    const hash = { high: 0, low: 0 }
    world.inject('m', 'b', { type: 'heartbeat', replica: a.self, counter: 999, ageMs: 0, head: 0, hash, digestHash: 0, relayed: [] })
    world.run(10)
    expect(world.isLinked('m', 'b')).toBe(false)
    expect(world.isLinked('a', 'b')).toBe(true)
    world.run(5_000)
    expect(b.status('a')).toBe('up')
    expect(m.self.id).toBe('m')
  })

  it('one of another cluster: is cut off and known of no further', () => {
    const world = new World()
    const a = world.start('a')
    const x = world.start('x', { options: { cluster: 'other' } })
    x.track('x')
    world.link('a', 'x')
    world.run(5_000)
    expect(world.isLinked('a', 'x')).toBe(false)
    expect(a.list()).toEqual([])
    expect(a.stat('members')).toBe(0)
  })

  it('two relays that differ about a replica that is out of reach: are reported', () => {
    const world = new World()
    const [a, , c] = world.line('a', 'b', 'c') as [Node, Node, Node]
    c.track('x')
    world.run(3_000)
    const entry = { replica: c.self, shard: 0, head: 1, hash: { high: 7, low: 7 }, floor: 0, graceMs: 15_000 }
    world.inject('b', 'a', { type: 'digest', entries: [entry], unreached: [], reply: false })
    expect(a.stat('relayConflicts')).toBe(1)
    expect(a.list()).toEqual(['x'])
  })

  it('an origin that the transport does not admit: is not taken from others', () => {
    const world = new World()
    const a = world.start('a', { admits: id => id !== 'c' })
    const [b, c] = world.line('b', 'c') as [Node, Node]
    c.track('x')
    b.track('y')
    world.run(2_000)
    world.link('a', 'b')
    world.run(3_000)
    expect(a.list()).toEqual(['y'])
    expect(a.stat('notAdmitted')).toBeGreaterThan(0)
  })
})
