import type { ReplicaId } from '../../crdt/dot.ts'
import type { Member } from '../membership/member.ts'
import type { Membership } from '../membership.ts'
import type { Digest } from '../messages.ts'
import type { Transport } from '../transport.ts'
import type { Peer, Peers } from './peers.ts'
import type { Timers } from './timers.ts'

/** Peers that are asked to relay one replica: when one of them dies silently, the other still speaks. */
const RELAYS = 2
/** Ids that one message asks for: it stays well within a frame. */
const MAX_UNREACHED = 400

/** What has changed is told so much later: of the streams that open together, the last makes most of it moot. */
const SETTLE_MS = 200

export interface ReachInit {
  readonly peers: Peers
  readonly membership: Membership
  readonly transport: Transport
  readonly timers: Timers
}

/**
 * Which peers relay the replicas to which there is no stream: a few per replica, chosen among those that hold it, always the same ones while
 * they stay. They are told, and from then on add its heartbeat counters to theirs and forward its events.
 */
export class Reach {
  readonly #init: ReachInit
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
        this.#tellChanges()
      })
    }
  }

  /** Those that nobody relays yet are asked of whoever opens a stream next. */
  unreachedFor(peer: Peer): ReplicaId[] {
    const relays = [...this.#init.peers.greeted()]
    return this.#unreached()
      .filter(member => member.ref.id !== peer.id && !relays.some(relay => relay.digest.has(member.key)))
      .map(member => member.ref.id)
      .slice(0, MAX_UNREACHED)
  }

  /** A lost message must not silence a replica for ever: while one is not heard, its relays are told again. */
  repeat(): void {
    const silent = this.#unreached().filter(member => member.status !== 'up')
    if (silent.length === 0) {
      return
    }
    for (const [peer, unreached] of this.#assign()) {
      if (silent.some(member => unreached.includes(member.ref.id))) {
        this.#tell(peer, unreached)
      }
    }
  }

  #tellChanges(): void {
    for (const [peer, unreached] of this.#assign()) {
      if (!sameIds(unreached, peer.toldUnreached)) {
        this.#tell(peer, unreached)
      }
    }
  }

  #tell(peer: Peer, unreached: readonly ReplicaId[]): void {
    const message: Digest = { type: 'digest', entries: [], unreached, reply: false }
    if (this.#init.transport.send(peer.id, message)) {
      peer.toldUnreached = unreached
    } else {
      peer.blocked = true
      this.changed()
    }
  }

  #assign(): Map<Peer, ReplicaId[]> {
    const peers = [...this.#init.peers.greeted()]
    const assigned = new Map<Peer, ReplicaId[]>(peers.map(peer => [peer, []]))
    for (const member of this.#unreached()) {
      const able = peers.filter(peer => peer.digest.has(member.key))
      const ranked = able.length <= RELAYS ? able : able.sort((a, b) => rank(a.id, member.ref.id) - rank(b.id, member.ref.id))
      for (const peer of ranked.slice(0, RELAYS)) {
        const ids = assigned.get(peer)
        if (ids !== undefined && ids.length < MAX_UNREACHED) {
          ids.push(member.ref.id)
        }
      }
    }
    return assigned
  }

  #unreached(): Member[] {
    return [...this.#init.membership.members.values()].filter(member => !member.linked && !member.left)
  }
}

/** Spreads the replicas over the peers: the same pair always has the same rank. */
function rank(peer: ReplicaId, replica: ReplicaId): number {
  let hash = 0x811c9dc5
  for (const text of [peer, replica]) {
    for (let i = 0; i < text.length; i++) {
      hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
    }
  }
  return hash >>> 0
}

function sameIds(a: readonly ReplicaId[], b: readonly ReplicaId[]): boolean {
  return a.length === b.length && a.every((id, i) => id === b[i])
}
