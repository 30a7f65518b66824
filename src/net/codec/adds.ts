import type { DeltaInterval } from '../../crdt/delta-interval.ts'
import { MAX_COUNTER } from '../../crdt/dot.ts'
import { createEntry, type Entry, type EntryContent, type EntryState, type Over } from '../../crdt/entry.ts'
import type { ByteReader } from './byte-reader.ts'
import type { ByteWriter } from './byte-writer.ts'
import { checkCount, checkedList, checkInteger } from './checks.ts'
import { DictionaryReader, DictionaryWriter } from './dictionary.ts'
import type { FrameLimits } from './frame-limits.ts'
import { checkMeta, NO_META } from './meta.ts'
import type { PayloadReader, PayloadWriter } from './payload.ts'
import type { ReplicaTable, ReplicaTableWriter } from './replica-table.ts'
import { readSessions, SessionWriter } from './session-column.ts'
import { type Columns, column, countOf, emptyColumns, readTable, table, writeTable } from './table.ts'
import { readTexts, writeTexts } from './text-block.ts'
import type { TextBudget, TextSpec } from './text-budget.ts'

/** References to texts, prefixes and refs are bounded by the number of those, not by this. */
const REFERENCE = 2 ** 32

/** The fallbacks are what a first join has: new names, the user its own key, no meta, epoch 1. */
const ADDS = table({
  topic: column('adds.topic', 0, REFERENCE),
  key: column('adds.key', 0, REFERENCE),
  session: column('adds.session', 0, REFERENCE),
  connection: column('adds.connection', 0, MAX_COUNTER),
  meta: column('adds.meta', 1, REFERENCE),
  joinedAt: column('adds.joinedAt', 0, MAX_COUNTER),
  /** 0: the same as the key, 1: new, d + 1: the d-th newest of the keys and users. */
  user: column('adds.user', 0, REFERENCE),
  /** Dots that were passed over since the add before, or since `from`. */
  gap: column('adds.counter', 0, MAX_COUNTER),
  /** 4 … 6 are kept for bare adds: a dot and its state without content, for a receiver that has it. */
  state: column('adds.state', 0, 2),
  revision: column('adds.revision', 0, MAX_COUNTER),
  epoch: column('adds.epoch', 1, MAX_COUNTER),
  overs: column('adds.over', 0, REFERENCE)
})

const OVERS = table({ replica: column('adds.over.replica', 0, REFERENCE), head: column('adds.over.head', 0, MAX_COUNTER) })

/** The entries of all intervals of a frame, as columns. */
export class AddsWriter {
  readonly #replicas: ReplicaTableWriter
  readonly #limits: FrameLimits
  readonly #budget: TextBudget
  readonly #topics: DictionaryWriter
  /** Keys and users are one kind of name: often one text is both. */
  readonly #names: DictionaryWriter
  readonly #metas: DictionaryWriter
  readonly #sessions = new SessionWriter()
  readonly #rows = emptyColumns(ADDS)
  readonly #overs = emptyColumns(OVERS)

  constructor({ replicas, limits, budget }: PayloadWriter) {
    this.#replicas = replicas
    this.#limits = limits
    this.#budget = budget
    this.#topics = new DictionaryWriter(nameSpec('adds.topic', limits), budget)
    this.#names = new DictionaryWriter(nameSpec('adds.key', limits), budget)
    this.#metas = new DictionaryWriter(metaSpec(limits), budget, [NO_META])
  }

