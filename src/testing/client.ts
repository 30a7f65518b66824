import type { Connection, Tracker } from '../tracker/types.ts'
import type { SimReplica } from './simulated-replica.ts'

/** A connection as its client sees it. */
export interface ClientLink {
  readonly replica: SimReplica
  /** Of the life that the connection is of. */
  readonly tracker: Tracker
  readonly connection: Connection
  readonly sinceMs: number
}

/** What a client wants others to see in a topic, or no longer. */
export interface Wish {
  /** The `n` of its meta; undefined when it left. */
  readonly n: number | undefined
  readonly sinceMs: number
}

/**
 * A user's device, with what it knows to be true: where it is connected, and what it tracks. Never looks at what a tracker lists.
 *
 * Its metas are `{ n, s }`: `s` names its session, so that the oracle knows in every list whose presence it is; `n` counts updates.
 */
export class Client {
  readonly index: number
  readonly user: string
  /** Clients without a session never adopt: each of their connections is another presence. */
  readonly hasSession: boolean
  readonly wishes = new Map<string, Wish>()
  link: ClientLink | null = null
  /** When it last lost a connection, or gave one up. */
  unlinkedAtMs = Number.NEGATIVE_INFINITY
  /** When it last was certainly there. */
  beatAtMs = Number.NEGATIVE_INFINITY
  /** When it, or another device of its user, was last kicked. */
  kickedAtMs = Number.NEGATIVE_INFINITY
  #connections = 0
  #updates = 0

  constructor(index: number, user: string, hasSession: boolean) {
    this.index = index
    this.user = user
    this.hasSession = hasSession
  }

  /** Names its session, or its present connection where it has none. */
  get identity(): string {
    return this.hasSession ? `s${this.index}` : `s${this.index}.${this.#connections}`
  }

  /** How many connections it has begun. */
  get connections(): number {
    return this.#connections
  }

  /** Connected to a process that lives, as it believes. */
  get present(): boolean {
    return this.link !== null && this.link.replica.state !== 'dead' && this.link.replica.tracker === this.link.tracker
  }

  /** Since when it is not connected; `nowMs` while it is. A client whose process died has not noticed yet. */
  goneSinceMs(nowMs: number): number {
    return this.present ? nowMs : this.link === null ? this.unlinkedAtMs : this.beatAtMs
  }

  /** The topics that it tracks. */
  get topics(): string[] {
    return [...this.wishes].filter(([, wish]) => wish.n !== undefined).map(([topic]) => topic)
  }

  metaOf(topic: string): { n: number; s: string } {
    return { n: this.wishes.get(topic)?.n ?? -1, s: this.identity }
  }

  wish(topic: string, present: boolean, atMs: number): void {
    this.wishes.set(topic, { n: present ? ++this.#updates : undefined, sinceMs: atMs })
  }

  /** Another connection of it begins. */
  connecting(): void {
    this.#connections++
  }
}
