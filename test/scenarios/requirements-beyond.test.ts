import { describe, expect, it } from 'vitest'
import { type Connection, PresenceFold, type WatchEvent } from '../../src/index.ts'
import type { SimReplica, Simulation } from '../../src/testing/index.ts'
import { ready } from '../support/lone.ts'
import { crowd, pick } from '../support/scenario.ts'
import { listed, runAlive, startCluster } from '../support/sim.ts'

describe('beyond', () => {
  it('B1: a watcher goes to another replica after 10,000 changes: only the net difference is sent', async () => {
    const { sim, a, b } = await startCluster({ replicas: 2, checks: 'manual' })
    const stay = crowd(a, 'stay', 30)
    const leave = crowd(a, 'leave', 20)
    await sim.settle()
    const fold = new PresenceFold()
    const [snapshot] = (await ready<WatchEvent>(a.tracker.watch('room'))) as [WatchEvent]
    fold.apply(snapshot)
    for (let n = 1; n <= 3_334; n++) {
      stay[n % 10]?.update('room', { n })
      const passing = (n % 2 === 0 ? a : b).tracker.connect(`passing:${n}`)
      passing.track('room')
      passing.untrack('room')
      if (n % 100 === 0) {
        await sim.run(10)
      }
    }
    for (const connection of leave) {
      connection.close()
    }
    crowd(b, 'new', 30)
    await sim.settle()
    const [missed] = (await ready<WatchEvent>(b.tracker.watch('room', { since: snapshot.token }))) as [WatchEvent]
    expect(missed.type === 'diff' && [missed.joins.length, missed.leaves.length, missed.updates.length, missed.replace.length]).toEqual([
      30, 20, 10, 0
    ])
    fold.apply(missed)
    expect(new Map(fold.keys)).toEqual(b.tracker.list('room'))
  })

  /** Restarts each of the five in turn; its clients go elsewhere within the grace. Every other one dies without a goodbye. */
  async function rollingRestart(
    sim: Simulation,
    replicas: readonly SimReplica[],
    clients: Map<string, Connection>,
    restarted: (replica: SimReplica) => void
  ): Promise<void> {
    for (const [i, replica] of replicas.entries()) {
      const users = [...clients].filter(([, connection]) => replica.tracker.connection(connection.id) !== undefined).map(([user]) => user)
      if (i % 2 === 0) {
        await replica.tracker.drain()
        await sim.stop(replica)
      } else {
        sim.kill(replica)
      }
      for (const user of users) {
        await sim.run(10)
        const target = pick(
          sim.random,
          replicas.filter(({ state }) => state === 'running')
        )
        const connection = target.tracker.connect(user, { session: user })
        connection.track('room')
        clients.set(user, connection)
      }
      sim.restart(replica)
      restarted(replica)
      await runAlive(sim, [...clients.values()], 30_000)
    }
  }

  it('B2: a rolling restart of five, with a goodbye or without, 200 clients that reconnect: no watcher sees a join or a leave, every ref stays', async () => {
    const { sim, replicas } = await startCluster({ replicas: 5, checks: 'manual' })
    const clients = new Map<string, Connection>()
    for (let i = 0; i < 200; i++) {
      const connection = (replicas[i % 5] as SimReplica).tracker.connect(`user:${i}`, { session: `user:${i}` })
      connection.track('room')
      clients.set(`user:${i}`, connection)
    }
    await sim.settle()
    const before = new Map(listed(replicas[0] as SimReplica).map(({ key, ref }) => [key, ref]))
    // A replica that starts learns who is here: for its own watchers, who come with a token, that is no news.
    const started = new Map<SimReplica, number>()
    const seen: string[] = []
    sim.observe({
      diff: (replica, { cause, joins, leaves, updates }) => {
        const learns = sim.nowMs - (started.get(replica) ?? Number.NEGATIVE_INFINITY) < 5_000
        if (leaves.length + updates.length > 0 || (joins.length > 0 && !(learns && cause === 'transfer'))) {
          seen.push(`${sim.nowMs} ${replica.name} ${cause} +${joins.length} -${leaves.length} ~${updates.length}`)
        }
      },
      transition: (replica, { type, user }) => void (type === 'offline' && seen.push(`${replica.name}: ${user} offline`))
    })
    await rollingRestart(sim, replicas, clients, replica => void started.set(replica, sim.nowMs))
    expect(seen).toEqual([])
    for (const replica of replicas) {
      expect(new Map(listed(replica).map(({ key, ref }) => [key, ref]))).toEqual(before)
    }
  })

  it('B4: reads are monotonic for one who hops: what a showed, b shows or waits; and own writes are read everywhere', async () => {
    const { sim, replicas } = await startCluster({ network: { conditions: { latencyMs: { kind: 'uniform', minMs: 1, maxMs: 400 } } } })
    let version = (replicas[0] as SimReplica).tracker.version()
    for (let n = 0; n < 30; n++) {
      const [writer, reader] = [replicas[n % 3], replicas[(n + 1) % 3]] as [SimReplica, SimReplica]
      await sim.until(writer.tracker.waitFor(version))
      expect(writer.tracker.list('room').size).toBe(n)
      writer.tracker.connect(`user:${n}`).track('room')
      version = writer.tracker.version()
      await sim.until(reader.tracker.waitFor(version))
      expect(reader.tracker.get('room', `user:${n}`)).toHaveLength(1)
      version = reader.tracker.version()
    }
  })
})
