import { type ByteReader, textOf } from './byte-reader.ts'
import { type ByteWriter, utf8 } from './byte-writer.ts'
import { columnSize } from './int-column.ts'
import { InvalidFrameError } from './invalid-frame-error.ts'
import { type Columns, column, countOf, readTable, table, writeTable } from './table.ts'
import type { TextBudget, TextSpec } from './text-budget.ts'

/** Decimal digits at the end of a text that may travel as a number: it stays a safe integer. */
const MAX_DIGITS = 15

/**
 * A text is a stem and, perhaps, a number behind it. Per text: the stem, 0 for a new one, d for the d-th newest; the number, 0 for
 * none, else the number + 1.
 */
const TEXTS = table({ stem: column('texts.stem', 0, 2 ** 32), number: column('texts.number', 0, 10 ** MAX_DIGITS) })
/** Per new stem: how many bytes it has in common with the stem before, and how many follow. */
const STEMS = table({ shared: column('texts.shared', 0, 2 ** 32), bytes: column('texts.bytes', 0, 2 ** 32) })

interface TextRows {
  readonly rows: Columns<typeof TEXTS>
  readonly stems: readonly string[]
}

/**
 * Writes texts, checked by `spendText`, whose number the reader knows. Numbers are split off (`user:17`, `user:4711`) when that
 * leaves at most half as many stems, or for a single text.
 *
 * @throws InvalidFrameError when what stems share goes past the budget
 */
export function writeTexts(writer: ByteWriter, texts: readonly string[], spec: TextSpec, budget: TextBudget): void {
  if (texts.length === 0) {
    return
  }
  const { rows, stems } = splitTexts(texts)
  writeTable(writer, TEXTS, rows)
  writeStems(writer, stems, spec, budget)
}

/** Reads `count` texts. @throws InvalidFrameError */
export function readTexts(reader: ByteReader, count: number, spec: TextSpec, budget: TextBudget): string[] {
  const rows = readTable(reader, TEXTS, count)
  const fresh = readStems(reader, countOf(rows.stem, 0), spec, budget)
  const texts: string[] = []
  let known = 0
  for (let i = 0; i < count; i++) {
    const distance = rows.stem[i] as number
    const stem = fresh[distance === 0 ? known++ : known - distance]
    if (stem === undefined) {
      throw new InvalidFrameError(`${spec.field}.stem`, distance, `at most ${known}, the stems so far`)
    }
    texts.push(assemble(stem, rows.number[i] as number, spec, budget))
  }
  return texts
}

interface Stem {
  readonly text: string
  readonly bytes: number
}

function readStems(reader: ByteReader, count: number, spec: TextSpec, budget: TextBudget): Stem[] {
  const rows = readTable(reader, STEMS, count)
  const stems: Stem[] = []
  let before: Uint8Array = new Uint8Array(0)
  for (let i = 0; i < count; i++) {
    const shared = rows.shared[i] as number
    const tail = reader.raw(rows.bytes[i] as number, spec.field)
    if (shared > before.length) {
      throw new InvalidFrameError(`${spec.field}.shared`, shared, `at most ${before.length}, the length of the stem before`)
    }
    if (shared + tail.length > spec.maxBytes) {
      throw new InvalidFrameError(spec.field, `${shared + tail.length} bytes`, `at most ${spec.maxBytes} bytes of UTF-8`)
    }
    budget.spend(shared, spec.field)
    before = shared === 0 ? tail : joined(before.subarray(0, shared), tail)
    stems.push({ text: textOf(before, spec.field), bytes: before.length })
  }
  return stems
}

function assemble(stem: Stem, number: number, spec: TextSpec, budget: TextBudget): string {
  const digits = number === 0 ? '' : String(number - 1)
  const bytes = stem.bytes + digits.length
  if (bytes < spec.minBytes || bytes > spec.maxBytes) {
    throw new InvalidFrameError(spec.field, `${bytes} bytes`, `${spec.minBytes} to ${spec.maxBytes} bytes of UTF-8`)
  }
  budget.spend(bytes, spec.field)
  return stem.text + digits
}

function splitTexts(texts: readonly string[]): TextRows {
  const positions = new Map<string, number>()
  const rows: Columns<typeof TEXTS> = { stem: [], number: [] }
  for (const text of texts) {
    const cut = text.length - digitsAtEnd(text)
    const stem = text.slice(0, cut)
    const position = positions.get(stem)
    rows.stem.push(position === undefined ? 0 : positions.size - position)
    rows.number.push(cut === text.length ? 0 : Number(text.slice(cut)) + 1)
    if (position === undefined) {
      positions.set(stem, positions.size)
    }
    if (positions.size > Math.max(1, texts.length / 2)) {
      return wholeTexts(texts)
    }
  }
  return { rows, stems: [...positions.keys()] }
}

/** Each text is a stem of its own: the writer's caller has sorted out equal ones. */
function wholeTexts(texts: readonly string[]): TextRows {
  const zeros = texts.map(() => 0)
  return { rows: { stem: zeros, number: zeros }, stems: texts }
}

/** Stems share their beginnings when that saves bytes. */
function writeStems(writer: ByteWriter, stems: readonly string[], spec: TextSpec, budget: TextBudget): void {
  const encoded = stems.map(stem => utf8(stem))
  const none = encoded.map(() => 0)
  const common = encoded.map((bytes, i) => (i === 0 ? 0 : commonBytes(encoded[i - 1] as Uint8Array, bytes)))
  const shared = stemBytes(encoded, common) < stemBytes(encoded, none) ? common : none
  writeTable(writer, STEMS, { shared, bytes: encoded.map((bytes, i) => bytes.length - (shared[i] as number)) })
  for (let i = 0; i < encoded.length; i++) {
    const cut = shared[i] as number
    budget.spend(cut, spec.field)
    writer.raw(cut === 0 ? (encoded[i] as Uint8Array) : (encoded[i] as Uint8Array).subarray(cut))
  }
}

function stemBytes(encoded: readonly Uint8Array[], shared: readonly number[]): number {
  const tails = encoded.map((bytes, i) => bytes.length - (shared[i] as number))
  const sharedColumn = shared.every(value => value === 0) ? 0 : columnSize(shared)
  return tails.reduce((sum, bytes) => sum + bytes, sharedColumn + columnSize(tails))
}

/** Digits that come back the same from a number: no leading zeros, at most 15. */
function digitsAtEnd(text: string): number {
  const first = Math.max(0, text.length - MAX_DIGITS)
  let start = text.length
  while (start > first && isDigit(text.charCodeAt(start - 1))) {
    start--
  }
  while (start < text.length - 1 && text.charCodeAt(start) === ZERO) {
    start++
  }
  return text.length - start
}

const ZERO = '0'.charCodeAt(0)
const isDigit = (code: number): boolean => code >= ZERO && code < ZERO + 10

function commonBytes(a: Uint8Array, b: Uint8Array): number {
  const end = Math.min(a.length, b.length)
  let i = 0
  while (i < end && a[i] === b[i]) {
    i++
  }
  return i
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(a.length + b.length)
  bytes.set(a)
  bytes.set(b, a.length)
  return bytes
}
