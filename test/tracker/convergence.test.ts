import { describe, expect, it } from 'vitest'
import { createTracker, type ReplicaInfo } from '../../src/index.ts'
import { type Frame, fill, type Node, World } from '../support/cluster-harness.ts'

const about = (node: Node, id: string): ReplicaInfo => node.cluster.replicas().find(replica => replica.id === id) as ReplicaInfo

describe('replicas() tells whether replicas hold the same', () => {
  it('the hash of an origin is the same text wherever as much of it is known, and another after a change', () => {
    const world = new World()
    const [a, b, c] = world.mesh('a', 'b', 'c') as [Node, Node, Node]
    world.run(3_000)
    expect(about(a, 'a').hash).toBe('0000000000000000')
    a.track('x', 'y')
    world.run(3_000)
    const hash = about(a, 'a').hash
    expect(hash).toMatch(/^[0-9a-f]{16}$/)
    expect([about(b, 'a').hash, about(c, 'a').hash]).toEqual([hash, hash])
    a.untrack('x')
    expect(about(a, 'a').hash).not.toBe(hash)
    expect(about(b, 'a').hash).toBe(hash)
    world.run(3_000)
    expect(about(b, 'a').hash).toBe(about(a, 'a').hash)
  })

  it('the hash of a record that is not complete is null', () => {
    const world = new World()
    const a = world.start('a', { maxFrameBytes: 4_096 })
    fill(a, 'x', 500)
    const b = world.start('b', { maxFrameBytes: 4_096 })
    world.direction('a', 'b').window = 1
    world.link('a', 'b')
    for (let i = 0; i < 50 && about(b, 'a')?.complete !== false; i++) {
      world.run(5)
    }
    expect(about(b, 'a')).toMatchObject({ complete: false, hash: null })
    world.run(20_000)
    expect(about(b, 'a')).toMatchObject({ complete: true, hash: about(a, 'a').hash })
  })

  it('a replica agrees when its last heartbeat had our hash, and not while a change is missing', () => {
    const world = new World()
    const [a, b] = world.mesh('a', 'b') as [Node, Node]
    expect(about(a, 'b')).toBeUndefined()
    world.run(3_000)
    expect([about(a, 'b').agrees, about(b, 'a').agrees]).toEqual([true, true])
    const held = world.hold('b', 'a')
    b.track('x')
    world.run(2_000)
    // Heartbeats pass, changes do not.
    for (let i = 0; i < held.length; ) {
      if ((held[i] as Frame).message.type === 'heartbeat') {
        world.deliver('b', 'a', i)
      } else {
        i++
      }
    }
    expect(about(a, 'b').agrees).toBe(false)
    world.release('b', 'a')
    world.run(5_000)
    expect(about(a, 'b').agrees).toBe(true)
  })

  it('of itself, and of one without a link, nothing is said', () => {
    const world = new World()
    const [a] = world.line('a', 'b', 'c') as [Node]
    world.run(5_000)
    expect(about(a, 'a').agrees).toBeNull()
    expect(about(a, 'b').agrees).toBe(true)
    expect(about(a, 'c').agrees).toBeNull()
    world.unlink('a', 'b')
    expect(about(a, 'b').agrees).toBeNull()
    world.link('a', 'b')
    world.run(LINKED_MS)
    expect(about(a, 'b').agrees).toBeNull()
    world.run(3_000)
    expect(about(a, 'b').agrees).toBe(true)
  })

  it('a lone replica has a hash too', async () => {
    const tracker = createTracker()
    await tracker.start()
    const empty = tracker.replicas()[0]
    expect(empty).toMatchObject({ hash: '0000000000000000', agrees: null })
    tracker.connect('u').track('room')
    expect(tracker.replicas()[0]?.hash).not.toBe(empty?.hash)
    await tracker.stop()
  })
})

/** Long enough for both hellos, and too short for a heartbeat. */
const LINKED_MS = 15
