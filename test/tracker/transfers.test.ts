import { describe, expect, it } from 'vitest'
import { createEntry, type DeltaInterval } from '../../src/crdt/index.ts'
import { content, fill, type Node, names, World } from '../support/cluster-harness.ts'

const sameEverywhere = (nodes: readonly (Node | undefined)[], count: number): void => {
  for (const node of nodes) {
    expect(node?.list()).toHaveLength(count)
    expect(node?.list()).toEqual(nodes[0]?.list())
  }
}

describe('transfers', () => {
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
      adds: [createEntry(content('x1'), 1)],
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
