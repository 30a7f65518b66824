import type { ReplicaId } from '../crdt/dot.ts'

/** A small plain object: strings, finite numbers, booleans, null, arrays and objects of these. */
export type Meta = { readonly [name: string]: MetaValue }
export type MetaValue = string | number | boolean | null | readonly MetaValue[] | Meta

/** How sure this replica is: `unknown` while the replica that owns the presence is silent or in its grace. */
export type Certainty = 'online' | 'unknown'

/** In a topic, a key is here. Frozen; never changes after it was handed out. */
export interface Presence {
  /** Names this content: the same session, revision and meta give the same ref on every replica. */
  readonly ref: string
  /** The ref that this replica listed before the last update, or null when it saw none. */
  readonly prevRef: string | null
  readonly key: string
  readonly user: string
  readonly meta: Meta
  /** The replica that holds the connection, as far as this one knows. */
  readonly replica: ReplicaId
  readonly state: Certainty
  /** Wall clock of the first `track`, in ms since 1970. */
  readonly joinedAt: number
}

/**
 * Why a presence left. `unseen`: inferred, as nobody was there to say. `left`: untracked; `closed`: its connection was closed;
 * `expired`: its connection was silent, or lost and not back within the grace; `node-left`, `node-failed`: its replica stopped or was
 * judged dead; `kicked`; `moved`: to another replica, whose entry did not come in time.
 */
export type LeaveReason = 'left' | 'closed' | 'expired' | 'node-left' | 'node-failed' | 'kicked' | 'moved' | 'unseen'

/** What made a diff: our own call, a delta, a transfer of state, a replica that was judged down, or dropped for good. */
export type DiffCause = 'local' | 'delta' | 'transfer' | 'down' | 'permdown'

export interface Leave {
  readonly presence: Presence
  readonly reason: LeaveReason
}

export interface Update {
  readonly prev: Presence
  readonly next: Presence
  /** The names in the meta whose values differ, sorted. */
  readonly changed: readonly string[]
}

/** The presence `ref` of `key` is the same as before, and held by another replica now. No presence event. */
export interface Move {
  readonly ref: string
  readonly key: string
  readonly replica: ReplicaId
  readonly state: Certainty
}

/** All presences of replica `id` are `state` now. No presence event. */
export interface ReplicaState {
  readonly id: ReplicaId
  readonly state: Certainty
}

/**
 * The change of one topic. Applied to what was listed before (`PresenceFold` does it), it gives what is listed now, fields included.
 * Its parts name different presences, so their order is free; `replicas` goes last.
 */
export interface Diff {
  readonly topic: string
  readonly cause: DiffCause
  readonly joins: readonly Presence[]
  readonly leaves: readonly Leave[]
  readonly updates: readonly Update[]
  readonly moves: readonly Move[]
  readonly replicas: readonly ReplicaState[]
}

/** Per origin: drop what is shown of `replica` in the topic, then show these. Applied last. */
export interface Replace {
  readonly replica: ReplicaId
  readonly presences: readonly Presence[]
}

/**
 * Of one session under one key: drop what is shown of it, then show `presence`, if any. For identities that several replicas have entries of, where the
 * replica that answers cannot know which of them was shown. Applied last.
 */
export interface Reset {
  readonly key: string
  /** The first characters of its refs, up to the first dot. */
  readonly session: string
  readonly presence: Presence | null
}

/** Why a snapshot was sent where a token was given. */
export type SnapshotReason = 'first' | 'unknown-token' | 'unknown-replica'

export interface SnapshotEvent {
  readonly type: 'snapshot'
  readonly topic: string
  readonly presences: readonly Presence[]
  readonly reason: SnapshotReason
  /** Give it as `since` to any replica of the cluster to receive only what was missed. Built when it is read. */
  readonly token: string
}

export interface DiffEvent extends Diff {
  readonly type: 'diff'
  /** Only in the first event after a resume. */
  readonly replace: readonly Replace[]
  /** Only in the first event after a resume. */
  readonly resets: readonly Reset[]
  readonly token: string
}

/** In counts-only mode: what `count(topic)` gives, after each batch that changed it. */
export interface CountEvent {
  readonly type: 'count'
  readonly topic: string
  readonly keys: number
  readonly presences: number
}

export type WatchEvent = SnapshotEvent | DiffEvent

export interface WatchOptions {
  /** A token of an earlier event, from any replica of the cluster. */
  readonly since?: string
  readonly signal?: AbortSignal
}

export interface UserEvent {
  /** `online` or `offline`; first one per watched user with what is so at the start. */
  readonly type: 'online' | 'offline'
  readonly user: string
}

