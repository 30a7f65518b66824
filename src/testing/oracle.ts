import type { Diff, Presence } from '../tracker/types.ts'
import type { Client } from './client.ts'
import type { Clients } from './clients.ts'
import type { Listing, SimObserver } from './engine.ts'
import { Reachability } from './reachability.ts'
import type { SimReplica, Transition } from './simulated-replica.ts'
import type { Simulation } from './simulation.ts'
import { whatIsWrong } from './what-is-wrong.ts'

export interface OracleOptions {
  readonly graceMs: number
  readonly heartbeatIntervalMs: number
  /** A presence whose client is gone may be listed so long, whatever happens (F6). */
  readonly ghostMs: number
  /** Whoever has reached a replica for so long knows what that one knew before. */
  readonly knownMs: number
  /** Nothing goes wrong in this run but clients: then nobody sees a leave or an offline before its time. */
  readonly calm: boolean
  /** Sessions that move are silent also where their old replica's marks do not come: there is a grace, and its log is long enough. */
  readonly silentMoves: boolean
}

const FALSE_ALARMS = new Set(['replica:suspect', 'replica:down', 'replica:permdown', 'isolated'])

/** How long news may take through a calm cluster, the pulse of the trackers included. */
const CROSSING_MS = 1_000

/** How often a replica is looked at that told nothing. */
const EVERY_SILENT = 8

/**
 * An independent judge: it knows from the clients alone who is connected where and tracks what, and looks after every step whether what is
 * shown may be so. docs/testing.md lists the invariants.
 */
export class Oracle implements SimObserver {
  readonly #sim: Simulation
  readonly #clients: Clients
  readonly #options: OracleOptions
  readonly #reachability: Reachability
  readonly #byIndex: ReadonlyMap<string, Client>
  /** Since when a client's own replica does not show what it tracks. */
  readonly #missingSinceMs = new Map<string, number>()

  readonly #told = new Set<SimReplica>()
  #steps = 0

  constructor(sim: Simulation, clients: Clients, options: OracleOptions) {
    this.#sim = sim
    this.#clients = clients
    this.#options = options
    this.#reachability = new Reachability(sim)
    this.#byIndex = new Map(clients.all.map(client => [`s${client.index}`, client]))
    clients.onUnexpectedEnd((client, replica, how) => sim.fail(replica, 'O5', `the live connection of ${client.identity} ended: ${how}`))
    sim.observe(this)
  }

  stepped(replica: SimReplica, listed: () => Listing): void {
    if (!this.#told.delete(replica) && ++this.#steps % EVERY_SILENT !== 0) {
      return
    }
    const shown = new Map<string, Presence>()
    for (const [topic, presences] of listed()) {
      for (const presence of presences) {
        this.#checkListed(replica, topic, presence, shown)
      }
    }
    for (const client of this.#clients.all) {
      if (client.present && client.link?.replica === replica) {
        this.#checkOwn(replica, client, shown)
      }
    }
  }

  transition(replica: SimReplica, { type, user }: Transition): void {
    this.#told.add(replica)
    if (type === 'offline') {
      for (const client of this.#clients.all) {
        if (client.user === user) {
          this.#checkOffline(replica, client)
        }
      }
    }
  }

