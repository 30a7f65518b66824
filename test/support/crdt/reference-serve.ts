import type { DeltaInterval, Entry, Mark, PullRequest } from '../../../src/crdt/index.ts'
import type { ReferenceRecord } from './reference-record.ts'
import type { Rule } from './rules.ts'

/** A frame, counted in adds and marks only. */
export interface ReferenceBudget {
  readonly adds?: number
  readonly marks?: number
}

type Step = (from: number, since: number) => DeltaInterval

/** What a complete record answers to one who stands at the head and, perhaps, the cursor of `request`. */
export function serveFrom(
  record: ReferenceRecord,
  request: Pick<PullRequest, 'head' | 'cursor'>,
  budget: ReferenceBudget,
  without: ReadonlySet<Rule>
): DeltaInterval | undefined {
  const { head, cursor } = request
  const step: Step = (from, since) => thin(cut(record, from, since, budget, without), cursor, without)
  if (record.head <= head) {
    return undefined
  }
  if (head > 0 && (head >= record.floor || without.has('the floor is heeded from the head'))) {
    const base = step(head, head)
    if (cursor === null || base.to === base.asOf || without.has('a step from the head only if whole')) {
      return base
    }
  }
  if (cursor !== null) {
    if (cursor.asOf > record.head && !without.has('a cursor ahead of the server is refused')) {
      return undefined
    }
    if (cursor.asOf >= record.floor || without.has('the floor is heeded from the cursor')) {
      return step(cursor.to, cursor.asOf)
    }
  }
  return step(0, record.head)
}

function cut(record: ReferenceRecord, from: number, since: number, budget: ReferenceBudget, without: ReadonlySet<Rule>): DeltaInterval {
  const base = { replica: record.ref, shard: 0, from, since }
  const { head } = record
  const marks = record.log.filter(mark => mark.event > since)
  const fit = budget.marks ?? Number.POSITIVE_INFINITY
  if (marks.length > fit) {
    return { ...base, to: from, asOf: marks[fit]!.event - 1, adds: [], marks: marks.slice(0, fit) }
  }
  const above = [...record.live.values()].filter(entry => entry.counter > from && entry.counter <= head)
  above.sort((a: Entry, b: Entry) => a.counter - b.counter)
  const adds = above.slice(0, budget.adds)
  const next = above[adds.length]
  const to = next === undefined ? head : next.counter - 1
  const isHidden = (mark: Mark): boolean => mark.event > to && mark.counter <= to
  if (since === from && to < head && (!marks.some(isHidden) || without.has('a plain cut hides no later mark'))) {
    return { ...base, to, asOf: to, adds, marks: marks.filter(mark => mark.event <= to) }
  }
  if (to < head && without.has('slices carry since and asOf')) {
    return { ...base, since: from, to, asOf: to, adds, marks: marks.filter(mark => mark.event <= to) }
  }
  return { ...base, to, asOf: head, adds, marks }
}

/** What the rules on marks forbid to leave away, left away. */
function thin(interval: DeltaInterval, cursor: PullRequest['cursor'], without: ReadonlySet<Rule>): DeltaInterval {
  const { from, to } = interval
  let { marks } = interval
  if (without.has('marks of dots inside the interval travel')) {
    marks = marks.filter(mark => mark.counter <= from)
  }
  if (without.has('a later slice names every mark since the last cut')) {
    marks = marks.filter(mark => mark.event > from && mark.event <= to)
  }
  if (without.has('later slices carry marks') && cursor !== null) {
    marks = []
  }
  return { ...interval, marks }
}