export interface UserStatus {
  /** Undefined before the tracker is ready. */
  readonly online: boolean | undefined
  readonly connections: number
  /** Wall clock in ms since 1970 when the user was last seen here: now while online; null when never, or longer ago than `lastSeenMs`. */
  readonly lastSeen: number | null
}

export interface TopicCount {
  readonly keys: number
  readonly presences: number
}

export type ReplicaStatus = 'up' | 'suspect' | 'down'

export interface ReplicaInfo {
  readonly id: ReplicaId
  readonly incarnation: number
  /** This replica itself is always `up`. */
  readonly status: ReplicaStatus
  /** The suspicion level; 0 for this replica. */
  readonly phi: number
  /** Events of the replica known here. */
  readonly head: number
  /** How long this replica has known of events that it has not got, in ms; 0 when level. */
  readonly lagMs: number
  /** False while its state is being transferred. */
  readonly complete: boolean
  /** Milliseconds since it was last heard, itself or through others. */
  readonly silentMs: number
  /** Over what is held here of its presences, 16 hex digits; replicas with the same `head` for it have the same. Null while incomplete. */
  readonly hash: string | null
  /**
   * Whether it held the same as this replica when its last heartbeat came: the hash over all that it holds was ours. False now and then while presences
   * change, as heartbeats and changes pass each other. Null for this replica itself, and for one that said nothing on its own link yet.
   */
  readonly agrees: boolean | null
}

export interface ListOptions {
  /** The most keys to return; default all. */
  readonly limit?: number
  /** The last key of the page before; keys are listed in the order of their UTF-16 code units when `limit` or `cursor` is given. */
  readonly cursor?: string
}

export interface ConnectOptions {
  /** The client's session id, a secret between it and this server. The same session on any replica adopts its presences. */
  readonly session?: string
  /** The meta of the user's entry, for status across devices. */
  readonly meta?: Meta
  /** Closes the connection as lost when it aborts. */
  readonly signal?: AbortSignal
}

/** Why a connection ended: the reason of `conn.signal`, an Error with this `code`. */
export type ConnectionEnd = 'closed' | 'lost' | 'expired' | 'kicked' | 'taken-over' | 'stopped'

export interface TrackOptions {
  /** Default: the connection's user. */
  readonly key?: string
}

/** One socket, or any other handle, of a user. */
export interface Connection {
  /** Carries its handle; safe to hand to a gateway. */
  readonly id: string
  readonly user: string
  /** Aborts when the connection has ended, with a `ConnectionEndedError` as its reason. */
  readonly signal: AbortSignal
  readonly open: boolean
  /** Returns the ref. Throws AlreadyTrackedError, ConnectionEndedError, InvalidNameError, MetaError, LimitError. */
  track(topic: string, meta?: Meta, options?: TrackOptions): string
  /** Returns the new ref, or the old one when nothing changed. Throws NotTrackedError and as `track`. */
  update(topicOrRef: string, meta: Meta | ((meta: Meta) => Meta), options?: TrackOptions): string
  /** Of a topic, of a ref, or of all; returns how many presences ended. Unknown ones are no error: 0. */
  untrack(topicOrRef?: string, options?: TrackOptions): number
  /** False when it has expired or ended. */
  heartbeat(): boolean
  /** He left: presences leave at once, the user after the grace. Idempotent. */
  close(): void
  /** The socket died: presences and user linger for the grace. Idempotent. */
  lost(): void
}

export interface WaitOptions {
  readonly signal?: AbortSignal
  /** Default 2,000 ms. */
  readonly timeoutMs?: number
}

export interface StopOptions {
  /** Our presences leave at once everywhere, save those of a drained session. Default false: peers hold them for the grace. */
  readonly announce?: boolean
}

/** The names of events and their details. */
export interface TrackerEventDetails {
  diff: Diff
  online: { readonly user: string }
  offline: { readonly user: string }
  /** The first presence of a key in a topic. */
  'key:join': { readonly topic: string; readonly key: string }
  /** The last presence of a key in a topic has gone. */
  'key:leave': { readonly topic: string; readonly key: string }
  'replica:up': { readonly id: ReplicaId; readonly incarnation: number }
  'replica:suspect': { readonly id: ReplicaId; readonly incarnation: number }
  'replica:down': { readonly id: ReplicaId; readonly incarnation: number }
  'replica:permdown': {
    readonly id: ReplicaId
    readonly incarnation: number
    readonly reason: 'silent' | 'superseded' | 'forgotten' | 'left'
  }
  'replica:duplicate': { readonly id: ReplicaId; readonly incarnation: number }
  'replica:diverged': { readonly id: ReplicaId; readonly incarnation: number; readonly quarantined: boolean }
  isolated: { readonly isolated: boolean }
  /** A listener or an async callback of yours threw. */
  error: { readonly error: unknown }
}

