/**
 * The map: who is here, as each replica tells it, merged without a coordinator. Pure data: no time, no randomness, no input or
 * output. See docs/algorithm.md, "The map".
 *
 * ```ts
 * const a = new OrMap({ self: { id: 'a', incarnation: 1 } })
 * const b = new OrMap({ self: { id: 'b', incarnation: 1 } })
 * a.add(content)
 * const interval = a.serve(b.request(a.self))
 * if (interval !== undefined) {
 *   b.merge(interval).added // the entry
 * }
 * ```
 */
export { canonicalize, MAX_META_DEPTH } from './canonical.ts'
export type { CausalContext } from './causal-context.ts'
export { causalContext, covers } from './causal-context.ts'
export { compose } from './compose.ts'
export type { Cursor, DeltaInterval, Mark, PullRequest, StateHash } from './delta-interval.ts'
export type { ReplicaId, ReplicaRef } from './dot.ts'
export { compareRefs, MAX_COUNTER, MAX_REPLICA_ID_LENGTH, MAX_SHARD, refKey, sameRef } from './dot.ts'
export { entryBytes, INTERVAL_BYTES, MARK_BYTES, utf8Length } from './encoded-size.ts'
export type { Entry, EntryContent, Over } from './entry.ts'
export { createEntry, EntryState, isEntry, sameContent, withState } from './entry.ts'
export {
  InvalidEntryError,
  InvalidIntervalError,
  InvalidMarkError,
  InvalidMetaError,
  NotContiguousError,
  OwnRecordError
} from './errors.ts'
export type { Changed, MergeOutcome, MergeResult, Removed } from './merge-result.ts'
export { REASON_NONE } from './merge-result.ts'
export type { OrMapOptions, OrMapSizes } from './or-map.ts'
export { OR_MAP_DEFAULTS, OrMap } from './or-map.ts'
export type { RecordView } from './replica-record.ts'
export type { Budget } from './serve.ts'
export { sameHash } from './state-hash.ts'
export { validateInterval } from './validate.ts'
