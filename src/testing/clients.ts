import { Client } from './client.ts'
import { ClientLinks, type ClientLinksOptions } from './client-links.ts'
import type { SimReplica } from './simulated-replica.ts'
import type { Simulation } from './simulation.ts'
import type { OpKind, Workload, WorkloadOp } from './workload.ts'

export interface ClientsOptions extends ClientLinksOptions {
  readonly clients: number
  /** Fewer than clients: some users have several devices. */
  readonly users: number
  readonly topics: number
}

/** Clients that run a workload against a simulation: they beat, they notice that their server died, they come back on another one. */
export class Clients {
  readonly all: readonly Client[]
  readonly #links: ClientLinks
  readonly #sim: Simulation
  readonly #options: ClientsOptions
  #quiet = false

  constructor(sim: Simulation, workload: Workload, options: ClientsOptions) {
    this.#sim = sim
    this.#options = options
    const random = sim.random.fork('clients')
    this.#links = new ClientLinks(sim, random, options)
    // One in four has no session: its presences are never handed over.
    this.all = Array.from({ length: options.clients }, (_, index) => new Client(index, `u${index % options.users}`, index % 4 !== 3))
    for (const client of this.all) {
      this.#links.beatLater(client, random.below(options.heartbeatIntervalMs))
    }
    for (const op of workload) {
      sim.schedule(op.atMs, () => this.#perform(op))
    }
  }

  /** Told of every connection that ended and should not have. */
  onUnexpectedEnd(told: (client: Client, replica: SimReplica, how: string) => void): void {
    this.#links.onUnexpectedEnd = told
  }

  /** No operations any more; who is connected stays so, and comes back when its server dies. */
  quiet(): void {
    this.#quiet = true
  }

  /** Everybody closes. */
  closeAll(): void {
    this.#quiet = true
    this.#links.end()
    for (const client of this.all) {
      this.#links.close(client)
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
      connect: () => this.#links.connect(client, this.#replica(op.replica)),
      track: () => this.#change(client, isNew ? [topic] : [], []),
      update: () => this.#change(client, client.topics.slice(0, 1 + (op.topic % 3)), []),
      untrack: () => this.#change(client, [], client.topics.slice(0, 1)),
      leave: () => this.#change(client, [], client.topics),
      swap: () => this.#change(client, isNew ? [topic] : [], client.topics),
      close: () => this.#links.close(client),
      lose: () => this.#links.lose(client, true),
      vanish: () => this.#links.lose(client, false),
      kick: () => this.#kick(client, this.#replica(op.replica))
    }
    perform[op.kind]()
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

  #kick(client: Client, replica: SimReplica): void {
    if (replica.state !== 'running') {
      return
    }
    for (const mate of this.all.filter(other => other.user === client.user)) {
      mate.kickedAtMs = this.#sim.nowMs
      if (mate.link?.replica === replica) {
        this.#links.unlink(mate)
        for (const topic of mate.topics) {
          mate.wish(topic, false, this.#sim.nowMs)
        }
      }
    }
    this.#sim.request(replica, () => replica.tracker.kick(client.user))
  }

  #replica(index: number): SimReplica {
    return this.#sim.replicas[index % this.#sim.replicas.length] as SimReplica
  }
}
