import { expect, it } from 'vitest'
import { type Node, World } from '../support/cluster-harness.ts'

it('F2: INV-46: what a link held up arrives at once, oldest first: what left meanwhile does not flash up', () => {
  const world = new World({ options: { graceMs: 0 } })
  const [a, b] = world.mesh('a', 'b') as [Node, Node]
  b.track('gone', 'stays')
  world.run(5_000)
  world.hold('a', 'b')
  world.hold('b', 'a')
  world.run(2_500)
  b.untrack('gone')
  world.run(10_000)
  expect(a.list()).toEqual([])
  const seen = [a.list().join()]
  const look = (): void => {
    const list = a.list().join()
    if (list !== seen.at(-1)) {
      seen.push(list)
    }
  }
  // As TCP does it when the network is back: all that waited, in order, within a moment.
  for (const [from, to] of [
    ['b', 'a'],
    ['a', 'b']
  ] as const) {
    const direction = world.direction(from, to)
    for (const frame of direction.held.splice(0)) {
      world.inject(from, to, frame.message)
      look()
    }
    direction.mode = 'flow'
  }
  for (let i = 0; i < 6_000; i++) {
    world.run(1)
    look()
  }
  expect(seen).toEqual(['', 'stays'])
})
