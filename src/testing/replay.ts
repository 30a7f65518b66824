import type { Connection } from '../tracker/types.ts'
import type { SimReplica } from './simulated-replica.ts'
import type { Simulation } from './simulation.ts'

/** One line of a recorded presence trace. */
export interface TraceEvent {
  /** Since the start of the recording. */
  readonly ms: number
  readonly topic: string
  readonly user: string
  readonly event: 'join' | 'leave'
}

export interface ReplayOptions {
  /** Recorded time passes so many times as fast. Default 1. */
  readonly speed?: number
  /** The replica that a user's connection ends on. Default: by a hash of the user's name. */
  readonly replicaOf?: (user: string) => number
}

/** What a replay expects to be listed: topic → users. */
export type ExpectedPresence = ReadonlyMap<string, ReadonlySet<string>>

/**
 * Plays a recorded trace into a simulation: a user connects with the first topic that he joins, and closes when he has left the last.
 * Advances virtual time.
 *
 * @param events ascending by `ms`
 * @returns who is in which topic at the end, by the trace alone
 */
export async function replay(sim: Simulation, events: Iterable<TraceEvent>, options: ReplayOptions = {}): Promise<ExpectedPresence> {
  const { speed = 1, replicaOf = hashOf } = options
  const expected = new Map<string, Set<string>>()
  const connections = new Map<string, { connection: Connection; topics: Set<string> }>()
  const beat = (): void => {
    for (const { connection } of connections.values()) {
      connection.heartbeat()
    }
    sim.schedule(15_000, beat)
  }
  sim.schedule(15_000, beat)
  const startMs = sim.nowMs
  let firstMs: number | undefined
  for (const { ms, topic, user, event } of events) {
    firstMs ??= ms
    await sim.run(Math.max(0, startMs + (ms - firstMs) / speed - sim.nowMs))
    const here = connections.get(user) ?? { connection: connect(sim, user, replicaOf), topics: new Set() }
    connections.set(user, here)
    const users = expected.get(topic) ?? new Set()
    expected.set(topic, users)
    if (event === 'join' && !here.topics.has(topic)) {
      here.topics.add(topic)
      users.add(user)
      here.connection.track(topic, {})
    } else if (event === 'leave' && here.topics.delete(topic)) {
      users.delete(user)
      here.connection.untrack(topic)
    }
    if (here.topics.size === 0) {
      here.connection.close()
      connections.delete(user)
    }
  }
  return new Map([...expected].filter(([, users]) => users.size > 0))
}

function connect(sim: Simulation, user: string, replicaOf: (user: string) => number): Connection {
  const replica = sim.replicas[replicaOf(user) % sim.replicas.length] as SimReplica
  return replica.tracker.connect(user, { session: `session of ${user}` })
}

function hashOf(user: string): number {
  let hash = 0
  for (let i = 0; i < user.length; i++) {
    hash = (Math.imul(hash, 31) + user.charCodeAt(i)) >>> 0
  }
  return hash
}
