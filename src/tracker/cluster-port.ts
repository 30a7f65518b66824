import type { ReplicaId, ReplicaRef } from '../crdt/dot.ts'
import type { Entry } from '../crdt/entry.ts'
import type { MergeResult } from '../crdt/or-map.ts'
import type { Certainty, LeaveReason, ReplicaInfo, TrackerEventDetails, TrackerEventName } from './types.ts'

/**
 * What the cluster (replication and membership) tells the presence layer. All calls are synchronous, and made when the map holds
 * what they tell of; none may throw, none calls back into the cluster.
 */
export interface ClusterListener {
  /** Entries of another replica changed by a merge. `transfer`: as an answer to a pull; `delta`: pushed. */
  merged(ref: ReplicaRef, result: MergeResult, cause: 'delta' | 'transfer'): void
  /** How sure we are of all presences of replica `id`. `online` is the initial value. */
  certainty(id: ReplicaId, state: Certainty): void
  /** The presences of `ref` leave the visible state; the map keeps them and goes on merging. Also for a ref that is not known yet. */
  hide(ref: ReplicaRef, reason: 'node-left' | 'node-failed'): void
  /** They return. */
  show(ref: ReplicaRef): void
  /** The record of `ref` is about to be dropped from the map for good. */
  drop(ref: ReplicaRef, reason: LeaveReason): void
  /** Our own record began again under a higher incarnation. */
  reincarnated(self: ReplicaRef, moved: readonly { before: Entry; after: Entry }[]): void
  /** An event for the users of the tracker. */
  emit<N extends TrackerEventName>(name: N, detail: TrackerEventDetails[N]): void
  /** A step of the cluster is over (one message handled, one tick): what was told since may be shown now, as one diff per topic. */
  settled(): void
}

/** What the tracker asks of the cluster. Built by `createCluster` (cluster.ts). */
export interface ClusterPort {
  readonly self: ReplicaRef
  /** Resolves when every origin met within the first second is complete, or at `readyTimeoutMs`. */
  readonly ready: Promise<void>
  readonly partial: boolean
  readonly isolated: boolean
  start(): Promise<void>
  /** Our own record has new events: push them, at once when nothing was sent within the flush window, else at its end. */
  changed(): void
  /** Judges peers, drops what is due. Called every 250 ms, not while input may be queued after a pause. */
  tick(nowMs: number): void
  /** This process stood still: taken off every silence, every grace, every hold. */
  paused(byMs: number): void
  /** Says goodbye on all links. Own events before it are flushed with it. */
  bye(announce: boolean): void
  stop(): Promise<void>
  replicas(): ReplicaInfo[]
  /** Operator purge: drops all incarnations of `id` here and buries them. False when unknown or ourselves. */
  forget(id: ReplicaId): boolean
  isHidden(ref: ReplicaRef): boolean
  /** Whether the replica was known and is gone for good (its record dropped, its incarnation buried). */
  isForgotten(ref: ReplicaRef): boolean
  stats(): Record<string, number>
}
