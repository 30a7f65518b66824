import type { ReplicaRef } from './dot.ts'
import { refKey } from './dot.ts'
import type { RecordView } from './replica-record.ts'

/**
 * What is known of all replicas: for each ref (`refKey`) the head, a prefix of its events. One number each is enough, because
 * no event is ever known past a gap. [ALMEIDA18]
 */
export type CausalContext = ReadonlyMap<string, { readonly replica: ReplicaRef; readonly head: number }>

/** The heads of the records; of complete ones only, as only they have all that their head says and nothing else. */
export function causalContext(records: Iterable<RecordView>): CausalContext {
  const context = new Map<string, { replica: ReplicaRef; head: number }>()
  for (const { ref, head, complete } of records) {
    if (complete && head > 0) {
      context.set(refKey(ref), { replica: ref, head })
    }
  }
  return context
}

/** Whether every event of `other` is in `context`. */
export function covers(context: CausalContext, other: CausalContext): boolean {
  for (const [key, { head }] of other) {
    if ((context.get(key)?.head ?? 0) < head) {
      return false
    }
  }
  return true
}
