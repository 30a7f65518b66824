import type { Random } from '../tracker/environment.ts'
import type { Connection } from '../tracker/types.ts'
import { Client } from './client.ts'
import type { SimReplica } from './simulated-replica.ts'
import type { Simulation } from './simulation.ts'
import type { OpKind, Workload, WorkloadOp } from './workload.ts'

export interface ClientsOptions {
  readonly clients: number
  /** Fewer than clients: some users have several devices. */
  readonly users: number
  readonly topics: number
  /** What the trackers were told that clients promise. */
  readonly heartbeatIntervalMs: number
  /** A client that lost its connection comes back after a random time up to this, or, one in four, not by itself. */
  readonly reconnectWithinMs: number
}

/** Clients that run a workload against a simulation: they beat, they notice that their server died, they come back on another one. */
export class Clients {
  readonly all: readonly Client[]
  /** A connection ended that should not have. */
  onUnexpectedEnd: (client: Client, replica: SimReplica, how: string) => void = () => {}
  readonly #sim: Simulation
  readonly #options: ClientsOptions
  readonly #random: Random
  #quiet = false
  #closed = false

  constructor(sim: Simulation, workload: Workload, options: ClientsOptions) {
    this.#sim = sim
    this.#options = options
    this.#random = sim.random.fork('clients')
    // One in four has no session: its presences are never handed over.
    this.all = Array.from({ length: options.clients }, (_, index) => new Client(index, `u${index % options.users}`, index % 4 !== 3))
    for (const client of this.all) {
      this.#beatLater(client, this.#random.below(options.heartbeatIntervalMs))
    }
    for (const op of workload) {
      sim.schedule(op.atMs, () => this.#perform(op))
    }
  }

  /** No operations any more; who is connected stays so, and comes back when its server dies. */
  quiet(): void {
    this.#quiet = true
  }

  /** Everybody closes. */
  closeAll(): void {
    this.#quiet = true
    this.#closed = true
    for (const client of this.all) {
      this.#close(client)
    }
  }

  #perform(op: WorkloadOp): void {
    const client = this.all[op.client % this.all.length]
    if (client === undefined || this.#quiet) {
      return
    }
    const topic = `t${op.topic % this.#options.topics}`
    const isNew = client.wishes.get(topic)?.n === undefined
    const perform: Record<OpKind, () => void> = {
      connect: () => this.#connect(client, this.#replica(op.replica)),
      track: () => this.#change(client, isNew ? [topic] : [], []),
      update: () => this.#change(client, client.topics.slice(0, 1 + (op.topic % 3)), []),
      untrack: () => this.#change(client, [], client.topics.slice(0, 1)),
      leave: () => this.#change(client, [], client.topics),
      swap: () => this.#change(client, isNew ? [topic] : [], client.topics),
      close: () => this.#close(client),
      lose: () => this.#lose(client, true),
      vanish: () => this.#lose(client, false),
      kick: () => this.#kick(client, this.#replica(op.replica))
    }
    perform[op.kind]()
  }

