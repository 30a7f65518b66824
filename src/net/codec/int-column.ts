import type { ByteReader } from './byte-reader.ts'
import { type ByteWriter, varintSize } from './byte-writer.ts'
import { InvalidFrameError } from './invalid-frame-error.ts'

/**
 * A column of n integers, in the shortest of eight forms. Its head is the varint `argument · 8 + delta · 4 + mode`.
 *
 * | mode | argument | what follows |
 * |---|---|---|
 * | 0 constant | the value, below 2^49 | nothing |
 * | 1 runs | number of runs | per run: its length − 1, its value, as varints |
 * | 2 varints | 0 | n varints |
 * | 3 packed | width in bits, 1 … 53 | the least value as a varint, then n values less that, `width` bits each, low bits first |
 *
 * With delta set, the first value stands as a varint after the head, and the column is that of the n − 1 zigzag differences.
 */
const CONSTANT = 0
const RUNS = 1
const VARINTS = 2
const PACKED = 3
const DELTA = 4
const MAX_CONSTANT = 2 ** 49
const MAX_WIDTH = 53
/** Bits that are moved at once: with seven left over they fit 31, so that shifts stay exact. */
const CHUNK_BITS = 24

type Values = readonly number[]

interface Plan {
  readonly head: number
  /** Bytes, the head's own included. */
  readonly size: number
  readonly min: number
  /** The zigzag differences, when those are shorter. */
  readonly deltas: number[] | undefined
}

/** How many bytes `writeColumn` needs. */
export function columnSize(values: Values): number {
  return values.length === 0 ? 0 : plan(values).size
}

/**
 * Writes integers 0 … 2^52, which the caller has checked: then no zigzag difference is above 2^53. An empty column has no bytes.
 */
export function writeColumn(writer: ByteWriter, values: Values): void {
  if (values.length === 0) {
    return
  }
  const { head, min, deltas } = plan(values)
  writer.varint(head)
  if (deltas !== undefined) {
    writer.varint(values[0] as number)
  }
  const rows = deltas ?? values
  const mode = head % DELTA
  if (mode === RUNS) {
    writeRuns(writer, rows)
  } else if (mode === VARINTS) {
    for (let i = 0; i < rows.length; i++) {
      writer.varint(rows[i] as number)
    }
  } else if (mode === PACKED) {
    writer.varint(min)
    writePacked(writer, rows, min, Math.floor(head / 8))
  }
}

/** Reads `count` integers. The caller has bounded `count`; ranges of the values are the caller's, too. */
export function readColumn(reader: ByteReader, count: number, field: string): number[] {
  if (count === 0) {
    return []
  }
  const head = reader.varint(field)
  if (head % 8 < DELTA) {
    return readRows(reader, count, head, field)
  }
  const first = reader.varint(field)
  if (count < 2) {
    throw new InvalidFrameError(field, count, 'at least two rows in a column of differences')
  }
  return integrate(first, readRows(reader, count - 1, head, field))
}

function plan(values: Values): Plan {
  const plain = planRows(values)
  if (values.length < 2 || plain.head % 8 === CONSTANT) {
    return plain
  }
  const deltas = differences(values)
  const viaDeltas = planRows(deltas)
  const size = viaDeltas.size + varintSize(values[0] as number)
  return size < plain.size ? { head: viaDeltas.head + DELTA, size, min: viaDeltas.min, deltas } : plain
}

function planRows(values: Values): Plan {
  let previous = values[0] as number
  let min = previous
  let max = previous
  let varints = varintSize(previous)
  let runs = 1
  let runBytes = varints
  let runStart = 0
  for (let i = 1; i < values.length; i++) {
    const value = values[i] as number
    const size = varintSize(value)
    varints += size
    if (value !== previous) {
      runBytes += varintSize(i - runStart - 1) + size
      runs++
      runStart = i
      previous = value
      min = Math.min(value, min)
      max = Math.max(value, max)
    }
  }
  runBytes += varintSize(values.length - runStart - 1)
  if (runs === 1 && min < MAX_CONSTANT) {
    return candidate(min * 8 + CONSTANT, 0, min)
  }
  return shortest(candidate(runs * 8 + RUNS, runBytes, min), candidate(VARINTS, varints, min), planPacked(values.length, min, max))
}

function candidate(head: number, bodyBytes: number, min: number): Plan {
  return { head, size: varintSize(head) + bodyBytes, min, deltas: undefined }
}

function planPacked(count: number, min: number, max: number): Plan {
  const width = Math.max(1, bitLength(max - min))
  const bytes = width > MAX_WIDTH ? Number.POSITIVE_INFINITY : Math.ceil((count * width) / 8)
  return candidate(width * 8 + PACKED, varintSize(min) + bytes, min)
}

