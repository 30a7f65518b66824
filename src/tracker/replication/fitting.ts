import type { ReplicaId } from '../../crdt/dot.ts'
import { utf8Length } from '../../crdt/encoded-size.ts'

/** What an id costs in a message besides its text, with a ref, heads, a hash and a cursor: an upper bound, in bytes. */
const ITEM_BYTES = 64

/** How many of the ids, from `first` on, take at most `bytes` in a message that names them; one at least. */
export function fittingIds(ids: readonly ReplicaId[], bytes: number, first = 0): number {
  let room = bytes
  let count = 0
  while (first + count < ids.length) {
    room -= ITEM_BYTES + utf8Length(ids[first + count] as ReplicaId)
    if (room < 0 && count > 0) {
      break
    }
    count++
  }
  return count
}

/** The items in parts, each of which takes at most `bytes`. */
export function inParts<T>(items: readonly T[], idOf: (item: T) => ReplicaId, bytes: number): T[][] {
  const ids = items.map(idOf)
  const parts: T[][] = []
  for (let first = 0; first < items.length; ) {
    const count = fittingIds(ids, bytes, first)
    parts.push(items.slice(first, first + count))
    first += count
  }
  return parts
}
