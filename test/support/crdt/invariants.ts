import type { Entry } from '../../../src/crdt/index.ts'
import type { MapLike } from './map-like.ts'
import { entryText, showEntry } from './notation.ts'
import type { OwnerModel } from './owner-model.ts'

/** An invariant does not hold; the message names it. */
export class Violation extends Error {
  override readonly name = 'Violation'
}

export function demand(holds: boolean, rule: string, detail: () => string): asserts holds {
  if (!holds) {
    throw new Violation(`${rule}: ${detail()}`)
  }
}

/**
 * Holds one record against its owner's events:
 * - complete: it holds L(head, head), states included, and its log is the owner's;
 * - incomplete: it holds nothing that is not so as of its head, cursor and horizon.
 *
 * @param lied the record took in a lie, and only what a repair has covered so far is the owner's
 */
export function checkRecord(map: MapLike, model: OwnerModel, lied = false): void {
  const record = map.record(model.ref)
  if (record === undefined) {
    return
  }
  const entries = [...map.entries(model.ref)]
  if (record.complete) {
    checkComplete(entries, model, record.head)
  } else {
    checkIncomplete(entries, model, record, lied)
  }
  const log = map.marksSince(model.ref, record.floor)
  demand(
    lied || log === undefined || JSON.stringify(log) === JSON.stringify(model.marks(record.floor, record.horizon)),
    'the log is the owner’s marks in (floor, horizon]',
    () => `floor ${record.floor}, horizon ${record.horizon}, log ${JSON.stringify(log)}`
  )
  demand(lied || !record.complete || log !== undefined, 'a complete record has a log', () => `floor ${record.floor}`)
}

function checkComplete(held: readonly Entry[], model: OwnerModel, head: number): void {
  const due = model.held(head, head)
  demand(
    held.length === due.length && held.every((entry, index) => same(entry, due[index]!)) && head <= model.head,
    'complete ⇒ entries = L(head, head)',
    () => `at head ${head}: holds ${held.map(showEntry).join(' ')}, should hold ${due.map(showEntry).join(' ')}`
  )
}

function checkIncomplete(
  entries: readonly Entry[],
  model: OwnerModel,
  record: NonNullable<ReturnType<MapLike['record']>>,
  lied: boolean
): void {
  const { head, cursor, horizon, known } = record
  const held = new Map(entries.map(entry => [entry.counter, entry]))
  const sure = lied ? (cursor?.to ?? 0) : known
  for (let dot = 1; dot <= sure; dot++) {
    const entry = held.get(dot)
    const state = entry?.state ?? 3
    const latest = model.stateAt(dot, horizon)
    const detail = (): string => `dot ${dot} in state ${state}, head ${head}, cursor ${JSON.stringify(cursor)}, horizon ${horizon}`
    if (latest === undefined) {
      demand(entry === undefined, 'no entry without an event', detail)
      continue
    }
    const byHead = model.stateAt(dot, head) ?? 0
    const byCursor = cursor !== null && dot <= cursor.to ? model.stateAt(dot, cursor.asOf)! : 0
    demand(state <= latest, 'no early removal or move', detail)
    demand(state >= Math.max(byHead, byCursor), 'no lost removal or move', detail)
    demand(entry === undefined || same(entry, model.entryAt(dot, entry.state)), 'content never changes', detail)
  }
  demand(lied || entries.every(entry => entry.counter <= known), 'no entry above known', () => `known ${known}`)
}

const texts = new WeakMap<Entry, string>()

/** Same dot, state and content. */
export function same(a: Entry, b: Entry): boolean {
  return a === b || textOf(a) === textOf(b)
}

function textOf(entry: Entry): string {
  let text = texts.get(entry)
  if (text === undefined) {
    text = entryText(entry)
    texts.set(entry, text)
  }
  return text
}
