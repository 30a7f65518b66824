import { describe, expect, it } from 'vitest'
import { fill, type Node, names, World } from '../support/cluster-harness.ts'

const sameEverywhere = (nodes: readonly (Node | undefined)[], count: number): void => {
  for (const node of nodes) {
    expect(node?.list()).toHaveLength(count)
    expect(node?.list()).toEqual(nodes[0]?.list())
  }
}

describe('replication: new events', () => {
  it('an event after a pause: is sent at once, and those that follow within the window as one interval at its end', () => {
    const world = new World()
    const [a, b] = world.mesh('a', 'b') as [Node, Node]
    world.run(500)
    const fromMs = world.clock.nowMs
    a.track('x1')
    expect(world.frames('delta', frame => frame.sentMs >= fromMs)).toHaveLength(1)
    for (const key of names('y', 10)) {
      world.run(1)
      a.track(key)
    }
    world.run(100)
    const deltas = world.frames('delta', frame => frame.from === 'a' && frame.sentMs >= fromMs)
    expect(deltas.map(frame => frame.sentMs - fromMs)).toEqual([0, 20])
    expect(b.list()).toHaveLength(11)
  })

  it('a burst above a frame: is cut into plain intervals, none above the frame, and nothing is incomplete meanwhile', () => {
    const world = new World()
    const [a, b] = world.mesh('a', 'b') as [Node, Node]
    a.track('first')
    world.run(500)
    const fromMs = world.clock.nowMs
    fill(a, 'x', 5_000)
    world.run(1_000)
    const deltas = world.frames('delta', frame => frame.from === 'a' && frame.sentMs >= fromMs)
    expect(deltas.length).toBeGreaterThan(5)
    expect(Math.max(...deltas.map(frame => frame.bytes))).toBeLessThanOrEqual(65_536)
    expect(b.log.filter(event => event.complete === false)).toEqual([])
    sameEverywhere([a, b], 5_001)
  })

  it('a burst within the window: 256 events leave before it ends', () => {
    const world = new World()
    const [a, b] = world.mesh('a', 'b') as [Node, Node]
    world.run(500)
    a.track('first')
    const fromMs = world.clock.nowMs
    for (const key of names('x', 300)) {
      a.track(key)
    }
    world.run(6)
    expect(b.list().length).toBeGreaterThanOrEqual(257)
    world.run(30)
    expect(b.list()).toHaveLength(301)
    expect(world.frames('delta', frame => frame.sentMs >= fromMs).length).toBeLessThanOrEqual(3)
  })

  it('INV-39: a peer that does not drain costs no queue, and gets one interval when it does', () => {
    const world = new World()
    const [a, b, c] = world.mesh('a', 'b', 'c') as [Node, Node, Node]
    world.run(500)
    world.block('a', 'b')
    for (let i = 0; i < 50; i++) {
      a.track(`x${i}`)
      world.run(50)
    }
    expect(c.list()).toHaveLength(50)
    expect(world.direction('a', 'b').refused).toBeLessThanOrEqual(8)
    const fromMs = world.clock.nowMs
    world.unblock('a', 'b')
    world.run(100)
    expect(world.frames('delta', frame => frame.to === 'b' && frame.sentMs >= fromMs)).toHaveLength(1)
    expect(b.list()).toHaveLength(50)
    expect(b.status('a')).toBe('up')
  })

  it('three in a mesh: an event travels once to each, and is sent on by nobody', () => {
    const world = new World()
    const [a, b, c] = world.mesh('a', 'b', 'c') as [Node, Node, Node]
    world.run(5_000)
    const fromMs = world.clock.nowMs
    a.track('x')
    world.run(10_000)
    expect(world.frames('delta', frame => frame.sentMs >= fromMs).map(frame => `${frame.from}>${frame.to}`)).toEqual(['a>b', 'a>c'])
    sameEverywhere([a, b, c], 1)
  })
})

