import { expect, it } from 'vitest'
import type { Connection } from '../../src/index.ts'
import type { SimReplica, Simulation } from '../../src/testing/index.ts'
import { pick, stateBytes } from '../support/scenario.ts'
import { listed, runAlive, startCluster } from '../support/sim.ts'

const LONG = process.env.ROLLCALL_LONG === '1'
const REPLICAS = 5
const USERS = LONG ? 50_000 : 5_000
/** The clients of a replica that restarts come back at 2,000 a second, well within the grace of 15 s. */
const STEP_MS = 20
const STEP_CLIENTS = 40

const metaOf = (user: string): { device: string; online_at: number; status: string } => ({
  device: 'phone',
  online_at: 1_765_000_000 + Number(user.slice(5)),
  status: 'available'
})

/** A client's session, as its own secret makes it: the same before and after. */
function join(replica: SimReplica, user: string): Connection {
  const connection = replica.tracker.connect(user, { session: `secret of ${user}` })
  connection.track('room', metaOf(user))
  return connection
}

/** Bytes that went to `to` so far: deltas, and all that is no heartbeat. Heartbeats flow at the same rate without a restart. */
function sentTo(sim: Simulation, to: SimReplica): number {
  const from = sim.replicas.filter(replica => replica !== to).map(replica => sim.traffic(replica, to))
  return from.reduce((sum, { bytes, bytesOf }) => sum + bytes - (bytesOf.heartbeat ?? 0), 0)
}

/** What the codec needs for the entries, once: a sixth replica is sent their full state, and goes. */
async function ownBytes(sim: Simulation, replicas: readonly SimReplica[]): Promise<number> {
  const newcomer = sim.add()
  await sim.settle()
  expect(newcomer.tracker.count('room').presences).toBe(USERS)
  const bytes = replicas.reduce((sum, replica) => sum + stateBytes(sim, replica, newcomer), 0)
  await sim.stop(newcomer, { announce: true })
  await sim.settle()
  return bytes
}

interface Roll {
  readonly sim: Simulation
  readonly replicas: readonly SimReplica[]
  readonly clients: Map<string, Connection>
  /** Replicas whose process is new: it is not ready, or not all clients of the one before are back. */
  readonly starting: Set<SimReplica>
  /** How many users came to each replica. */
  readonly came: Map<SimReplica, number>
}

/** A new process under the same id, at once; the clients of the old one come to whichever replica is ready, the restarted one too when it is. */
async function restart({ sim, replicas, clients, starting, came }: Roll, replica: SimReplica): Promise<void> {
  const users = [...clients].filter(([, connection]) => replica.tracker.connection(connection.id) !== undefined).map(([user]) => user)
  await replica.tracker.drain()
  await sim.stop(replica)
  starting.add(replica)
  sim.restart(replica)
  let isReady = false
  void replica.tracker.ready.then(() => {
    isReady = true
  })
  for (let n = 0; n < users.length; n += STEP_CLIENTS) {
    await sim.run(STEP_MS)
    const targets = isReady ? replicas : replicas.filter(one => one !== replica)
    for (const user of users.slice(n, n + STEP_CLIENTS)) {
      const target = pick(sim.random, targets)
      clients.set(user, join(target, user))
      came.set(target, (came.get(target) ?? 0) + 1)
    }
  }
  await sim.until(replica.tracker.ready)
  await sim.settle()
  starting.delete(replica)
  await runAlive(sim, [...clients.values()], 20_000)
}

/** From now on: leaves anywhere, and joins at a process that is not new. What a new process learns is no news to anybody. */
function watchEvents({ sim, starting }: Roll): string[] {
  const seen: string[] = []
  sim.observe({
    diff: (replica, { cause, joins, leaves }) => {
      if (leaves.length > 0 || (joins.length > 0 && !starting.has(replica))) {
        seen.push(`${sim.nowMs} ${replica.name} ${cause} +${joins.length} -${leaves.length}`)
      }
    },
    transition: (replica, { type, user }) => void (type === 'offline' && seen.push(`${replica.name}: ${user} offline`))
  })
  return seen
}

it(`F7: five replicas with ${USERS} users restart one after another: at most twice the bytes that the entries need are sent, and nobody joins or leaves`, {
  timeout: LONG ? 1_800_000 : 120_000
}, async () => {
  const { sim, replicas } = await startCluster({ replicas: REPLICAS, checks: 'manual' })
  const roll: Roll = { sim, replicas, clients: new Map(), starting: new Set(), came: new Map() }
  for (const [i, replica] of replicas.entries()) {
    replica.tracker.batch(() => {
      for (let n = i; n < USERS; n += REPLICAS) {
        roll.clients.set(`user:${n}`, join(replica, `user:${n}`))
      }
    })
  }
  await sim.settle()
  const own = await ownBytes(sim, replicas)
  const refs = new Map(listed(replicas[0] as SimReplica).map(({ key, ref }) => [key, ref]))
  const seen = watchEvents(roll)
  const before = replicas.map(replica => sentTo(sim, replica))
  for (const replica of replicas) {
    await restart(roll, replica)
  }
  await sim.settle()
  expect(seen).toEqual([])
  const moved = [...roll.came.values()].reduce((sum, count) => sum + count, 0)
  expect(moved).toBeGreaterThanOrEqual(USERS)
  for (const [i, replica] of replicas.entries()) {
    expect(new Map(listed(replica).map(({ key, ref }) => [key, ref]))).toEqual(refs)
    const copies = (sentTo(sim, replica) - (before[i] as number)) / own
    // A new process has nothing: the full state, once. Then each entry that moved, to somebody else, once.
    const needed = 1 + (moved - (roll.came.get(replica) ?? 0)) / USERS
    expect(copies).toBeLessThanOrEqual(2 * needed)
  }
})