/** The first of the shortest: an encoder must not depend on chance. */
function shortest(...plans: readonly Plan[]): Plan {
  return plans.reduce((best, next) => (next.size < best.size ? next : best))
}

function bitLength(value: number): number {
  return value < 2 ** 31 ? 32 - Math.clz32(value) : 32 + bitLength(Math.floor(value / 2 ** 32))
}

function differences(values: Values): number[] {
  const result = new Array<number>(values.length - 1)
  for (let i = 1; i < values.length; i++) {
    const difference = (values[i] as number) - (values[i - 1] as number)
    result[i - 1] = difference < 0 ? -2 * difference - 1 : 2 * difference
  }
  return result
}

function integrate(first: number, zigzags: number[]): number[] {
  const result = new Array<number>(zigzags.length + 1)
  result[0] = first
  let value = first
  for (let i = 0; i < zigzags.length; i++) {
    const zigzag = zigzags[i] as number
    value += zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2
    result[i + 1] = value
  }
  return result
}

function writeRuns(writer: ByteWriter, rows: Values): void {
  let start = 0
  for (let i = 1; i <= rows.length; i++) {
    if (i === rows.length || rows[i] !== rows[start]) {
      writer.varint(i - start - 1)
      writer.varint(rows[start] as number)
      start = i
    }
  }
}

function readRows(reader: ByteReader, count: number, head: number, field: string): number[] {
  const argument = Math.floor(head / 8)
  switch (head % DELTA) {
    case CONSTANT:
      return new Array<number>(count).fill(argument)
    case RUNS:
      return readRuns(reader, count, argument, field)
    case VARINTS:
      return readVarints(reader, count, argument, field)
    default:
      return readPacked(reader, count, argument, field)
  }
}

function readRuns(reader: ByteReader, count: number, runs: number, field: string): number[] {
  const result = new Array<number>(count)
  let filled = 0
  for (let run = 0; run < runs; run++) {
    const end = filled + reader.integer(field, count) + 1
    result.fill(reader.varint(field), filled, end)
    filled = end
  }
  if (filled !== count) {
    throw new InvalidFrameError(field, filled, `runs over ${count} rows in all`)
  }
  return result
}

function readVarints(reader: ByteReader, count: number, argument: number, field: string): number[] {
  if (argument !== 0) {
    throw new InvalidFrameError(field, argument, '0 as the argument of a column of varints')
  }
  if (count > reader.remaining) {
    throw new InvalidFrameError(field, count, `at most ${reader.remaining} rows, one per byte that the frame has left`)
  }
  const result = new Array<number>(count)
  for (let i = 0; i < count; i++) {
    result[i] = reader.varint(field)
  }
  return result
}

function writePacked(writer: ByteWriter, rows: Values, min: number, width: number): void {
  let bits = 0
  let held = 0
  for (let i = 0; i < rows.length; i++) {
    let rest = (rows[i] as number) - min
    for (let left = width; left > 0; left -= CHUNK_BITS) {
      bits |= (rest % 2 ** CHUNK_BITS) << held
      held += Math.min(left, CHUNK_BITS)
      rest = Math.floor(rest / 2 ** CHUNK_BITS)
      while (held >= 8) {
        writer.byte(bits & 255)
        bits >>>= 8
        held -= 8
      }
    }
  }
  if (held > 0) {
    writer.byte(bits)
  }
}

function readPacked(reader: ByteReader, count: number, width: number, field: string): number[] {
  if (width < 1 || width > MAX_WIDTH) {
    throw new InvalidFrameError(field, width, `a width of 1 to ${MAX_WIDTH} bits`)
  }
  const min = reader.varint(field)
  const bytes = reader.raw(Math.ceil((count * width) / 8), field)
  const result = new Array<number>(count)
  let next = 0
  let bits = 0
  let held = 0
  for (let i = 0; i < count; i++) {
    let value = min
    let scale = 1
    for (let left = width; left > 0; left -= CHUNK_BITS) {
      const take = Math.min(left, CHUNK_BITS)
      while (held < take) {
        bits |= (bytes[next++] as number) << held
        held += 8
      }
      value += (bits & (2 ** take - 1)) * scale
      bits >>>= take
      held -= take
      scale *= 2 ** CHUNK_BITS
    }
    result[i] = value
  }
  if (bits !== 0) {
    throw new InvalidFrameError(field, bits, 'zero in the bits that fill up the last byte')
  }
  return result
}