describe('replication: public reports', () => {
  for (const [name, count] of [
    ['L − 1', 19],
    ['L', 20],
    ['L + 1', 21],
    ['10 L', 200]
  ] as const) {
    it(`pub-A1: two with ${name} removals beyond their logs of L meet: both list everything`, () => {
      const world = new World({ options: { limits: { markLog: 20 } } })
      const a = world.start('a')
      const b = world.start('b')
      for (const node of [a, b]) {
        node.track(...names(node.id, 2 * count))
        node.untrack(...names(node.id, count))
      }
      world.run(1_000)
      world.link('a', 'b')
      world.run(2_000)
      sameEverywhere([a, b], 2 * count)
      world.cut('a', 'b')
      a.untrack(...names('a', 2 * count).slice(count, count + count / 2))
      b.track(...names('new', count))
      world.run(1_000)
      world.heal('a', 'b')
      world.run(4_000)
      expect(a.list()).toEqual(b.list())
    })
  }

  it('pub-A2: a restarted replica whose old incarnation is gone: a laggard asks for it, and nothing of it comes back', () => {
    const world = new World({ options: { permdownAfterMs: 30_000 } })
    const [a, b, c, d] = world.mesh('a', 'b', 'c', 'd') as [Node, Node, Node, Node]
    d.track('x')
    world.run(2_000)
    const old = d.self
    const state = d.map.serve({ replica: old, shard: 0, head: 0, cursor: null })!
    world.kill(d)
    const again = world.start('d')
    for (const id of ['a', 'b', 'c']) {
      world.link(id, 'd')
    }
    world.run(60_000)
    world.inject('c', 'a', { type: 'pull', requests: [{ replica: old, shard: 0, head: 0, cursor: null }] })
    world.inject('a', 'c', { type: 'delta', intervals: [state], answer: true })
    world.run(5_000)
    for (const node of [a, b, c, again]) {
      expect(node.list()).toEqual([])
      expect(node.map.record(old)).toBeUndefined()
    }
  })

  it('pub-A3: rolling deploys, new before old: only live incarnations are left after permdown; forget removes one, and gossip does not bring it back', () => {
    const world = new World({ options: { permdownAfterMs: 40_000 } })
    let nodes = world.mesh('r0', 'r1', 'r2')
    for (const node of nodes) {
      node.track(...names(node.id, 10))
    }
    world.run(2_000)
    for (let i = 0; i < 3; i++) {
      const fresh = world.start(`r${i + 3}`)
      for (const node of nodes) {
        world.link(fresh.id, node.id)
      }
      fresh.track(...names(fresh.id, 10))
      world.run(1_000)
      world.kill(nodes[0] as Node)
      nodes = [...nodes.slice(1), fresh]
      world.run(1_000)
    }
    world.run(45_000)
    sameEverywhere(nodes, 30)
    for (const node of nodes) {
      expect([...node.map.records()]).toHaveLength(3)
    }
    const [r3, r4, r5] = nodes as [Node, Node, Node]
    world.kill(r5)
    world.run(1_000)
    expect(r3.cluster.forget('r5')).toBe(true)
    expect(r3.list()).toHaveLength(20)
    world.run(2_000)
    expect(r3.list()).toHaveLength(20)
    expect(r4.cluster.forget('r5')).toBe(true)
    world.run(5_000)
    sameEverywhere([r3, r4], 20)
    expect(r3.cluster.forget('nobody')).toBe(false)
    expect(r3.cluster.isForgotten(r5.self)).toBe(true)
  })

  it('pub-A4: everything but one leaves while a third restarts: it gets the one that is left', () => {
    const world = new World({ options: { limits: { markLog: 50 } } })
    const [n1, n2, n3] = world.mesh('n1', 'n2', 'n3') as [Node, Node, Node]
    n1.track('one')
    n2.track(...names('s', 52))
    world.run(1_000)
    world.kill(n3)
    n2.untrack(...names('s', 51))
    world.run(1_000)
    world.stop(n1, true)
    const again = world.start('n3')
    world.link('n2', 'n3')
    world.run(2_000)
    expect(n2.list()).toEqual(['s52'])
    expect(again.list()).toEqual(['s52'])
    expect(
      world
        .frames('delta')
        .every(frame => frame.message.type === 'delta' && frame.message.intervals.every(i => i.asOf > i.since || i.to > i.from))
    ).toBe(true)
  })

  it('pub-A5: a replica that comes back misses nothing of one that grew meanwhile, whatever a third did', () => {
    const world = new World({ options: { limits: { markLog: 50 } } })
    const n2 = world.start('n2')
    const n3 = world.start('n3')
    world.link('n2', 'n3')
    n2.track(...names('s', 70))
    n3.track(...names('t', 83))
    world.run(1_000)
    world.stop(n3, true)
    const n1 = world.start('n1')
    world.link('n1', 'n2')
    world.run(1_000)
    sameEverywhere([n1, n2], 70)
  })

  it('pub-A6: rounds of splits with churn on both sides, one dies: equal within two rounds', () => {
    const world = new World({ options: { limits: { markLog: 50 } } })
    const [a, b, c] = world.mesh('a', 'b', 'c') as [Node, Node, Node]
    world.run(500)
    for (let round = 0; round < 3; round++) {
      world.unlink('b', 'c')
      for (const node of [b, c]) {
        const keys = names(`${node.id}${round}-`, 100)
        node.track(...keys)
        world.run(100)
        node.untrack(...keys.slice(0, 50))
      }
      world.run(200)
      world.link('b', 'c')
      world.run(round === 1 ? 0 : 300)
    }
    a.track('a')
    world.kill(a)
    world.run(2_000)
    expect(b.list().filter(key => key !== 'a')).toHaveLength(300)
    expect(b.list()).toEqual(c.list())
  })

  for (const seed of [1, 2, 3]) {
    it(`pub-A7: seven start at once with entries, links in a random order (seed ${seed}): all list all`, () => {
      const world = new World({ seed })
      const nodes = names('n', 7).map(id => world.start(id))
      for (const node of nodes) {
        fill(node, `${node.id}-`, 20)
      }
      const pairs = nodes.flatMap((a, i) => nodes.slice(i + 1).map(b => [a.id, b.id] as const))
      for (const [a, b] of world.random.shuffle(pairs)) {
        world.link(a, b)
        world.run(world.random.below(3))
      }
      world.run(6_000)
      sameEverywhere(nodes, 140)
    })
  }

  it('pub-A15: one who holds a dead replica up sends its dots: no join', () => {
    const world = new World({ options: { permdownAfterMs: 30_000 } })
    const [a, b, c] = world.mesh('a', 'b', 'c') as [Node, Node, Node]
    c.track('x')
    world.run(1_000)
    const state = b.map.serve({ replica: c.self, shard: 0, head: 0, cursor: null })!
    world.kill(c)
    world.run(40_000)
    expect(a.cluster.isForgotten(c.self)).toBe(true)
    world.inject('b', 'a', { type: 'delta', intervals: [state], answer: false })
    world.inject('b', 'a', {
      type: 'digest',
      entries: [{ replica: c.self, shard: 0, head: 1, hash: { high: 1, low: 1 }, floor: 0, graceMs: 15_000 }],
      unreached: [],
      reply: false
    })
    world.run(5_000)
    expect(a.list()).toEqual([])
    expect(a.map.record(c.self)).toBeUndefined()
  })

  it('pub-A17: a replica that was down comes back with the same incarnation: shown again, and nothing is transferred', () => {
    const world = new World({ options: { graceMs: 2_000 } })
    const [a, b] = world.mesh('a', 'b') as [Node, Node]
    b.track(...names('x', 30))
    world.run(2_000)
    world.cut('a', 'b')
    world.run(20_000)
    expect(a.list()).toEqual([])
    expect(b.list()).toHaveLength(30)
    const fromMs = world.clock.nowMs
    world.heal('a', 'b')
    world.run(3_000)
    expect(a.list()).toHaveLength(30)
    expect(world.bytes('delta', fromMs)).toBe(0)
    expect(a.events('b')).toEqual(['up', 'suspect', 'down', 'up'])
  })

  it('pub-A19: one missed an event, all logs are past it: repaired within two rounds, then zero state bytes', () => {
    const world = new World({ options: { limits: { markLog: 5 } } })
    const [a, b] = world.mesh('a', 'b') as [Node, Node]
    a.track(...names('x', 20))
    world.run(1_000)
    world.direction('a', 'b').mode = 'cut'
    a.untrack(...names('x', 10))
    world.run(100)
    world.direction('a', 'b').mode = 'flow'
    world.run(2_500)
    sameEverywhere([a, b], 10)
    const fromMs = world.clock.nowMs
    world.run(60_000)
    expect(world.frames(undefined, frame => frame.sentMs >= fromMs && frame.message.type !== 'heartbeat')).toEqual([])
  })

  it('pub-A20: a late joiner in a quiet cluster, and one whose only message was lost: repaired within two rounds without a new event', () => {
    const world = new World()
    const [a, , c] = world.mesh('a', 'b', 'c') as [Node, Node, Node]
    world.run(1_000)
    world.direction('a', 'c').mode = 'cut'
    a.track('x')
    world.run(1)
    world.direction('a', 'c').mode = 'flow'
    world.run(2_000)
    expect(c.list()).toEqual(['x'])
    const d = world.start('d')
    world.link('c', 'd')
    world.run(10)
    expect(d.list()).toEqual(['x'])
  })

  it('pub-A21: a restarted replica counts from one again: its first event is seen by all at once', () => {
    const world = new World()
    const [a, b, c] = world.mesh('a', 'b', 'c') as [Node, Node, Node]
    a.track(...names('x', 50))
    world.run(1_000)
    world.kill(a)
    world.run(2_000)
    const again = world.start('a')
    again.track('y')
    world.link('a', 'b')
    world.link('a', 'c')
    world.run(30)
    expect(b.list()).toContain('y')
    expect(c.list()).toContain('y')
    world.run(20_000)
    sameEverywhere([again, b, c], 1)
  })

  it('pub-A23: a late answer about one that is gone for good changes nothing; when it speaks itself, it is back with everything', () => {
    const world = new World({ options: { permdownAfterMs: 30_000 } })
    const [a, , c] = world.mesh('a', 'b', 'c') as [Node, Node, Node]
    c.track('x')
    world.run(1_000)
    const state = c.map.serve({ replica: c.self, shard: 0, head: 0, cursor: null })!
    world.cut('a', 'c')
    world.cut('b', 'c')
    world.run(40_000)
    expect(a.cluster.replicas().map(replica => replica.id)).toEqual(['a', 'b'])
    world.inject('b', 'a', { type: 'delta', intervals: [state], answer: true })
    expect(a.list()).toEqual([])
    world.heal('a', 'c')
    world.heal('b', 'c')
    world.run(3_000)
    expect(a.list()).toEqual(['x'])
    expect(a.status('c')).toBe('up')
    expect(c.stat('reincarnations')).toBe(1)
  })
})

