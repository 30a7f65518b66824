import type { OrMap, ReplicaRef } from '../../../src/crdt/index.ts'
import { entryText } from './notation.ts'

/** All that can be seen of one record, as text. */
export function recordText(map: OrMap, of: ReplicaRef): string {
  const record = map.record(of)
  if (record === undefined) {
    return 'unknown'
  }
  const { ref, head, horizon, known, floor, cursor, complete, repairing, count, hash, parked, logSize } = record
  const numbers = { ref, head, horizon, known, floor, cursor, complete, repairing, count, hash, parked, logSize }
  return JSON.stringify([numbers, Array.from(map.entries(of), entryText), map.marksSince(of, floor)])
}

/** All that can be seen of a map. */
export function mapText(map: OrMap): string {
  return [JSON.stringify(map.sizes()), ...Array.from(map.records(), record => recordText(map, record.ref))].join('\n')
}
