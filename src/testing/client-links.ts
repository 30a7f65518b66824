import type { Random } from '../tracker/environment.ts'
import type { Connection } from '../tracker/types.ts'
import type { Client } from './client.ts'
import type { SimReplica } from './simulated-replica.ts'
import type { Simulation } from './simulation.ts'

export interface ClientLinksOptions {
  /** What the trackers were told that clients promise. */
  readonly heartbeatIntervalMs: number
  /** A client that lost its connection comes back after a random time up to this, or, one in four, not by itself. */
  readonly reconnectWithinMs: number
}

/** The connections of clients: opened, beaten, lost, opened again on another replica when their own died. */
export class ClientLinks {
  /** A connection ended that should not have. */
  onUnexpectedEnd: (client: Client, replica: SimReplica, how: string) => void = () => {}
  readonly #sim: Simulation
  readonly #random: Random
  readonly #heartbeatIntervalMs: number
  readonly #reconnectWithinMs: number
  #ended = false

  constructor(sim: Simulation, random: Random, { heartbeatIntervalMs, reconnectWithinMs }: ClientLinksOptions) {
    this.#sim = sim
    this.#random = random
    this.#heartbeatIntervalMs = heartbeatIntervalMs
    this.#reconnectWithinMs = reconnectWithinMs
  }

  /** Nobody comes back by himself from now on. */
  end(): void {
    this.#ended = true
  }

  /** Opens a connection of its session; the one that it had dies unnoticed. What it tracks it tracks again. */
  connect(client: Client, replica: SimReplica): void {
    if (replica.state === 'dead') {
      return
    }
    this.lose(client, false)
    client.connecting()
    const attempt = client.connections
    const { tracker } = replica
    this.#sim.request(replica, () => {
      // The server may have stood still: a client that gave up meanwhile has closed this socket.
      if (client.link !== null || client.connections !== attempt || replica.tracker !== tracker) {
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
        this.unlink(client)
        if (how === 'stopped') {
          this.#reconnectLater(client)
        } else {
          this.onUnexpectedEnd(client, replica, how)
        }
      }
    })
  }

  /** It leaves cleanly. */
  close(client: Client): void {
    const { link, present } = client
    this.unlink(client)
    for (const topic of client.topics) {
      client.wish(topic, false, this.#sim.nowMs)
    }
    if (link !== null && present) {
      this.#sim.request(link.replica, () => link.connection.close())
    }
  }

  /** Its socket dies; its replica notices that or does not. */
  lose(client: Client, noticed: boolean): void {
    const { link, present } = client
    this.unlink(client)
    if (noticed && link !== null && present) {
      this.#sim.request(link.replica, () => link.connection.lost())
    }
  }

  /** It has no connection any more, as it knows. */
  unlink(client: Client): void {
    if (client.link !== null) {
      client.link = null
      client.unlinkedAtMs = this.#sim.nowMs
    }
  }

  /** From then on it beats. */
  beatLater(client: Client, delayMs: number): void {
    this.#sim.schedule(delayMs, () => {
      this.#beat(client)
      this.beatLater(client, this.#heartbeatIntervalMs)
    })
  }

  #beat(client: Client): void {
    const { link } = client
    if (link === null) {
      return
    }
    if (!client.present) {
      this.unlink(client)
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
    const delayMs = this.#random.below(this.#reconnectWithinMs)
    const where = this.#random.below(1_000)
    if (this.#random.below(4) > 0) {
      this.#sim.schedule(delayMs, () => {
        if (client.link === null && !this.#ended) {
          this.connect(client, this.#sim.replicas[where % this.#sim.replicas.length] as SimReplica)
        }
      })
    }
  }
}
