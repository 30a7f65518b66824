import type { DeltaInterval } from './delta-interval.ts'
import { sameRef } from './dot.ts'
import type { Entry } from './entry.ts'
import { EntryState, withState } from './entry.ts'
import { NotContiguousError } from './errors.ts'

/**
 * One interval that says what two say in turn: (a, b] then (b, c] is (a, c]. Associative. The second starts exactly where
 * the first ends, in dots and in events. INV-7: over a hole never: the result would claim what neither carries.
 *
 * @throws NotContiguousError
 */
export function compose(first: DeltaInterval, second: DeltaInterval): DeltaInterval {
  const sameOwner = sameRef(first.replica, second.replica) && first.shard === second.shard
  if (!sameOwner || first.to !== second.from || first.asOf !== second.since) {
    throw new NotContiguousError(describe(first, first.to, first.asOf), describe(second, second.from, second.since))
  }
  return {
    replica: first.replica,
    shard: first.shard,
    from: first.from,
    to: second.to,
    since: first.since,
    asOf: second.asOf,
    adds: [...moveOn(first.adds, second), ...second.adds],
    marks: [...first.marks, ...second.marks]
  }
}

/** The entries as they are after the marks: moved on, or gone. */
function moveOn(adds: readonly Entry[], { marks }: DeltaInterval): readonly Entry[] {
  if (marks.length === 0 || adds.length === 0) {
    return adds
  }
  const states = new Map<number, EntryState>()
  for (const mark of marks) {
    states.set(mark.counter, mark.state)
  }
  const kept: Entry[] = []
  for (const entry of adds) {
    const state = states.get(entry.counter)
    if (state === undefined) {
      kept.push(entry)
    } else if (state !== EntryState.removed) {
      kept.push(withState(entry, state))
    }
  }
  return kept
}

function describe({ replica, shard }: DeltaInterval, dot: number, event: number): string {
  return `dot ${dot} as of event ${event} of ${replica.id}#${replica.incarnation}, shard ${shard}`
}
