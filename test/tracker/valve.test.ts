import { describe, expect, it } from 'vitest'
import { type Node, World } from '../support/cluster-harness.ts'

const MINUTE_MS = 60_000

function fleet(world: World, count: number): Node[] {
  const ids = ['a', 'b', 'c', 'd', 'e'].slice(0, count)
  const nodes = world.mesh(...ids)
  for (const node of nodes) {
    node.track(node.id)
  }
  world.run(5_000)
  return nodes
}

function isolate(world: World, node: Node, others: readonly Node[]): void {
  for (const other of others) {
    world.cut(node.id, other.id)
  }
}

const isolations = (node: Node): boolean[] => node.logged('isolated').map(event => event.isolated as boolean)

describe('mass-failure valve', () => {
  it('B11: INV-35: one of five is cut off: its watchers see no leave, it says so; the others see its leaves', () => {
    const world = new World()
    const [a, ...others] = fleet(world, 5) as [Node, ...Node[]]
    isolate(world, a, others)
    world.run(2 * MINUTE_MS)
    expect(a.cluster.isolated).toBe(true)
    expect(isolations(a)).toEqual([true])
    expect(a.list()).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect([...a.certainties.values()]).toEqual(['unknown', 'unknown', 'unknown', 'unknown'])
    for (const other of others) {
      expect(other.list()).toEqual(['b', 'c', 'd', 'e'])
      expect(other.cluster.isolated).toBe(false)
    }
  })

  it('one that was cut off hears most again: is no longer isolated, and no leave was ever seen', () => {
    const world = new World()
    const [a, ...others] = fleet(world, 5) as [Node, ...Node[]]
    isolate(world, a, others)
    world.run(MINUTE_MS)
    for (const other of others.slice(0, 2)) {
      world.heal('a', other.id)
    }
    world.run(5_000)
    expect(isolations(a)).toEqual([true, false])
    expect(
      a
        .logged('hide')
        .map(event => (event.ref as { id: string }).id)
        .sort()
    ).toEqual(['d', 'e'])
    expect(a.list()).toEqual(['a', 'b', 'c'])
  })

  it('one that stays cut off: leaves are held for isolationHoldMs, and come then, once', () => {
    const world = new World({ options: { isolationHoldMs: 2 * MINUTE_MS } })
    const [a, ...others] = fleet(world, 5) as [Node, ...Node[]]
    isolate(world, a, others)
    world.run(2 * MINUTE_MS)
    expect(a.list()).toHaveLength(5)
    world.run(20_000)
    expect(a.list()).toEqual(['a'])
    expect(isolations(a)).toEqual([true, false])
    world.run(5 * MINUTE_MS)
    expect(isolations(a)).toEqual([true, false])
    expect(a.logged('hide')).toHaveLength(4)
  })

  it('a hold that is shorter than the grace: ends once, and the leaves come after the grace', () => {
    const world = new World({ options: { isolationHoldMs: 3_000 } })
    const [a, ...others] = fleet(world, 5) as [Node, ...Node[]]
    isolate(world, a, others)
    world.run(20_000)
    expect(isolations(a)).toEqual([true, false])
    expect(a.list()).toHaveLength(5)
    world.run(10_000)
    expect(isolations(a)).toEqual([true, false])
    expect(a.list()).toEqual(['a'])
  })

  it('a real loss of one of five, and of two: is reported after the grace', () => {
    const world = new World()
    const [a, b, , d, e] = fleet(world, 5) as [Node, Node, Node, Node, Node]
    world.kill(e, 'silent')
    world.kill(d, 'silent')
    world.run(30_000)
    expect(a.list()).toEqual(['a', 'b', 'c'])
    expect(b.list()).toEqual(['a', 'b', 'c'])
    expect(isolations(a)).toEqual([])
  })

  it('losses far apart: never add up', () => {
    const world = new World({ options: { graceMs: 60_000 } })
    const [a, ...others] = fleet(world, 5) as [Node, ...Node[]]
    for (const other of others) {
      world.kill(other, 'silent')
      world.run(15_000)
    }
    expect(isolations(a)).toEqual([])
    world.run(MINUTE_MS)
    expect(a.list()).toEqual(['a'])
  })

  it('two replicas, one killed: its leaves come', () => {
    for (const sockets of ['close', 'silent'] as const) {
      const world = new World()
      const [a, b] = fleet(world, 2) as [Node, Node]
      world.kill(b, sockets)
      world.run(30_000)
      expect(a.list()).toEqual(['a'])
      expect(isolations(a)).toEqual([])
    }
  })

  it('most of the fleet says goodbye: no silence, so nothing is held', () => {
    const world = new World()
    const [a, ...others] = fleet(world, 5) as [Node, ...Node[]]
    for (const other of others) {
      world.stop(other)
    }
    world.run(16_000)
    expect(a.list()).toEqual(['a'])
    expect(isolations(a)).toEqual([])
  })

  it('most of the fleet is killed and its dials are refused: it is gone, and that is shown', () => {
    const world = new World()
    const [a, ...others] = fleet(world, 5) as [Node, ...Node[]]
    for (const other of others) {
      world.kill(other)
      world.refuse('a', other.id)
    }
    world.run(30_000)
    expect(a.list()).toEqual(['a'])
    expect(isolations(a)).toEqual([])
  })

  it('without any grace: the others that are lost with the first are waited for', () => {
    const world = new World({ options: { graceMs: 0 } })
    const [a, ...others] = fleet(world, 5) as [Node, ...Node[]]
    isolate(world, a, others)
    world.run(MINUTE_MS)
    expect(isolations(a)).toEqual([true])
    expect(a.list()).toHaveLength(5)
  })

  it('permdown while isolated: is held too', () => {
    const world = new World({ options: { permdownAfterMs: 40_000, isolationHoldMs: 2 * MINUTE_MS } })
    const [a, ...others] = fleet(world, 3) as [Node, ...Node[]]
    isolate(world, a, others)
    world.run(MINUTE_MS)
    expect(a.list()).toHaveLength(3)
    world.run(2 * MINUTE_MS)
    expect(a.list()).toEqual(['a'])
    expect(a.stat('members')).toBe(0)
  })
})
