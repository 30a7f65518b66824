import type { DeltaInterval, Entry, MergeResult } from '../../../src/crdt/index.ts'
import type { MapLike } from './map-like.ts'

/** How far a dot's life has gone, behind its number: nothing, ~ lingering, = closed, x removed. */
const STATES = ['', '~', '=', 'x'] as const

/** `(0@3→2@3] +2 [3:1x]`: from, since → to, asOf; the adds; the marks as event, dot and state. Plain: `(1→3]`. */
export function show(interval: DeltaInterval | undefined): string {
  if (interval === undefined) {
    return 'nothing'
  }
  const { from, to, since, asOf } = interval
  const plain = since === from && to === asOf
  const head = plain ? `(${from}→${to}]` : `(${from}@${since}→${to}@${asOf}]`
  const adds = interval.adds.map(entry => ` +${showEntry(entry)}`).join('')
  return head + adds + interval.marks.map(mark => ` [${mark.event}:${mark.counter}${STATES[mark.state]}]`).join('')
}

export function showEntry(entry: Entry): string {
  return `${entry.counter}${STATES[entry.state]}`
}

/** `3 {1 2~}`: head and entries; `1 {1}…` while incomplete; `unknown`. */
export function showRecord(map: MapLike, of: MapLike): string {
  const record = map.record(of.self)
  if (record === undefined) {
    return 'unknown'
  }
  return `${record.head} {${Array.from(map.entries(of.self), showEntry).join(' ')}}${record.complete ? '' : '…'}`
}

/** `applied +1 ~2 −3`: the outcome, what was added, what moved on, what was removed. */
export function showResult(result: MergeResult): string {
  return [
    result.outcome,
    ...result.added.map(entry => `+${showEntry(entry)}`),
    ...result.changed.map(({ after }) => `~${showEntry(after)}`),
    ...result.removed.map(({ entry }) => `−${entry.counter}`)
  ].join(' ')
}

/** Everything about an entry that two equal ones agree in, as text. */
export function entryText(entry: Entry): string {
  const { counter, state, topic, key, user, session, connection, meta, joinedAt, revision, epoch, over } = entry
  return JSON.stringify([counter, state, topic, key, user, session, connection, meta, joinedAt, revision, epoch, over])
}

export function intervalText(interval: DeltaInterval | undefined): string {
  return interval === undefined ? 'nothing' : show(interval) + interval.adds.map(entryText).join() + JSON.stringify(interval.marks)
}
