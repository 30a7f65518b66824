import { describe, expect, it, vi } from 'vitest'
import type { Connection, CountEvent } from '../../src/index.ts'
import type { SimReplica } from '../../src/testing/index.ts'
import { PresenceFactory } from '../../src/tracker/presence/presence-factory.ts'
import { ready, startLone } from '../support/lone.ts'
import { crowd, keys, readIntervals, split, stateBytes } from '../support/scenario.ts'
import { listed, runAlive, startCluster, told } from '../support/sim.ts'

describe('tracking and queries', () => {
  it('T2: an AbortSignal ends what it owns: all entries of the connection end without a further call, after the grace, in one batch elsewhere', async () => {
    const { sim, a, b } = await startCluster({ replicas: 2, options: { graceMs: 1_000 } })
    const socket = new AbortController()
    const ann = a.tracker.connect('ann', { signal: socket.signal })
    for (let i = 0; i < 5; i++) {
      ann.track(`t${i}`)
    }
    await sim.settle()
    socket.abort()
    expect([ann.open, ann.signal.reason]).toMatchObject([false, { code: 'ERR_CONNECTION_ENDED', end: 'lost' }])
    const left = new Set<number>()
    b.tracker.addEventListener('diff', () => void left.add(b.tracker.topics().size))
    await sim.run(2_000)
    expect(told(sim, b, 'leaves')).toHaveLength(5)
    expect([...left]).toEqual([0])
    expect(() => a.tracker.connect('bob', { signal: socket.signal })).toThrowError(
      expect.objectContaining({ code: 'ERR_CONNECTION_ENDED' })
    )
  })

  it('T5: an update to the same meta, in whatever order its names stand: the same ref, no event, not a byte', async () => {
    const { sim, a, b } = await startCluster({ replicas: 2 })
    const ann = a.tracker.connect('ann')
    const ref = ann.track('room', { status: 'here', n: 1 })
    await sim.settle()
    const before = [stateBytes(sim, a, b), sim.diffs(a).length, sim.diffs(b).length]
    expect(ann.update('room', { n: 1, status: 'here' })).toBe(ref)
    expect(ann.update('room', meta => ({ ...meta }))).toBe(ref)
    await sim.run(1_000)
    expect([stateBytes(sim, a, b), sim.diffs(a).length, sim.diffs(b).length]).toEqual(before)
  })

  it('T9: caps on entries per connection, topic, user and replica: each refused by name, and nothing is changed', async () => {
    const limits = { connectionsPerUser: 2, entriesPerConnection: 2, entriesPerTopic: 3, entriesPerReplica: 9 }
    const { tracker } = await startLone({ limits })
    const [one, two] = [tracker.connect('ann'), tracker.connect('ann')]
    const refused = (limit: keyof typeof limits, call: () => unknown): void =>
      expect(call).toThrowError(expect.objectContaining({ code: 'ERR_LIMIT', limit, max: limits[limit] }))
    refused('connectionsPerUser', () => tracker.connect('ann'))
    one.track('x')
    one.track('y')
    refused('entriesPerConnection', () => one.track('z'))
    two.track('x')
    const bob = tracker.connect('bob')
    bob.track('x')
    const cid = tracker.connect('cid')
    refused('entriesPerTopic', () => cid.track('x'))
    cid.track('y')
    refused('entriesPerReplica', () => bob.track('w'))
    refused('entriesPerReplica', () => tracker.connect('dan'))
    expect([tracker.stats().ownEntries, tracker.count('x').presences, tracker.count('y').presences]).toEqual([9, 3, 2])
  })

  it('Q1: list is answered within the call, during a full partition, with all that was known, and sends nothing', async () => {
    const { sim, replicas, a, b, c } = await startCluster()
    for (const replica of replicas) {
      crowd(replica, replica.name, 3)
    }
    await sim.settle()
    split(sim, [a], [b, c])
    split(sim, [b], [c])
    await sim.run(9_000)
    const frames = (): number => sim.traffic(a, b).frames + sim.traffic(a, c).frames
    const before = frames()
    for (const replica of replicas) {
      expect(keys(replica)).toEqual(['a0', 'a1', 'a2', 'b0', 'b1', 'b2', 'c0', 'c1', 'c2'])
    }
    expect(frames()).toBe(before)
  })
})

describe('what a query costs', () => {
  it('Q1, Q2, Q3: of 5,000 keys, get builds the presences of one, a page those of a page, count none', async () => {
    const { tracker } = await startLone()
    tracker.batch(() => {
      for (let i = 0; i < 5_000; i++) {
        tracker.connect(`user:${i}`).track('room')
      }
      tracker.connect('user:7').track('room')
      tracker.connect('user:7').track('other')
    })
    const built = vi.spyOn(PresenceFactory.prototype, 'presence')
    const cost = (query: () => unknown): number => {
      built.mockClear()
      query()
      return built.mock.calls.length
    }
    try {
      expect(cost(() => tracker.get('room', 'user:7'))).toBe(2)
      expect(cost(() => tracker.list('room', { limit: 10, cursor: 'user:4' }))).toBe(10)
      expect(cost(() => tracker.list('other'))).toBe(1)
      expect(cost(() => tracker.topicsOf('user:7'))).toBe(3)
      expect(cost(() => [tracker.count('room'), tracker.isOnline('user:7'), tracker.topics()])).toBe(0)
      expect(cost(() => tracker.list('room'))).toBe(5_001)
    } finally {
      built.mockRestore()
    }
  })
})

