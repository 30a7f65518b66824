import { describe, expect, it } from 'vitest'
import { createEntry, type DeltaInterval } from '../../src/crdt/index.ts'
import { type Node, names, World } from '../support/cluster-harness.ts'

const meta = (i: number): string => JSON.stringify({ n: (i * 2654435761) % 4294967296, s: String(Math.sin(i)) })

/** Entries whose metas do not compress away. */
function fill(node: Node, prefix: string, count: number): void {
  names(prefix, count).forEach((key, i) => {
    node.map.add({ ...contentOf(key), meta: meta(i) })
  })
  node.cluster.changed()
}

function contentOf(key: string) {
  return {
    topic: 'room',
    key,
    user: key,
    session: 'AAAAAAAAAAAAAAAA',
    connection: 1,
    meta: '{}',
    joinedAt: 1_700_000_000_000,
    revision: 0,
    epoch: 1,
    over: []
  }
}

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

describe('replication: catching up', () => {
  it('R5: a newcomer in a cluster of five lists everything one round trip after its first stream opens, for at most 1.2 copies', () => {
    const world = new World()
    const nodes = world.mesh('a', 'b', 'c', 'd', 'e')
    for (const node of nodes) {
      fill(node, node.id, 200)
    }
    world.run(5_000)
    const f = world.start('f')
    const fromMs = world.clock.nowMs
    for (const id of ['a', 'b', 'c', 'd', 'e']) {
      world.link('f', id)
    }
    world.run(10)
    sameEverywhere([f, ...nodes], 1_000)
    world.run(10_000)
    const received = world.bytes('delta', fromMs, frame => frame.to === 'f')
    const oneCopy = world.bytes('delta', 0, frame => frame.to === 'a' && frame.sentMs < fromMs) * (5 / 4)
    expect(received).toBeLessThanOrEqual(1.2 * oneCopy)
    expect(f.stat('pulls')).toBe(0)
  })

  it('a newcomer whose first peer is empty: asks the others when it knows, and gets each origin once', () => {
    const world = new World()
    const [a, b] = world.mesh('a', 'b') as [Node, Node]
    world.run(2_000)
    const c = world.start('c')
    const d = world.start('d')
    fill(b, 'b', 300)
    world.run(2_000)
    const fromMs = world.clock.nowMs
    world.link('c', 'd')
    world.link('c', 'a')
    world.link('c', 'b')
    world.run(30)
    sameEverywhere([c, a, b], 300)
    world.run(5_000)
    expect(world.frames('delta', frame => frame.to === 'c' && frame.sentMs >= fromMs)).toHaveLength(1)
    expect(d.list()).toEqual(c.list())
  })

  it('a newcomer whose first peer dies before it answers: asks the others', () => {
    const world = new World()
    const [a, b] = world.mesh('a', 'b') as [Node, Node]
    fill(b, 'b', 100)
    world.run(2_000)
    const c = world.start('c')
    world.link('c', 'a')
    world.link('c', 'b')
    world.kill(a)
    world.run(100)
    expect(c.list()).toHaveLength(100)
  })

  it('a newcomer whose first peer never answers: asks the others within seconds', () => {
    const world = new World()
    const [, b] = world.mesh('a', 'b') as [Node, Node]
    fill(b, 'b', 100)
    world.run(2_000)
    const c = world.start('c')
    world.link('c', 'a')
    world.link('c', 'b')
    world.hold('a', 'c')
    world.run(3_000)
    expect(c.list()).toHaveLength(100)
  })

  it('five that start together: each gets each once, and all are ready after a second', async () => {
    const world = new World()
    const ids = ['a', 'b', 'c', 'd', 'e']
    const nodes = ids.map(id => {
      const node = world.start(id)
      fill(node, id, 20)
      return node
    })
    const ready: string[] = []
    for (const node of nodes) {
      void node.cluster.ready.then(() => ready.push(node.id))
    }
    for (let i = 0; i < ids.length; i++) {
      for (let j = i + 1; j < ids.length; j++) {
        world.link(ids[i] as string, ids[j] as string)
      }
    }
    world.run(50)
    sameEverywhere(nodes, 100)
    expect(world.frames('delta').length).toBeLessThanOrEqual(20)
    world.run(1_100)
    await Promise.resolve()
    expect(ready).toHaveLength(5)
    expect(nodes.some(node => node.cluster.partial)).toBe(false)
  })

  it('a stream that takes nothing at first: the hello goes out when it drains, and still asks for everything', () => {
    const world = new World()
    const [a] = world.mesh('a', 'b') as [Node, Node]
    a.track('x')
    world.run(2_000)
    const c = world.start('c')
    world.direction('c', 'b').window = 0
    world.link('c', 'b')
    world.run(50)
    world.direction('c', 'b').window = 1
    world.unblock('c', 'b')
    world.run(40)
    expect(c.list()).toEqual(['x'])
  })

  for (const [name, losses] of [
    ['one hello', [1, 0]],
    ['both hellos', [1, 1]],
    ['a hello and all that follows it for a second', [3, 0]]
  ] as const) {
    it(`a stream on which ${name} is lost: says it again, and nothing is missing`, () => {
      const world = new World()
      const a = world.start('a')
      const b = world.start('b')
      a.track('x')
      b.track('y')
      world.direction('a', 'b').lose = losses[0]
      world.direction('b', 'a').lose = losses[1]
      world.link('a', 'b')
      world.run(5_000)
      sameEverywhere([a, b], 2)
      const fromMs = world.clock.nowMs
      world.run(10_000)
      expect(world.frames(undefined, frame => frame.sentMs >= fromMs && frame.message.type !== 'heartbeat')).toEqual([])
    })
  }

  it('R7: a state of many frames comes in slices within the limit, goes on where it was cut, and heartbeats are not held up', () => {
    const world = new World()
    const a = world.start('a', { maxFrameBytes: 16_384 })
    const b = world.start('b', { maxFrameBytes: 16_384 })
    fill(a, 'x', 2_000)
    for (let i = 0; i < 2_000; i += 3) {
      a.untrack(`x${i + 1}`)
    }
    world.direction('a', 'b').window = 1
    world.link('a', 'b')
    world.run(13)
    world.block('a', 'b')
    world.run(3_000)
    expect(b.status('a')).toBe('up')
    expect(b.list().length).toBeGreaterThan(100)
    expect(b.list().length).toBeLessThan(1_333)
    world.unblock('a', 'b')
    world.run(3_000)
    sameEverywhere([a, b], 1_333)
    expect(Math.max(...world.sent.map(frame => frame.bytes))).toBeLessThanOrEqual(16_384)
  })

  it('a slice is lost on the way: what follows shows the gap, and the transfer goes on from there within a round trip', () => {
    const world = new World()
    const a = world.start('a', { maxFrameBytes: 16_384 })
    const b = world.start('b', { maxFrameBytes: 16_384 })
    fill(a, 'x', 5_000)
    a.untrack('x1', 'x2')
    world.direction('a', 'b').window = 1
    world.direction('a', 'b').latencyMs = 20
    world.link('a', 'b')
    world.run(600)
    const got = b.list().length
    expect(got).toBeLessThan(4_000)
    world.direction('a', 'b').lose = 1
    world.run(1_200)
    expect(b.list()).toHaveLength(4_998)
    expect(b.stat('stalls')).toBe(0)
    expect(b.stat('requests')).toBeLessThanOrEqual(3)
  })

  it('pulls for invented refs: nothing is kept of them', () => {
    const world = new World()
    const [a] = world.mesh('a', 'b') as [Node]
    a.track('x')
    world.run(1_000)
    const points = a.stat('points')
    for (let i = 0; i < 100; i++) {
      world.inject('b', 'a', { type: 'pull', requests: [{ replica: { id: `fake${i}`, incarnation: 1 }, shard: 0, head: 0, cursor: null }] })
    }
    expect(a.stat('points')).toBe(points)
  })

  it('a source that closes: another goes on from the cursor', () => {
    const world = new World()
    const options = { maxFrameBytes: 16_384 }
    const a = world.start('a', options)
    const b = world.start('b', options)
    world.link('a', 'b')
    fill(a, 'x', 3_000)
    a.untrack('x1', 'x500')
    world.run(3_000)
    expect(b.list()).toHaveLength(2_998)
    const c = world.start('c', options)
    const fromMs = world.clock.nowMs
    world.hold('a', 'c')
    world.link('c', 'a')
    world.hold('a', 'c')
    world.link('c', 'b')
    world.run(5)
    // The hello of a and two of its slices; then it dies.
    for (let i = 0; i < 3; i++) {
      world.deliver('a', 'c')
    }
    const before = world.bytes('delta', fromMs, frame => frame.from === 'b')
    const got = c.list().length
    expect(got).toBeGreaterThan(0)
    expect(got).toBeLessThan(2_998)
    world.kill(a)
    world.run(1_000)
    expect(c.list()).toHaveLength(2_998)
    const fromB = world.bytes('delta', fromMs, frame => frame.from === 'b') - before
    const all = world.bytes('delta', 0, frame => frame.to === 'b')
    expect(fromB).toBeLessThan(all * (1 - got / 2_998) * 1.3 + 2_000)
  })

  it('a source that makes no progress: is replaced after two seconds', () => {
    const world = new World()
    const [, b] = world.mesh('a', 'b') as [Node, Node]
    fill(b, 'b', 100)
    world.run(2_000)
    const c = world.start('c')
    world.link('c', 'b')
    world.hold('b', 'c')
    world.run(5)
    world.link('c', 'a')
    world.run(4_000)
    expect(c.list()).toHaveLength(100)
    expect(c.stat('stalls')).toBeGreaterThan(0)
  })

  it('a slice that was not asked for: is not taken, as it would make a complete record incomplete', () => {
    const world = new World()
    const [a, b, c] = world.line('a', 'b', 'c') as [Node, Node, Node]
    c.track(...names('x', 3))
    world.run(3_000)
    const slice: DeltaInterval = {
      replica: c.self,
      shard: 0,
      from: 0,
      to: 1,
      since: 9,
      asOf: 9,
      adds: [createEntry(contentOf('x1'), 1)],
      marks: []
    }
    world.inject('b', 'a', { type: 'delta', intervals: [slice], answer: true })
    expect(a.stat('unrequestedSlices')).toBe(1)
    expect(a.map.record(c.self)?.complete).toBe(true)
    expect(a.list()).toEqual(b.list())
  })

  it('a gap: is filled by one pull, within a round trip of the event that shows it', () => {
    const world = new World()
    const [a, b] = world.mesh('a', 'b') as [Node, Node]
    a.track('x')
    world.run(2_100)
    const fromMs = world.clock.nowMs
    world.direction('a', 'b').mode = 'cut'
    a.track('y')
    world.run(30)
    world.direction('a', 'b').mode = 'flow'
    for (const key of ['z1', 'z2', 'z3']) {
      a.track(key)
      world.run(21)
    }
    expect(b.list()).toEqual(['x', 'y', 'z1', 'z2', 'z3'])
    expect(world.frames('heartbeat', frame => frame.sentMs > fromMs && frame.from === 'a')).toEqual([])
    expect(world.frames('pull', frame => frame.sentMs > fromMs)).toHaveLength(1)
  })

  it('INV-42: what a relay answers ahead of what the owner announced: waits for its word, and is not asked for again', () => {
    const world = new World()
    const r = world.start('r')
    const b = world.start('b')
    world.link('r', 'b')
    r.track('x')
    world.run(2_000)
    const c = world.start('c')
    world.direction('c', 'b').latencyMs = 50
    world.link('c', 'b')
    world.link('c', 'r')
    world.run(20)
    world.hold('r', 'c')
    r.track('y')
    world.run(40)
    expect(b.list()).toEqual(['x', 'y'])
    expect(c.stat('unannounced')).toBe(1)
    expect(c.list()).toEqual([])
    world.release('r', 'c')
    expect(c.list()).toEqual(['x', 'y'])
    expect(world.frames('pull', frame => frame.from === 'c')).toEqual([])
  })

  it('a lag whose only source dies while it is asked: is seen again in the next heartbeat', () => {
    const world = new World()
    const [a, b] = world.mesh('a', 'b') as [Node, Node]
    world.run(2_000)
    world.direction('a', 'b').mode = 'cut'
    a.track('x')
    world.run(1)
    world.direction('a', 'b').mode = 'flow'
    world.run(1_000)
    // The first pull is lost, and the stall finds nobody else.
    world.direction('b', 'a').mode = 'cut'
    world.direction('a', 'b').mode = 'cut'
    a.track('y')
    world.direction('a', 'b').mode = 'flow'
    world.run(2_800)
    world.direction('b', 'a').mode = 'flow'
    world.run(5_000)
    expect(b.list()).toEqual(['x', 'y'])
  })

  it('a source that repeats what is known: makes no progress, and is replaced', () => {
    const world = new World()
    const [r, b, d, c] = ['r', 'b', 'd', 'c'].map(id => world.start(id)) as [Node, Node, Node, Node]
    for (const id of ['b', 'd']) {
      world.link('r', id)
      world.link('c', id)
    }
    r.track('x')
    world.run(10_000)
    const old = b.map.serve({ replica: r.self, shard: 0, head: 0, cursor: null })!
    for (const id of ['b', 'd']) {
      world.direction(id, 'c').mode = 'cut'
    }
    world.direction('c', 'b').mode = 'cut'
    r.track('y')
    world.run(30)
    // Only b tells of y, and never hears that it is asked.
    world.direction('b', 'c').mode = 'flow'
    const isAsked = (): boolean => world.sent.some(frame => frame.to === 'b' && frame.from === 'c' && frame.message.type === 'pull')
    while (!isAsked() && world.clock.nowMs < 20_000) {
      world.run(10)
    }
    expect(isAsked()).toBe(true)
    world.direction('d', 'c').mode = 'flow'
    for (let i = 0; i < 8; i++) {
      world.run(400)
      world.inject('b', 'c', { type: 'delta', intervals: [old], answer: true })
    }
    expect(c.list()).toEqual(['x', 'y'])
    expect(d.list()).toEqual(['x', 'y'])
  })

  it('I5: when all are gone and forgotten: nothing is kept of them', () => {
    const world = new World({ options: { permdownAfterMs: 30_000 } })
    const [a, ...others] = world.mesh('a', 'b', 'c', 'd') as [Node, ...Node[]]
    for (const node of others) {
      node.track(...names(node.id, 10))
    }
    world.run(5_000)
    for (const node of others) {
      world.kill(node)
      world.refuse('a', node.id)
    }
    world.run(70_000)
    const { members, held, graves, transfers, links, points, timers } = a.cluster.stats()
    expect({ members, held, graves, transfers, links, points }).toEqual({
      members: 0,
      held: 0,
      graves: 0,
      transfers: 0,
      links: 0,
      points: 0
    })
    expect(timers).toBe(2)
    expect(a.map.sizes()).toEqual({ records: 1, entries: 0, logMarks: 0, parked: 0, pooledStrings: 0 })
  })

  it('R4: one who missed a little gets the events, one who missed more than the log the state; bytes say so', () => {
    const world = new World({ options: { limits: { markLog: 50 } } })
    const [a, b] = world.mesh('a', 'b') as [Node, Node]
    fill(a, 'x', 1_000)
    world.run(1_000)
    const whole = world.bytes('delta')
    const missed = (change: () => void): number => {
      world.unlink('a', 'b')
      change()
      world.run(300)
      const fromMs = world.clock.nowMs
      world.link('a', 'b')
      world.run(500)
      expect(b.list()).toEqual(a.list())
      return world.bytes('delta', fromMs)
    }
    expect(missed(() => a.track('y1'))).toBeLessThan(250)
    expect(missed(() => a.untrack(...names('x', 40)))).toBeLessThan(1_000)
    const past = missed(() => a.untrack(...names('x', 200)))
    expect(past).toBeGreaterThan(whole * 0.7)
    expect(past).toBeLessThan(whole * 1.1)
    expect(a.stat('fullStates')).toBeGreaterThan(0)
    expect(missed(() => {})).toBe(0)
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
