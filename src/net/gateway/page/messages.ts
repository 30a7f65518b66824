import type { LeaveReason, ReplicaInfo, ReplicaStatus, TopicCount } from '../../../tracker/types.ts'
import type { GatewayStats } from '../types.ts'
import type { UserExplanation } from './explain-user.ts'

/** The topic of the live page. Who may watch it sees all topics and users. */
export const CLUSTER_TOPIC = 'rollcall:cluster'

/** One row of the table of replicas: rounded, so that it changes only when people would see it. */
export interface ReplicaRow {
  readonly id: string
  readonly incarnation: number
  readonly status: ReplicaStatus
  /** To one decimal, at most 999. */
  readonly phi: number
  readonly head: number
  readonly lagMs: number
  /** Whole seconds, as ms; 0 while it is up. */
  readonly silentMs: number
  readonly complete: boolean
  readonly hash: ReplicaInfo['hash']
  readonly agrees: ReplicaInfo['agrees']
}

/** A topic with its counts. */
export interface TopicRow extends TopicCount {
  readonly topic: string
}

/** Event `cluster`: everything, each time. */
export interface ClusterState {
  readonly self: string
  /** When the state was built, in ms since 1970. */
  readonly atMs: number
  readonly partial: boolean
  /** Most replicas vanished at once: leaves are held. */
  readonly isolated: boolean
  /** This replica first. */
  readonly replicas: readonly ReplicaRow[]
  /** Those that did not fit in; all of them up. */
  readonly replicasOmitted: number
  /** Online, in the whole cluster. */
  readonly users: number
  /** Open on this replica. */
  readonly connections: number
  readonly topics: number
  readonly presences: number
  /** Those with the most presences, largest first. */
  readonly top: readonly TopicRow[]
  /** How its gateway is doing: sockets, channels, watchers, sockets that read too slowly, topics in interval mode. */
  readonly gateway: GatewayStats
}

/** What happened, as the tail tells it. */
export type TailKind =
  | 'join'
  | 'leave'
  | 'update'
  | 'online'
  | 'offline'
  | 'up'
  | 'suspect'
  | 'down'
  | 'permdown'
  | 'duplicate'
  | 'diverged'
  | 'isolated'
  | 'rejoined'

/** One line of the tail; which fields it has depends on `kind`. */
export interface TailEvent {
  /** Grows by one per event. */
  readonly id: number
  /** In ms since 1970, on the clock of this replica. */
  readonly atMs: number
  readonly kind: TailKind
  readonly topic?: string
  readonly key?: string
  readonly user?: string
  readonly replica?: string
  readonly reason?: LeaveReason | string
}

/** Event `events`. */
export interface TailBatch {
  /** When the tail began: ids of another tail say nothing of this one's. */
  readonly tail: number
  /** These are the last ones that there were, and not those since the batch before. */
  readonly first: boolean
  readonly events: readonly TailEvent[]
  /** So many more happened in the same time. */
  readonly omitted: number
}

/** Reply to `topics` `{ prefix, cursor }`. */
export interface TopicsReply {
  readonly topics: readonly TopicRow[]
  /** Give it as `cursor` for the next page; null at the end. */
  readonly cursor: string | null
}

/** Reply to `users` `{ prefix }`. */
export interface UsersReply {
  /** Sorted. */
  readonly users: readonly string[]
  /** There are more that begin so. */
  readonly more: boolean
  /** All users online. */
  readonly total: number
}

/** One connection of a user. */
export interface Device {
  readonly replica: string
  readonly state: 'online' | 'unknown'
  /** In ms since 1970. */
  readonly sinceMs: number
  readonly meta: object
}

/** Reply to `user` `{ user }`. */
export interface UserReply extends UserExplanation {
  readonly online: boolean | null
  readonly connections: number
  /** In ms since 1970. */
  readonly lastSeenMs: number | null
  readonly devices: readonly Device[]
  /** Presences and devices that did not fit in. */
  readonly omitted: number
}
