import type { ReplicaId } from '../../crdt/dot.ts'
import type { Environment } from '../environment.ts'
import type { Member } from '../membership/member.ts'
import type { Membership } from '../membership.ts'
import type { Digest } from '../messages.ts'
import type { Transport } from '../transport.ts'
import { fittingIds } from './fitting.ts'
import type { Peer, Peers } from './peers.ts'
import { RelayChoice } from './relay-choice.ts'
import type { Timers } from './timers.ts'

/** What has changed is told so much later: of the streams that open together, the last makes most of it moot. */
const SETTLE_MS = 200
/** Heartbeat intervals without a new counter after which other relays are asked as well. */
const STALE_BEATS = 2.5
/** The share of a frame that the ids take which one peer is asked to relay. */
const UNREACHED_SHARE = 0.25

export interface ReachInit {
  readonly peers: Peers
  readonly membership: Membership
  readonly transport: Transport
  readonly environment: Environment
  readonly timers: Timers
  readonly heartbeatIntervalMs: number
}

/**
 * Which peers relay the replicas to which there is no stream. Those asked are told, and add the replica's heartbeat counters to theirs and forward its
 * events.
 *
 * INV-45: at first all who hold it are asked; then the one whose counters were new most often. What is new first came by a
 * path on which everybody had it earlier: so the paths of an origin are a tree, and no two replicas wait for each other.
 */
export class Reach {
  readonly #init: ReachInit
  readonly #choices = new Map<string, RelayChoice>()
  #pending = false

  constructor(init: ReachInit) {
    this.#init = init
  }

  /** Members, streams or digests have changed. */
  changed(): void {
    if (!this.#pending) {
      this.#pending = true
      this.#init.timers.schedule(SETTLE_MS, () => {
        this.#pending = false
        this.#tell(() => false)
      })
    }
  }

  /** Those that nobody relays yet are asked of whoever opens a stream next. */
  unreachedFor(peer: Peer): ReplicaId[] {
    const relays = [...this.#init.peers.greeted()]
    const ids = this.#unreached()
      .filter(member => member.ref.id !== peer.id && !relays.some(relay => relay.digest.has(member.key)))
      .map(member => member.ref.id)
    return this.#fitting(ids)
  }

  /** The peer through which `id` is heard; undefined when it is linked, unknown, or that is not decided. */
  relayOf(id: ReplicaId): ReplicaId | undefined {
    const member = this.#init.membership.members.get(id)
    return member === undefined || member.linked ? undefined : this.#choices.get(member.key)?.best
  }

  /** A new counter of `member` came from `peer`, before any other had it here. */
  heard(member: Member, peer: Peer): void {
    if (this.#choices.get(member.key)?.heard(peer.id, this.#init.environment.monotonicMs()) === true) {
      this.changed()
    }
  }

  /** Who is not heard any more is asked of everybody; a lost message must not silence it for ever. */
  round(nowMs: number): void {
    const staleMs = STALE_BEATS * this.#init.heartbeatIntervalMs
    const stale = new Set<ReplicaId>()
    for (const member of this.#unreached()) {
      if (this.#choices.get(member.key)?.isStale(nowMs, staleMs) === true) {
        this.#choices.get(member.key)?.widen()
        stale.add(member.ref.id)
      }
    }
    if (stale.size > 0) {
      this.#tell(unreached => unreached.some(id => stale.has(id)))
    }
  }

  forget(key: string): void {
    this.#choices.delete(key)
  }

  /** Tells the peers what has changed of what they are to relay, and `again` those for which it is true. */
  #tell(again: (unreached: readonly ReplicaId[]) => boolean): void {
    for (const [peer, ids] of this.#assign()) {
      const unreached = this.#fitting(ids)
      if (!sameIds(unreached, peer.toldUnreached) || again(unreached)) {
        const message: Digest = { type: 'digest', entries: [], unreached, reply: false }
        if (this.#init.transport.send(peer.id, message)) {
          peer.toldUnreached = unreached
        } else {
          peer.blocked = true
          this.changed()
        }
      }
    }
  }

  #assign(): Map<Peer, ReplicaId[]> {
    const peers = [...this.#init.peers.greeted()]
    const assigned = new Map<Peer, ReplicaId[]>(peers.map(peer => [peer, []]))
    for (const member of this.#unreached()) {
      const able = peers.filter(peer => peer.digest.has(member.key))
      const asked = this.#choice(member).among(able.map(peer => peer.id))
      for (const peer of able) {
        const ids = assigned.get(peer)
        if (asked.includes(peer.id)) {
          ids?.push(member.ref.id)
        }
      }
    }
    return assigned
  }

  #fitting(ids: readonly ReplicaId[]): ReplicaId[] {
    return ids.slice(0, fittingIds(ids, UNREACHED_SHARE * this.#init.transport.maxFrameBytes))
  }

  #choice(member: Member): RelayChoice {
    let choice = this.#choices.get(member.key)
    if (choice === undefined) {
      choice = new RelayChoice(this.#init.environment.monotonicMs())
      this.#choices.set(member.key, choice)
    }
    return choice
  }

  #unreached(): Member[] {
    const unreached: Member[] = []
    for (const member of this.#init.membership.members.values()) {
      if (member.linked || member.left) {
        this.#choices.delete(member.key)
      } else {
        unreached.push(member)
      }
    }
    return unreached
  }
}

function sameIds(a: readonly ReplicaId[], b: readonly ReplicaId[]): boolean {
  return a.length === b.length && a.every((id, i) => id === b[i])
}