describe('events', () => {
  it('E2: three levels: two devices of one user in two topics are four joins, one key per topic, one user online', async () => {
    const { sim, a, b, c } = await startCluster()
    const counting = c.tracker.watchCount('x')
    await ready(counting)
    const devices = [a, b].map(replica => {
      const connection = replica.tracker.connect('ann')
      connection.track('x')
      connection.track('y')
      return connection
    })
    await sim.settle()
    for (const device of devices) {
      device.close()
      await sim.run(1_000)
    }
    await sim.run(20_000)
    expect([told(sim, c, 'joins').length, told(sim, c, 'leaves').length]).toEqual([4, 4])
    const keyCounts = (await ready<CountEvent>(counting)).map(event => event.keys)
    expect(keyCounts.at(-1)).toBe(0)
    expect(sim.transitions(c).map(({ type, user }) => `${user} ${type}`)).toEqual(['ann online', 'ann offline'])
  })

  it('E2: the first and the last presence of a key are known within the diff: 0 ↔ 1 of each key, once', async () => {
    const { sim, a, b, c } = await startCluster()
    const levels: string[] = []
    c.tracker.addEventListener('diff', ({ detail: { topic, joins, leaves } }) => {
      for (const key of new Set(joins.map(presence => presence.key))) {
        if (c.tracker.get(topic, key).length === joins.filter(presence => presence.key === key).length) {
          levels.push(`${key} in`)
        }
      }
      for (const key of new Set(leaves.map(({ presence }) => presence.key))) {
        if (c.tracker.get(topic, key).length === 0) {
          levels.push(`${key} out`)
        }
      }
    })
    const [one, two] = [a, b].map(replica => crowd(replica, 'ann', 1)[0]) as [Connection, Connection]
    await sim.settle()
    one.close()
    await sim.settle()
    two.close()
    await sim.settle()
    expect(levels).toEqual(['ann0 in', 'ann0 out'])
  })
})

describe('liveness', () => {
  it('L1: whatever a connection sends extends its life; it ends a ttl after the last of it', async () => {
    const { tracker, run } = await startLone()
    const ann = tracker.connect('ann')
    const frames: (() => unknown)[] = [
      () => ann.track('room', { n: 0 }),
      () => ann.update('room', { n: 1 }),
      () => ann.heartbeat(),
      () => ann.untrack('room'),
      () => ann.untrack('room'),
      () => tracker.heartbeat(ann.id)
    ]
    for (const frame of frames) {
      await run(40_000)
      frame()
      expect(ann.open).toBe(true)
    }
    await run(44_900)
    expect(ann.open).toBe(true)
    await run(400)
    expect([ann.open, tracker.heartbeat(ann.id), tracker.connection(ann.id)]).toEqual([false, false, undefined])
    expect(() => ann.track('room')).toThrowError(expect.objectContaining({ end: 'expired' }))
  })

  it.each([0, 1, 2])('L6: a lost session reconnects within the grace, on replica %i: no event on any replica, the same ref', async at => {
    const { sim, replicas, a } = await startCluster()
    const first = a.tracker.connect('ann', { session: 's' })
    const ref = first.track('room', { n: 1 })
    await sim.settle()
    first.lost()
    await sim.run(14_000)
    const second = (replicas[at] as SimReplica).tracker.connect('ann', { session: 's' })
    expect(second.track('room', { n: 1 })).toBe(ref)
    await runAlive(sim, [second], 60_000)
    for (const replica of replicas) {
      expect([told(sim, replica, 'joins').length, told(sim, replica, 'leaves'), told(sim, replica, 'updates')]).toEqual([1, [], []])
      expect(sim.transitions(replica).map(({ type }) => type)).toEqual(['online'])
      expect(listed(replica)).toMatchObject([{ ref, state: 'online' }])
    }
  })

  it('L8: the gateway of 500 connections dies: its signal begins their grace in a few deltas, and ends them in one diff', async () => {
    const { sim, a, b } = await startCluster({ replicas: 2, checks: 'manual' })
    const gateway = new AbortController()
    a.tracker.batch(() => {
      for (let i = 0; i < 500; i++) {
        a.tracker.connect(`user:${i}`, { signal: gateway.signal }).track('room')
      }
    })
    await sim.settle()
    const read = readIntervals(sim)
    gateway.abort()
    await sim.run(1_000)
    expect(read.reduce((sum, { interval }) => sum + interval.marks.length, 0)).toBe(1_000)
    expect(read.length).toBeLessThan(10)
    await sim.run(20_000)
    expect(
      sim
        .diffs(b)
        .map(({ leaves }) => leaves.length)
        .filter(count => count > 0)
    ).toEqual([500])
  })

  it('L8: the replica of 500 connections dies: one diff per topic, after its grace', async () => {
    const { sim, a, b, c } = await startCluster({ checks: 'manual' })
    for (const topic of ['x', 'y']) {
      crowd(a, topic, 250, topic)
    }
    await sim.settle()
    sim.kill(a)
    await sim.run(40_000)
    for (const replica of [b, c]) {
      const leaving = sim.diffs(replica).filter(({ leaves }) => leaves.length > 0)
      expect(leaving.map(({ topic, leaves }) => [topic, leaves.length])).toEqual([
        ['x', 250],
        ['y', 250]
      ])
    }
  })
})