  #connect(client: Client, replica: SimReplica): void {
    if (replica.state === 'dead') {
      return
    }
    this.#lose(client, false)
    client.connecting()
    const { identity } = client
    const { tracker } = replica
    this.#sim.request(replica, () => {
      // The server may have stood still: a client that gave up meanwhile has closed this socket.
      if (client.link !== null || client.identity !== identity || replica.tracker !== tracker) {
        return
      }
      const connection = this.#open(client, replica)
      if (connection !== undefined) {
        const nowMs = this.#sim.nowMs
        client.link = { replica, tracker, connection, sinceMs: nowMs }
        client.beatAtMs = nowMs
        this.#follow(client, replica, connection)
        tracker.batch(() => {
          for (const topic of client.topics) {
            connection.track(topic, client.metaOf(topic))
          }
        })
      }
    })
  }

  #open(client: Client, replica: SimReplica): Connection | undefined {
    try {
      return replica.tracker.connect(client.user, client.hasSession ? { session: client.identity } : {})
    } catch (error) {
      if ((error as { code?: string }).code !== 'ERR_NOT_ACCEPTING') {
        throw error
      }
      this.#reconnectLater(client)
      return undefined
    }
  }

  #follow(client: Client, replica: SimReplica, connection: Connection): void {
    connection.signal.addEventListener('abort', () => {
      if (client.link?.connection === connection) {
        const how = (connection.signal.reason as { end: string }).end
        this.#unlink(client)
        if (how === 'stopped') {
          this.#reconnectLater(client)
        } else {
          this.onUnexpectedEnd(client, replica, how)
        }
      }
    })
  }

  /** Begins or renews its presence in some topics, ends it in others, in one batch where there are several. */
  #change(client: Client, present: readonly string[], absent: readonly string[]): void {
    const { link } = client
    if (link === null || !client.present || present.length + absent.length === 0) {
      return
    }
    this.#sim.request(link.replica, () => {
      if (client.link !== link) {
        return
      }
      const { connection } = link
      const { nowMs } = this.#sim
      link.replica.tracker.batch(() => {
        for (const topic of absent) {
          client.wish(topic, false, nowMs)
          connection.untrack(topic)
        }
        for (const topic of present) {
          const isUpdate = client.wishes.get(topic)?.n !== undefined
          client.wish(topic, true, nowMs)
          if (isUpdate) {
            connection.update(topic, client.metaOf(topic))
          } else {
            connection.track(topic, client.metaOf(topic))
          }
        }
      })
    })
  }

  #close(client: Client): void {
    const { link, present } = client
    this.#unlink(client)
    for (const topic of client.topics) {
      client.wish(topic, false, this.#sim.nowMs)
    }
    if (link !== null && present) {
      this.#sim.request(link.replica, () => link.connection.close())
    }
  }

  #lose(client: Client, noticed: boolean): void {
    const { link, present } = client
    this.#unlink(client)
    if (noticed && link !== null && present) {
      this.#sim.request(link.replica, () => link.connection.lost())
    }
  }

  #kick(client: Client, replica: SimReplica): void {
    if (replica.state !== 'running') {
      return
    }
    for (const mate of this.all.filter(other => other.user === client.user)) {
      mate.kickedAtMs = this.#sim.nowMs
      if (mate.link?.replica === replica) {
        this.#unlink(mate)
        for (const topic of mate.topics) {
          mate.wish(topic, false, this.#sim.nowMs)
        }
      }
    }
    this.#sim.request(replica, () => replica.tracker.kick(client.user))
  }

  #unlink(client: Client): void {
    if (client.link !== null) {
      client.link = null
      client.unlinkedAtMs = this.#sim.nowMs
    }
  }

  #beatLater(client: Client, delayMs: number): void {
    this.#sim.schedule(delayMs, () => {
      this.#beat(client)
      this.#beatLater(client, this.#options.heartbeatIntervalMs)
    })
  }

  #beat(client: Client): void {
    const { link } = client
    if (link === null) {
      return
    }
    if (!client.present) {
      this.#unlink(client)
      this.#reconnectLater(client)
      return
    }
    client.beatAtMs = this.#sim.nowMs
    this.#sim.request(link.replica, () => {
      if (client.link === link && !link.connection.heartbeat()) {
        this.onUnexpectedEnd(client, link.replica, 'expired at a heartbeat')
      }
    })
  }

  #reconnectLater(client: Client): void {
    const delayMs = this.#random.below(this.#options.reconnectWithinMs)
    const where = this.#random.below(1_000)
    if (this.#random.below(4) > 0) {
      this.#sim.schedule(delayMs, () => {
        if (client.link === null && !this.#closed) {
          this.#connect(client, this.#replica(where))
        }
      })
    }
  }

  #replica(index: number): SimReplica {
    return this.#sim.replicas[index % this.#sim.replicas.length] as SimReplica
  }
}