  diff(replica: SimReplica, diff: Diff): void {
    this.#told.add(replica)
    this.#checkUpdates(replica, diff)
    if (!this.#options.calm || !this.#options.silentMoves) {
      return
    }
    for (const { presence, reason } of diff.leaves) {
      const client = this.#clientOf(presence)
      if (client !== undefined && this.#isWished(client, diff.topic, presence) && !this.#isGoneForGrace(client)) {
        this.#sim.fail(
          replica,
          'O6',
          `${identityOf(presence)} leaves ${diff.topic} (${reason}), and its client is there or was within the grace`
        )
      }
    }
  }

  /** Who goes and comes in one diff was updated, and has to be told so. */
  #checkUpdates(replica: SimReplica, { topic, leaves, joins }: Diff): void {
    const left = new Set(leaves.map(({ presence }) => identityOf(presence)))
    const both = joins.find(presence => left.has(identityOf(presence)))
    if (both !== undefined) {
      this.#sim.fail(replica, 'T4', `${identityOf(both)} leaves and joins ${topic} in one diff`)
    }
  }

  judged(replica: SimReplica, name: string, detail: object): void {
    if (this.#options.calm && FALSE_ALARMS.has(name)) {
      this.#sim.fail(replica, 'O7', `${name} ${JSON.stringify(detail)}, and nothing is wrong`)
    }
  }

  /** What replicas list against what clients want; undefined when it is the same everywhere. To be asked when all should be well. */
  whatIsWrong(): string | undefined {
    return whatIsWrong(this.#sim.replicas, this.#clients.all)
  }

  #checkListed(replica: SimReplica, topic: string, presence: Presence, shown: Map<string, Presence>): void {
    const name = `${topic} ${identityOf(presence)}`
    if (shown.has(name)) {
      this.#sim.fail(replica, 'T4', `${name} is listed twice: ${JSON.stringify([shown.get(name)?.meta, presence.meta])}`)
    }
    shown.set(name, presence)
    const client = this.#clientOf(presence)
    const goneMs = client === undefined ? 0 : this.#sim.nowMs - this.#goneSinceMs(client, topic, presence)
    if (goneMs > this.#options.ghostMs) {
      this.#sim.fail(replica, 'F6', `${name} is listed ${goneMs} ms after its client left`)
    }
  }

  /** What a client tracks is listed where it is connected: at once, unless another replica's later entry stands before it until the next beat. */
  #checkOwn(replica: SimReplica, client: Client, shown: ReadonlyMap<string, Presence>): void {
    const { nowMs } = this.#sim
    const patienceMs =
      client.connections > 1 || nowMs - client.kickedAtMs < this.#options.ghostMs ? this.#options.heartbeatIntervalMs + 1_000 : 0
    for (const topic of client.topics) {
      const name = `${topic} ${client.identity}`
      const { n } = client.metaOf(topic)
      const found = shown.get(name)?.meta.n
      const place = `${replica.name} ${name}`
      if (found === n) {
        this.#missingSinceMs.delete(place)
        continue
      }
      const sinceMs = this.#missingSinceMs.get(place) ?? nowMs
      this.#missingSinceMs.set(place, sinceMs)
      if (nowMs - Math.max(sinceMs, client.link?.sinceMs ?? 0) >= patienceMs && replica.state === 'running') {
        this.#sim.fail(replica, 'O2', `${name} is shown with ${found}, its connection here tracks it with ${n}, for ${nowMs - sinceMs} ms`)
      }
    }
  }

  #checkOffline(replica: SimReplica, client: Client): void {
    const { link } = client
    const { nowMs } = this.#sim
    const { knownMs, ghostMs, calm, silentMoves, graceMs } = this.#options
    // The news of a kick hides its session's next connection until that beats; it may come late.
    if (nowMs - client.kickedAtMs < ghostMs) {
      return
    }
    if (calm && silentMoves && !this.#isGoneForGrace(client)) {
      this.#sim.fail(
        replica,
        'O6',
        `${client.user} goes offline, and ${client.identity} is connected or was within the grace of ${graceMs} ms`
      )
    }
    if (link === null || !client.present || link.replica.state !== 'running') {
      return
    }
    if (link.replica === replica || (nowMs - link.sinceMs > knownMs && this.#reachability.reached(replica, link.replica, knownMs))) {
      this.#sim.fail(
        replica,
        'O4',
        `${client.user} goes offline, and ${client.identity} is connected to ${link.replica.name} since ${link.sinceMs} ms`
      )
    }
  }

  /** Its client has wanted it for so long that all must know. */
  #isWished(client: Client, topic: string, presence: Presence): boolean {
    const { nowMs } = this.#sim
    const wish = client.wishes.get(topic)
    return (
      client.identity === presence.meta.s &&
      wish?.n !== undefined &&
      nowMs - wish.sinceMs >= CROSSING_MS &&
      nowMs - client.kickedAtMs > this.#options.knownMs
    )
  }

  /** Gone for the grace; or it came back just now, so late that the news of it and the end of the grace may have crossed. */
  #isGoneForGrace(client: Client): boolean {
    const { nowMs } = this.#sim
    const { graceMs } = this.#options
    if (!client.present) {
      return nowMs - client.goneSinceMs(nowMs) >= graceMs
    }
    const backMs = client.link?.sinceMs ?? nowMs
    return nowMs - backMs < CROSSING_MS && backMs - client.unlinkedAtMs >= graceMs - CROSSING_MS
  }

  #goneSinceMs(client: Client, topic: string, presence: Presence): number {
    if (client.identity !== presence.meta.s) {
      return client.unlinkedAtMs
    }
    const wish = client.wishes.get(topic)
    return wish?.n === undefined ? (wish?.sinceMs ?? 0) : client.goneSinceMs(this.#sim.nowMs)
  }

  #clientOf(presence: Presence): Client | undefined {
    return this.#byIndex.get(identityOf(presence).split('.')[0] as string)
  }
}

const identityOf = (presence: Presence): string => String(presence.meta.s)