describe('replication: a partial mesh', () => {
  it('a line a–b–c–d: new events of each end reach the other at once, through those between', () => {
    const world = new World()
    const [a, b, c, d] = world.line('a', 'b', 'c', 'd') as [Node, Node, Node, Node]
    world.run(5_000)
    a.track('x')
    d.track('y')
    world.run(20)
    sameEverywhere([a, b, c, d], 2)
  })

  it('a line a–b–c: a lost relayed event is repaired lazily', () => {
    const world = new World()
    const [a, , c] = world.line('a', 'b', 'c') as [Node, Node, Node]
    world.run(5_000)
    world.direction('b', 'a').mode = 'cut'
    c.track('x')
    world.run(20)
    world.direction('b', 'a').mode = 'flow'
    expect(a.list()).toEqual([])
    world.run(3_000)
    expect(a.list()).toEqual(['x'])
  })

  it('a quiet line a–b–c for five minutes: nobody is suspected, heartbeats keep their size, no state is sent', () => {
    const world = new World()
    const [a, b, c] = world.line('a', 'b', 'c') as [Node, Node, Node]
    c.track('x')
    world.run(10_000)
    const fromMs = world.clock.nowMs
    world.run(300_000)
    for (const node of [a, b, c]) {
      expect(node.stat('suspicions')).toBe(0)
      expect(node.list()).toEqual(['x'])
    }
    expect(world.frames(undefined, frame => frame.sentMs >= fromMs && frame.message.type !== 'heartbeat')).toEqual([])
    const sizes = world.frames('heartbeat', frame => frame.sentMs >= fromMs && frame.from === 'b').map(frame => frame.bytes)
    expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(4)
  })

  it('two that disagree for good about a third: compare digests ever less often, and send no state', () => {
    const world = new World({ options: { graceMs: 1_000 } })
    const [, , c] = world.mesh('a', 'b', 'c') as [Node, Node, Node]
    c.track('x')
    world.run(3_000)
    world.cut('a', 'c')
    world.run(40_000)
    const fromMs = world.clock.nowMs
    world.run(20_000)
    expect(world.frames('delta', frame => frame.sentMs >= fromMs)).toEqual([])
    expect(world.frames('digest', frame => frame.sentMs >= fromMs).length).toBeLessThanOrEqual(16)
  })

  it('a quiet pair: an idle heartbeat takes at most 32 bytes, and nothing else is sent', () => {
    const world = new World()
    world.mesh('a', 'b')
    world.run(1_000)
    const fromMs = world.clock.nowMs
    world.run(60_000)
    const frames = world.frames(undefined, frame => frame.sentMs >= fromMs)
    expect(frames.every(frame => frame.message.type === 'heartbeat')).toBe(true)
    expect(Math.max(...frames.map(frame => frame.bytes))).toBeLessThanOrEqual(32)
  })
})
