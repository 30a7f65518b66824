import type { DeltaInterval, PullRequest, StateHash } from '../crdt/delta-interval.ts'
import type { ReplicaId, ReplicaRef } from '../crdt/dot.ts'

/** What a replica says of one origin that it holds up or suspect. */
export interface DigestEntry {
  readonly replica: ReplicaRef
  readonly shard: number
  readonly head: number
  /** Null while the record is incomplete. */
  readonly hash: StateHash | null
  /** The event after which the sender's mark log is whole: it serves from heads ≥ floor without a full state. */
  readonly floor: number
  /** The grace of that origin, in ms: whoever judges it runs its grace. */
  readonly graceMs: number
}

/** The first frame on every stream. Complete knowledge is one round trip away: the answer to `want` follows at once. */
export interface Hello {
  readonly type: 'hello'
  /** Grows when messages gain meaning; the lower of both sides' numbers is spoken. */
  readonly protocolVersion: number
  readonly cluster: string
  readonly replica: ReplicaRef
  readonly graceMs: number
  readonly digest: readonly DigestEntry[]
  /** `all`: everything, from a newcomer; else the origins for which the sender has no source yet. */
  readonly want: 'all' | readonly PullRequest[]
  /** Ids to which the sender has no stream: their newest counters are relayed to it in heartbeats. */
  readonly unreached: readonly ReplicaId[]
}

/** The newest heartbeat counter of a third replica, and how old it was when this was sent. */
export interface RelayedCounter {
  readonly replica: ReplicaRef
  readonly counter: number
  readonly ageMs: number
}

export interface Heartbeat {
  readonly type: 'heartbeat'
  readonly replica: ReplicaRef
  readonly counter: number
  /** The age of `counter` when this was sent: 0 unless it waited. */
  readonly ageMs: number
  /** The sender's own head and state hash of shard 0, or of all shards summed. */
  readonly head: number
  readonly hash: StateHash
  /** Over (ref, head, state hash) of the replicas that the sender holds up or suspect. */
  readonly digestHash: number
  readonly relayed: readonly RelayedCounter[]
}

/** The sender's digest; `reply` asks for the receiver's. Sent only when digest hashes differ. */
export interface Digest {
  readonly type: 'digest'
  readonly entries: readonly DigestEntry[]
  readonly unreached: readonly ReplicaId[]
  readonly reply: boolean
}

export interface Pull {
  readonly type: 'pull'
  readonly requests: readonly PullRequest[]
}

export interface Delta {
  readonly type: 'delta'
  readonly intervals: readonly DeltaInterval[]
  /** Answers to pulls may be slices and full states; pushes are plain. */
  readonly answer: boolean
}

/** The sender stops. Its presences are held for its grace, or leave at once when `announce` is set. */
export interface Bye {
  readonly type: 'bye'
  readonly replica: ReplicaRef
  readonly head: number
  readonly announce: boolean
}

/** The receiver's heartbeat, hello or bye was rejected: a higher incarnation of its id is known. */
export interface Stale {
  readonly type: 'stale'
  readonly rejected: ReplicaRef
  readonly known: number
  /** The higher incarnation was heard within the last heartbeats: there are two of you. */
  readonly beats: boolean
  /** The receiver's incarnation lies too far ahead of the sender's clock; `known` is then the sender's own wall clock as an incarnation. */
  readonly tooFarAhead: boolean
}

export type Message = Hello | Heartbeat | Digest | Pull | Delta | Bye | Stale
export type MessageType = Message['type']

/** Spoken by this version. */
export const PROTOCOL_VERSION = 1