  /** Takes the entries of one interval. @throws InvalidFrameError */
  take(interval: DeltaInterval): void {
    let before = interval.from
    for (const entry of checkedList('adds', interval.adds, this.#limits.adds - this.#rows.gap.length)) {
      checkInteger('adds.counter', entry.counter, interval.to, before + 1)
      this.#rows.gap.push(entry.counter - before - 1)
      before = entry.counter
      this.#take(entry)
    }
  }

  write(writer: ByteWriter): void {
    writeTable(writer, ADDS, { ...this.#rows, session: this.#sessions.references })
    writeTable(writer, OVERS, this.#overs)
    for (const { fresh, spec } of [this.#topics, this.#names, this.#metas]) {
      writeTexts(writer, fresh, spec, this.#budget)
    }
    for (const meta of this.#metas.fresh) {
      checkMeta(meta)
    }
    this.#sessions.write(writer)
  }

  #take(entry: Entry): void {
    const rows = this.#rows
    rows.state.push(entry.state)
    rows.topic.push(this.#topics.reference(entry.topic))
    rows.key.push(this.#names.reference(entry.key))
    rows.user.push(entry.user === entry.key ? 0 : 1 + this.#names.reference(entry.user))
    this.#sessions.add(entry.session)
    rows.connection.push(entry.connection)
    rows.meta.push(this.#metas.reference(entry.meta))
    rows.joinedAt.push(entry.joinedAt)
    rows.revision.push(entry.revision)
    rows.epoch.push(entry.epoch)
    const overs = checkedList('adds.over', entry.over, this.#limits.oversPerEntry)
    rows.overs.push(overs.length)
    for (const over of overs) {
      this.#overs.replica.push(this.#replicas.ref(over.replica))
      this.#overs.head.push(over.head)
    }
    checkCount('adds.over', this.#overs.head.length, this.#limits.overs)
    spendTexts(this.#budget, entry)
  }
}

/** Hands out the entries of a frame, interval by interval. */
export class AddsReader {
  readonly #rows: Columns<typeof ADDS>
  readonly #overs: readonly Over[]
  readonly #topics: DictionaryReader
  readonly #names: DictionaryReader
  readonly #metas: DictionaryReader
  readonly #sessions: readonly string[]
  readonly #budget: TextBudget
  #next = 0
  #nextOver = 0

  /** @throws InvalidFrameError */
  constructor({ reader, limits, budget }: PayloadReader, count: number, replicas: ReplicaTable) {
    const rows = readTable(reader, ADDS, count)
    this.#budget = budget
    this.#rows = rows
    this.#overs = readOvers(reader, rows.overs, replicas, limits)
    const texts = (spec: TextSpec, fresh: number): string[] => readTexts(reader, fresh, spec, budget)
    this.#topics = new DictionaryReader(texts(nameSpec('adds.topic', limits), countOf(rows.topic, 0)))
    this.#names = new DictionaryReader(texts(nameSpec('adds.key', limits), countOf(rows.key, 0) + countOf(rows.user, 1)))
    const metas = texts(metaSpec(limits), countOf(rows.meta, 0))
    for (const meta of metas) {
      checkMeta(meta)
    }
    this.#metas = new DictionaryReader(metas, [NO_META])
    this.#sessions = readSessions(reader, rows.session)
  }

  /** The next `count` entries, with dots in (from, to]. @throws InvalidFrameError */
  take(count: number, from: number, to: number): Entry[] {
    const adds: Entry[] = []
    let counter = from
    for (let end = this.#next + count; this.#next < end; this.#next++) {
      const before = counter
      counter += (this.#rows.gap[this.#next] as number) + 1
      checkInteger('adds.counter', counter, to, before + 1)
      adds.push(this.#entry(this.#next, counter))
    }
    return adds
  }

  #entry(row: number, counter: number): Entry {
    const rows = this.#rows
    const topic = this.#topics.resolve(rows.topic[row] as number, 'adds.topic')
    const key = this.#names.resolve(rows.key[row] as number, 'adds.key')
    const user = rows.user[row] as number
    const firstOver = this.#nextOver
    this.#nextOver += rows.overs[row] as number
    const content = {
      topic,
      key,
      user: user === 0 ? key : this.#names.resolve(user - 1, 'adds.user'),
      session: this.#sessions[row] as string,
      connection: rows.connection[row] as number,
      meta: this.#metas.resolve(rows.meta[row] as number, 'adds.meta'),
      joinedAt: rows.joinedAt[row] as number,
      revision: rows.revision[row] as number,
      epoch: rows.epoch[row] as number,
      over: firstOver === this.#nextOver ? NOBODY : this.#overs.slice(firstOver, this.#nextOver)
    }
    spendTexts(this.#budget, content)
    return createEntry(content, counter, rows.state[row] as EntryState)
  }
}

const NOBODY: readonly Over[] = Object.freeze([])

function readOvers(reader: ByteReader, counts: readonly number[], replicas: ReplicaTable, limits: FrameLimits): Over[] {
  let total = 0
  for (const count of counts) {
    checkCount('adds.over', count, limits.oversPerEntry)
    total += count
  }
  checkCount('adds.over', total, limits.overs)
  const { replica, head } = readTable(reader, OVERS, total)
  return Array.from(head, (value, i) => ({ replica: replicas.ref(replica[i] as number, 'adds.over.replica'), head: value }))
}

/**
 * A text stands in a frame once, but every entry that has it is hashed with it: few bytes with one long meta for thousands of
 * entries would be seconds of work.
 */
function spendTexts(budget: TextBudget, { topic, key, user, meta }: EntryContent): void {
  budget.spend(topic.length + key.length + user.length + meta.length, 'adds')
}

function nameSpec(field: string, limits: FrameLimits): TextSpec {
  return { field, minBytes: 0, maxBytes: limits.nameBytes }
}

function metaSpec(limits: FrameLimits): TextSpec {
  return { field: 'adds.meta', minBytes: NO_META.length, maxBytes: limits.metaBytes }
}
