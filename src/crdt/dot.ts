/** A libp2p PeerId as text, or any other name that is unique in the cluster. */
export type ReplicaId = string

/** One life of one replica: its id, and a number that grows with each start. */
export interface ReplicaRef {
  readonly id: ReplicaId
  /** Integer, 0 … 2^52. The higher one supersedes the lower. */
  readonly incarnation: number
}

/** The largest counter, head or incarnation that is ever accepted. */
export const MAX_COUNTER = 2 ** 52

/** The longest replica id that is ever accepted, in UTF-16 code units. A PeerId has 52. */
export const MAX_REPLICA_ID_LENGTH = 128

/** The largest shard number that is ever accepted. */
export const MAX_SHARD = 65_535

/** The text under which a replica ref is kept in Maps: `id#incarnation`. */
export function refKey(ref: ReplicaRef): string {
  return `${ref.id}#${ref.incarnation}`
}

export function sameRef(a: ReplicaRef, b: ReplicaRef): boolean {
  return a.incarnation === b.incarnation && a.id === b.id
}

/** Total order of replica refs: by id (UTF-16 code units), then by incarnation. Negative when `a` comes first. */
export function compareRefs(a: ReplicaRef, b: ReplicaRef): number {
  if (a.id !== b.id) {
    return a.id < b.id ? -1 : 1
  }
  return a.incarnation - b.incarnation
}