export type TrackerEventName = keyof TrackerEventDetails
export type TrackerListener<N extends TrackerEventName> = (event: { readonly type: N; readonly detail: TrackerEventDetails[N] }) => void

/** Presence of a fleet, seen from one replica. Made by `createTracker`. */
export interface Tracker {
  readonly id: ReplicaId
  /** Begins to listen and to be heard. Rejects with what the transport rejects with. Safe to call twice; after `stop` it begins a new life. */
  start(): Promise<void>
  /** Resolves when the state of every replica first met is complete, or `readyTimeoutMs` after start. */
  readonly ready: Promise<void>
  /** True once ready without every origin: what is listed may lack presences. */
  readonly partial: boolean
  /** Ends all connections (`stopped`), watches and links. See docs/operations.md, "Stopping". */
  stop(options?: StopOptions): Promise<void>
  /**
   * Refuses new connections with NotAcceptingError. Connections that end from now on, however, are held as if lost: their clients are on their way to another
   * replica. Tell them to move, then `stop`.
   */
  drain(): Promise<void>

  /**
   * A socket, or any other handle, of a user came up here.
   *
   * @throws NotAcceptingError unless started and not draining; InvalidNameError, InvalidMetaError, MetaTooBigError, LimitError; ConnectionEndedError when the
   * signal has aborted.
   */
  connect(user: string, options?: ConnectOptions): Connection
  /** By the id of a connection: for gateways that keep no objects. O(1), nothing allocated. False when it has ended. */
  heartbeat(connectionId: string): boolean
  /** The connection of an id; undefined when it has ended, or ended elsewhere. */
  connection(connectionId: string): Connection | undefined
  /** What `run` changes goes out as one delta, and as one diff per topic. What it throws is thrown; what it changed before stands. */
  batch<T>(run: () => T): T
  /** Ends all connections of a user on this replica, at once and cleanly. Returns how many. */
  kick(user: string): number

  /** Who is in a topic, by key. Local and synchronous; O(result). Presences of one key come oldest first. */
  list(topic: string, options?: ListOptions): Map<string, Presence[]>
  /** The presences of one key; O(their number). */
  get(topic: string, key: string): Presence[]
  /** O(1). */
  count(topic: string): TopicCount
  /** Topics in which somebody is, in the order of their names. O(topics). */
  topics(options?: { readonly prefix?: string; readonly limit?: number; readonly cursor?: string }): Map<string, TopicCount>
  /** Where a user is, by topic; O(result). */
  topicsOf(user: string): Map<string, Presence[]>
  /** The connections of a user over all replicas, lingering ones included, with the metas given to `connect`: his devices. Oldest first. */
  connectionsOf(user: string): Presence[]
  /** Undefined before `ready`. */
  isOnline(user: string): boolean | undefined
  user(user: string): UserStatus
  /** All users who are online, in no order. Not to be read across changes. */
  users(): IterableIterator<string>

  /**
   * A snapshot, then diffs; with `since`, what was missed since that token instead of the snapshot. One who reads slowly gets one merged diff, never a
   * queue. Ends by `return`, by the signal, or when the tracker stops; throws VersionError BEHIND when this replica does not reach the token in time.
   */
  watch(topic: string, options?: WatchOptions): AsyncIterableIterator<WatchEvent>
  /** The counts of a topic, then again after each batch that changed them. */
  watchCount(topic: string, options?: { readonly signal?: AbortSignal }): AsyncIterableIterator<CountEvent>
  /** For each of the users what is so now, then when it changes. */
  watchUsers(users: readonly string[], options?: { readonly signal?: AbortSignal }): AsyncIterableIterator<UserEvent>
  /** Listeners are called after the state has changed, in order. One that throws is told to the listeners of `error`, and breaks nothing. */
  addEventListener<N extends TrackerEventName>(name: N, listener: TrackerListener<N>): void
  removeEventListener<N extends TrackerEventName>(name: N, listener: TrackerListener<N>): void

  /** A token of all that is shown here now: `waitFor` it elsewhere to read one's own writes. */
  version(): string
  /** Resolves when all of a version is merged here, or its replica retired. Rejects with VersionError FORGOTTEN, BEHIND, HIDDEN or INVALID. */
  waitFor(version: string, options?: WaitOptions): Promise<void>

  /** All replicas known, this one first. */
  replicas(): ReplicaInfo[]
  /** Operator purge: drops a dead replica here, now. False when it is unknown, or this one. A replica that lives comes back by itself. */
  forget(replicaId: ReplicaId): boolean
  /** Numbers for metrics and tests: docs/operations.md. */
  stats(): TrackerStats
}

export interface TrackerStats {
  readonly [name: string]: number
}
