import { describe, expect, it } from 'vitest'
import type { Connection, LeaveReason } from '../../src/index.ts'
import { ready, startLone } from '../support/lone.ts'
import { listed, runAlive, startCluster, told } from '../support/sim.ts'

describe('(e) what users of the field asked for', () => {
  it('pub-E1: count is equal to list after every step of a random run', async () => {
    const { sim, a, b } = await startCluster()
    const random = sim.random.fork('e1')
    const connections: Connection[] = []
    for (let step = 0; step < 200; step++) {
      const replica = random.below(2) === 0 ? a : b
      const connection = connections[random.below(connections.length + 1)]
      if (connection?.open) {
        if (random.below(2) === 0) {
          connection.close()
        } else {
          connection.untrack()
        }
      } else {
        const fresh = replica.tracker.connect(`user:${random.below(5)}`)
        fresh.track('room')
        connections.push(fresh)
      }
      await sim.run(random.below(30))
      for (const seen of [a, b]) {
        const list = seen.tracker.list('room')
        expect(seen.tracker.count('room')).toEqual({ keys: list.size, presences: [...list.values()].flat().length })
      }
    }
  })

  it('pub-E2: present without watching, watching without being present: four combinations', async () => {
    const { tracker } = await startLone()
    for (const present of [false, true]) {
      for (const watching of [false, true]) {
        const topic = `t:${present}:${watching}`
        const connection = tracker.connect('ann')
        const watch = watching ? tracker.watch(topic) : undefined
        if (present) {
          connection.track(topic)
        }
        expect(tracker.count(topic).keys).toBe(present ? 1 : 0)
        if (watch !== undefined) {
          expect(await ready(watch)).toMatchObject([{ type: 'snapshot' }])
        }
      }
    }
    expect(tracker.stats().topicWatches).toBe(2)
  })

  it('pub-E3: update by function; one that throws changes nothing; many in one batch are one delta', async () => {
    const { sim, a, b } = await startCluster()
    const connections = Array.from({ length: 20 }, (_, i) => {
      const connection = a.tracker.connect(`user:${i}`)
      connection.track('room', { n: i })
      return connection
    })
    await sim.settle()
    expect(() =>
      connections[0]?.update('room', () => {
        throw new Error('mine')
      })
    ).toThrowError('mine')
    expect(a.tracker.get('room', 'user:0')[0]?.meta).toEqual({ n: 0 })
    const before = sim.diffs(b).length
    a.tracker.batch(() => {
      for (const connection of connections) {
        connection.update('room', meta => ({ ...meta, all: true }))
      }
    })
    await sim.settle()
    expect(
      sim
        .diffs(b)
        .slice(before)
        .map(diff => diff.updates.length)
    ).toEqual([20])
  })

  it('pub-E4, Q2: one key, one user over all topics, and pages, each at the cost of its result', async () => {
    const { sim, a, b } = await startCluster()
    const ann = a.tracker.connect('ann')
    ann.track('x')
    ann.track('y')
    a.tracker.connect('bob').track('x')
    await sim.settle()
    expect(b.tracker.get('x', 'ann')).toHaveLength(1)
    expect([...b.tracker.topicsOf('ann').keys()].sort()).toEqual(['x', 'y'])
    expect([...b.tracker.list('x', { limit: 1 }).keys()]).toEqual(['ann'])
    expect([...b.tracker.list('x', { limit: 1, cursor: 'ann' }).keys()]).toEqual(['bob'])
  })

  it('pub-E5, E11: every leave has the ref of its join, its replica and a reason; a stale ref is a no-op', async () => {
    const { sim, a, b } = await startCluster()
    const ann = a.tracker.connect('ann')
    const ref = ann.track('room')
    await sim.settle()
    expect(ann.untrack(ref)).toBe(1)
    expect(ann.untrack(ref)).toBe(0)
    await sim.settle()
    expect(told(sim, b, 'leaves')).toMatchObject([{ reason: 'left', presence: { ref, replica: 'a' } }])
  })

  it('pub-E6: the loss of 5,000 users at once reaches a listener as a few batches', async () => {
    const { sim, a, b } = await startCluster({ checks: 'manual' })
    a.tracker.batch(() => {
      for (let i = 0; i < 5_000; i++) {
        a.tracker.connect(`user:${i}`).track('room')
      }
    })
    await sim.settle()
    let calls = 0
    b.tracker.addEventListener('diff', ({ detail }) => {
      calls += detail.leaves.length > 0 ? 1 : 0
    })
    sim.kill(a)
    await sim.run(40_000)
    expect(b.tracker.count('room').keys).toBe(0)
    expect(calls).toBeGreaterThan(0)
    expect(calls).toBeLessThan(10)
  })

  it('pub-E7, E11: each cause has its reason, here and there', async () => {
    const { sim, a, b } = await startCluster({ options: { graceMs: 1_000, ttlMs: 30_000 } })
    const start = (user: string): Connection => {
      const connection = a.tracker.connect(user)
      connection.track(user)
      return connection
    }
    const [left, closed, lost, , kicked] = ['left', 'closed', 'lost', 'silent', 'kicked'].map(start) as [
      Connection,
      Connection,
      Connection,
      Connection,
      Connection
    ]
    await sim.settle()
    left.untrack()
    closed.close()
    lost.lost()
    a.tracker.kick('kicked')
    expect(kicked.open).toBe(false)
    await sim.run(40_000)
    const expected: Record<string, LeaveReason> = { left: 'left', closed: 'closed', lost: 'expired', silent: 'expired', kicked: 'kicked' }
    for (const replica of [a, b]) {
      expect(Object.fromEntries(told(sim, replica, 'leaves').map(({ presence, reason }) => [presence.key, reason]))).toEqual(expected)
    }
  })

  it('pub-E8: restart: the old incarnation is over before the new one is up', async () => {
    const { sim, a, b } = await startCluster()
    const events: string[] = []
    for (const name of ['replica:up', 'replica:down', 'replica:permdown'] as const) {
      b.tracker.addEventListener(name, ({ type, detail }) => {
        if (detail.id === 'a') {
          events.push(`${type} ${detail.incarnation}`)
        }
      })
    }
    const old = b.tracker.replicas().find(({ id }) => id === 'a')?.incarnation as number
    sim.restart(a)
    await sim.run(5_000)
    const fresh = b.tracker.replicas().find(({ id }) => id === 'a')?.incarnation as number
    expect(fresh).toBeGreaterThan(old)
    expect(events.filter(event => !event.startsWith('replica:down'))).toEqual([`replica:permdown ${old}`, `replica:up ${fresh}`])
  })

  it('pub-E10: back one ms before the grace ends: nothing; one ms after: offline, online; the last off starts the grace', async () => {
    for (const [offMs, expected] of [
      [14_500, ['online']],
      [15_600, ['online', 'offline', 'online']]
    ] as const) {
      const { tracker, transitions, run } = await startLone()
      tracker.connect('ann').close()
      await run(offMs)
      tracker.connect('ann')
      expect(transitions.map(text => text.split(' ')[0])).toEqual(expected)
    }
    const { tracker, transitions, run } = await startLone()
    tracker.connect('ann').close()
    await run(10_000)
    tracker.connect('ann').close()
    await run(14_000)
    expect(transitions).toEqual(['online ann'])
    await run(1_600)
    expect(transitions).toEqual(['online ann', 'offline ann'])
  })

  it('pub-E12: one row per user or one per connection, and events at both levels', async () => {
    const { tracker, diffs, transitions } = await startLone()
    tracker.connect('ann').track('room')
    tracker.connect('ann').track('room')
    expect(tracker.count('room')).toEqual({ keys: 1, presences: 2 })
    expect(tracker.list('room').get('ann')).toHaveLength(2)
    expect(diffs).toHaveLength(2)
    expect(transitions).toEqual(['online ann'])
  })

  it('pub-E14, B9: last seen is the same on all replicas to within their delays, and never in the future', async () => {
    const { sim, replicas, a, b } = await startCluster()
    const phone = a.tracker.connect('ann')
    const laptop = b.tracker.connect('ann')
    await sim.settle()
    phone.close()
    await sim.run(5_000)
    expect(a.tracker.user('ann')).toMatchObject({ online: true, connections: 1 })
    const went = a.wall()
    laptop.close()
    await runAlive(sim, [], 60_000)
    for (const replica of replicas) {
      const { online, connections, lastSeen } = replica.tracker.user('ann')
      expect({ online, connections }).toEqual({ online: false, connections: 0 })
      expect(Math.abs((lastSeen as number) - went)).toBeLessThan(1_000)
      sim.shiftWallClock(replica, -3_600_000)
      expect(replica.tracker.user('ann').lastSeen).toBeLessThanOrEqual(replica.wall())
    }
  })

  it('pub-E16, B10: cut off, a replica answers, and says how sure it is', async () => {
    const { sim, a, b, c } = await startCluster()
    const connections = [a, b, c].map(replica => {
      const connection = replica.tracker.connect(replica.name)
      connection.track('room')
      return connection
    })
    await sim.settle()
    sim.cut(a, b)
    sim.cut(a, c)
    await runAlive(sim, connections, 10_000)
    expect(Object.fromEntries(listed(a).map(p => [p.key, p.state]))).toEqual({ a: 'online', b: 'unknown', c: 'unknown' })
    expect(
      a.tracker
        .replicas()
        .filter(({ id }) => id !== 'a')
        .every(({ silentMs }) => silentMs > 8_000)
    ).toBe(true)
  })

  it('pub-E17, pub-A3: forget purges a dead replica here, and late gossip does not bring it back', async () => {
    const { sim, replicas, a, b, c } = await startCluster()
    a.tracker.connect('ann').track('room')
    await sim.settle()
    sim.kill(a)
    await sim.run(500)
    for (const replica of [b, c]) {
      expect(replica.tracker.forget('a')).toBe(true)
      expect(replica.tracker.forget('a')).toBe(false)
      expect(replica.tracker.forget(replica.id)).toBe(false)
    }
    await sim.run(30_000)
    for (const replica of [b, c]) {
      expect(listed(replica)).toEqual([])
      expect(replica.tracker.replicas().map(({ id }) => id)).not.toContain('a')
    }
    expect(replicas).toHaveLength(3)
  })
})
