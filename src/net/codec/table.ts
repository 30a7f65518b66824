import type { ByteReader } from './byte-reader.ts'
import type { ByteWriter } from './byte-writer.ts'
import { checkInteger } from './checks.ts'
import { readColumn, writeColumn } from './int-column.ts'

/** One column: its place in the message, its range, and the value of every row when it is left out. */
export interface ColumnSpec {
  readonly field: string
  readonly fallback: number
  readonly max: number
  readonly min: number
}

/** Columns in the order of the wire. Append-only: a new version adds columns at the end. */
export interface TableSpec<K extends string> {
  readonly specs: Readonly<Record<K, ColumnSpec>>
  readonly names: readonly K[]
}

/** The rows of a table while they are gathered, and as they were read. */
export type Columns<T> = T extends TableSpec<infer K> ? { readonly [P in K]: number[] } : never
export type ReadColumns<T> = T extends TableSpec<infer K> ? { readonly [P in K]: Float64Array } : never

export function table<K extends string>(specs: Readonly<Record<K, ColumnSpec>>): TableSpec<K> {
  return { specs, names: Object.keys(specs) as K[] }
}

export function column(field: string, fallback: number, max: number, min = 0): ColumnSpec {
  return { field, fallback, max, min }
}

export function emptyColumns<K extends string>(spec: TableSpec<K>): { readonly [P in K]: number[] } {
  return Object.fromEntries(spec.names.map(name => [name, []])) as unknown as { readonly [P in K]: number[] }
}

/**
 * Writes rows as columns: a varint with one bit per column that is there, then those. A column whose rows all have its
 * fallback is left out. A table without rows has no bytes.
 *
 * @throws InvalidFrameError for a value out of its column's range
 */
export function writeTable<K extends string>(
  writer: ByteWriter,
  { specs, names }: TableSpec<K>,
  columns: { readonly [P in K]: readonly number[] }
): void {
  let present = 0
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as K
    if (checkValues(columns[name], specs[name])) {
      present += 2 ** i
    }
  }
  if (columns[names[0] as K].length === 0) {
    return
  }
  writer.varint(present)
  for (let i = 0; i < names.length; i++) {
    if (hasBit(present, i)) {
      writeColumn(writer, columns[names[i] as K])
    }
  }
}

/**
 * Reads the columns of a table of `rows` rows. The caller has bounded `rows`.
 *
 * @throws InvalidFrameError
 */
export function readTable<K extends string>(
  reader: ByteReader,
  { specs, names }: TableSpec<K>,
  rows: number
): { readonly [P in K]: Float64Array } {
  const present = rows === 0 ? 0 : reader.integer(specs[names[0] as K].field, 2 ** names.length - 1)
  const columns = {} as Record<K, Float64Array>
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as K
    const spec = specs[name]
    if (hasBit(present, i)) {
      columns[name] = readColumn(reader, rows, spec.field)
      checkValues(columns[name], spec)
    } else {
      columns[name] = new Float64Array(rows).fill(spec.fallback)
    }
  }
  return columns
}

/** How many rows of a column have this value: the number of new texts. */
export function countOf(values: Float64Array, wanted: number): number {
  let count = 0
  for (let i = 0; i < values.length; i++) {
    if (values[i] === wanted) {
      count++
    }
  }
  return count
}

function hasBit(bits: number, index: number): boolean {
  return Math.floor(bits / 2 ** index) % 2 === 1
}

/** Whether a value differs from the fallback. */
function checkValues(values: ArrayLike<number>, spec: ColumnSpec): boolean {
  const { min, max, fallback } = spec
  let differs = false
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number
    checkInteger(spec.field, value, max, min)
    differs ||= value !== fallback
  }
  return differs
}
