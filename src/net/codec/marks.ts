import type { DeltaInterval, Mark } from '../../crdt/delta-interval.ts'
import { MAX_COUNTER } from '../../crdt/dot.ts'
import { EntryState } from '../../crdt/entry.ts'
import type { ByteReader } from './byte-reader.ts'
import type { ByteWriter } from './byte-writer.ts'
import { checkedList, checkInteger } from './checks.ts'
import type { FrameLimits } from './frame-limits.ts'
import { type Columns, column, emptyColumns, readTable, table, writeTable } from './table.ts'

/** The largest reason: a byte of the map's user. */
const MAX_REASON = 255

const MARKS = table({
  counter: column('marks.counter', 1, MAX_COUNTER, 1),
  /** Events that were no marks since the mark before, or since `since`. */
  gap: column('marks.event', 0, MAX_COUNTER),
  reason: column('marks.reason', 0, MAX_REASON),
  state: column('marks.state', EntryState.removed, EntryState.removed, EntryState.lingering)
})

/** The marks of all intervals of a frame, as columns. */
export class MarksWriter {
  readonly #limits: FrameLimits
  readonly #rows = emptyColumns(MARKS)

  constructor(limits: FrameLimits) {
    this.#limits = limits
  }

  /** Takes the marks of one interval. @throws InvalidFrameError */
  take(interval: DeltaInterval): void {
    let before = interval.since
    for (const mark of checkedList('marks', interval.marks, this.#limits.marks - this.#rows.gap.length)) {
      checkEvent(mark.event, mark.counter, before, interval.asOf)
      this.#rows.gap.push(mark.event - before - 1)
      this.#rows.counter.push(mark.counter)
      this.#rows.state.push(mark.state)
      this.#rows.reason.push(mark.reason)
      before = mark.event
    }
  }

  write(writer: ByteWriter): void {
    writeTable(writer, MARKS, this.#rows)
  }
}

/** Hands out the marks of a frame, interval by interval. */
export class MarksReader {
  readonly #rows: Columns<typeof MARKS>
  #next = 0

  /** @throws InvalidFrameError */
  constructor(reader: ByteReader, count: number) {
    this.#rows = readTable(reader, MARKS, count)
  }

  /** The next `count` marks, with events in (since, asOf]. @throws InvalidFrameError */
  take(count: number, since: number, asOf: number): Mark[] {
    const { gap, counter, state, reason } = this.#rows
    const marks: Mark[] = []
    let event = since
    for (let end = this.#next + count; this.#next < end; this.#next++) {
      const before = event
      event += (gap[this.#next] as number) + 1
      const dot = counter[this.#next] as number
      checkEvent(event, dot, before, asOf)
      marks.push({ event, counter: dot, state: state[this.#next] as Mark['state'], reason: reason[this.#next] as number })
    }
    return marks
  }
}

function checkEvent(event: number, counter: number, before: number, asOf: number): void {
  checkInteger('marks.event', event, asOf, before + 1)
  // A dot is older than its mark.
  checkInteger('marks.counter', counter, event - 1, 1)
}
