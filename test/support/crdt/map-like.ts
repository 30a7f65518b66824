import type {
  Budget,
  DeltaInterval,
  Entry,
  EntryContent,
  Mark,
  MergeResult,
  PullRequest,
  RecordView,
  ReplicaRef
} from '../../../src/crdt/index.ts'

/** What the tests use of a map, so that one schedule runs on OrMap and on the reference, whole or with a rule taken out. */
export interface MapLike {
  readonly self: ReplicaRef
  add(content: EntryContent): Entry
  update(counter: number, content: EntryContent, reason?: number): Entry | undefined
  mark(counter: number, state: 1 | 2 | 3, reason: number): Entry | undefined
  reincarnate(self: ReplicaRef): { before: Entry; after: Entry }[]
  merge(interval: DeltaInterval): MergeResult
  serve(request: PullRequest, budget?: Budget): DeltaInterval | undefined
  request(ref: ReplicaRef): PullRequest
  drop(ref: ReplicaRef): number
  invalidate(ref: ReplicaRef): boolean
  record(ref: ReplicaRef): Omit<RecordView, 'logSize'> | undefined
  entries(ref: ReplicaRef, after?: number): Iterable<Entry>
  marksSince(ref: ReplicaRef, event: number): readonly Mark[] | undefined
}

export interface MapLimits {
  readonly logLimit?: number
  readonly parkLimit?: number
}

export type MakeMap = (self: ReplicaRef, limits?: MapLimits) => MapLike
