/**
 * What the process of one replica and the one that runs the simulation tell each other, over Node's IPC channel. All times are of the
 * shared monotonic clock, in ms.
 */

import type { TrackerOptions } from '../../tracker/options.ts'
import type { ReplicaInfo, TrackerStats } from '../../tracker/types.ts'
import type { Stall } from './stall-watch.ts'

/** A worker's start arguments, as JSON in its first argument. */
export interface WorkerStart {
  readonly cluster: string
  /** File with the private key: the id stays the same over restarts. */
  readonly identity: string
  readonly port: number
  /** Multiaddrs to dial: the proxies of its outgoing links. */
  readonly peers: readonly string[]
  readonly options: Omit<TrackerOptions, 'transport' | 'environment' | 'cluster'>
  /** How often the clients of this replica are heard. */
  readonly clientHeartbeatMs: number
}

/** What a client can do. */
export type OpKind = 'connect' | 'track' | 'untrack' | 'close' | 'lost'

/** What a simulated client does. Executed at `atMs`, or at once when that is past; in the order in which they were sent. */
export interface Op {
  readonly seq: number
  readonly atMs: number
  readonly kind: OpKind
  readonly user: string
  /** Of `track` and `untrack`. */
  readonly topic?: string
}

/** From the parent to a process. */
export type ToWorker =
  | { readonly type: 'ops'; readonly ops: readonly Op[] }
  | { readonly type: 'snapshot'; readonly request: number }
  | { readonly type: 'numbers'; readonly request: number }
  | { readonly type: 'stop'; readonly announce: boolean }

/** In `WorkerEvents.kinds`: somebody else's client came. */
export const SAW_JOIN = 0
/** In `WorkerEvents.kinds`: somebody else's client went. */
export const SAW_LEAVE = 1

/** Columns: what happened since the last report. */
export interface WorkerEvents {
  readonly type: 'events'
  /** Operations that were executed, and when. */
  readonly didSeqs: readonly number[]
  readonly didAtMs: readonly number[]
  readonly failures: readonly { readonly seq: number; readonly code: string; readonly message: string }[]
  readonly topics: readonly string[]
  readonly keys: readonly string[]
  readonly kinds: readonly number[]
  readonly sawAtMs: readonly number[]
  /** What was thought of other replicas. `unknown`: their presences were shown as unknown. */
  readonly judged: readonly {
    readonly id: string
    readonly status: 'up' | 'suspect' | 'down' | 'permdown' | 'unknown'
    readonly atMs: number
  }[]
  /** Connections that ended without a request. */
  readonly ended: readonly { readonly user: string; readonly end: string; readonly connectSeq: number; readonly atMs: number }[]
  readonly isolated: readonly { readonly isolated: boolean; readonly atMs: number }[]
  /** When the process stood still. */
  readonly stalls: readonly Stall[]
}

/** Everything that is listed, in columns. */
export interface WorkerSnapshot {
  readonly type: 'snapshot'
  readonly request: number
  readonly atMs: number
  readonly topics: readonly string[]
  readonly keys: readonly string[]
  readonly refs: readonly string[]
  readonly replicas: readonly string[]
  readonly unknown: readonly boolean[]
  readonly usersOnline: readonly string[]
  /** What differs between the fold of all diffs and the lists, or between counts and lists: empty when all is well. */
  readonly contradictions: readonly string[]
  readonly nodes: readonly ReplicaInfo[]
}

/** What a process costs. */
export interface WorkerNumbers {
  readonly type: 'numbers'
  readonly request: number
  readonly rssBytes: number
  readonly heapBytes: number
  readonly cpuMs: number
  readonly loopP99Ms: number
  readonly presences: number
  readonly connections: number
  readonly stats: TrackerStats
}

/** From a process to its parent. */
export type FromWorker =
  | { readonly type: 'started'; readonly id: string; readonly atMs: number }
  | { readonly type: 'ready'; readonly atMs: number; readonly partial: boolean }
  | { readonly type: 'failed'; readonly message: string }
  | WorkerEvents
  | WorkerSnapshot
  | WorkerNumbers
