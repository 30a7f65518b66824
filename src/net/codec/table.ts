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

/** At most 30 columns in the order of the wire. Append-only: a new version adds columns at the end. */
export interface TableSpec<K extends string> {
  readonly specs: Readonly<Record<K, ColumnSpec>>
  readonly names: readonly K[]
}

/** The rows of a table: per column one integer a row. */
export type ColumnsOf<K extends string> = { readonly [P in K]: number[] }
export type Columns<T> = T extends TableSpec<infer K> ? ColumnsOf<K> : never

export function table<K extends string>(specs: Readonly<Record<K, ColumnSpec>>): TableSpec<K> {
  return { specs, names: Object.keys(specs) as K[] }
}

export function column(field: string, fallback: number, max: number, min = 0): ColumnSpec {
  return { field, fallback, max, min }
}

export function emptyColumns<K extends string>({ names }: TableSpec<K>): ColumnsOf<K> {
  const columns = {} as Record<K, number[]>
  for (let i = 0; i < names.length; i++) {
    columns[names[i] as K] = []
  }
  return columns
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
      present |= 1 << i
    }
  }
  if (columns[names[0] as K].length === 0) {
    return
  }
  writer.varint(present)
  for (let i = 0; i < names.length; i++) {
    if (((present >> i) & 1) === 1) {
      writeColumn(writer, columns[names[i] as K])
    }
  }
}

/**
 * Reads the columns of a table of `rows` rows. The caller has bounded `rows`.
 *
 * @throws InvalidFrameError
 */
export function readTable<K extends string>(reader: ByteReader, spec: TableSpec<K>, rows: number): ColumnsOf<K> {
  if (rows === 0) {
    return emptyColumns(spec)
  }
  const { specs, names } = spec
  const present = reader.integer(specs[names[0] as K].field, 2 ** names.length - 1)
  const columns = {} as Record<K, number[]>
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as K
    const one = specs[name]
    if (((present >> i) & 1) === 1) {
      columns[name] = readColumn(reader, rows, one.field)
      checkValues(columns[name], one)
    } else {
      columns[name] = new Array<number>(rows).fill(one.fallback)
    }
  }
  return columns
}

/** How many rows of a column have this value: the number of new texts. */
export function countOf(values: readonly number[], wanted: number): number {
  let count = 0
  for (let i = 0; i < values.length; i++) {
    if (values[i] === wanted) {
      count++
    }
  }
  return count
}

/** Whether a value differs from the fallback. */
function checkValues(values: readonly number[], spec: ColumnSpec): boolean {
  const { min, max, fallback } = spec
  let differs = false
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number
    checkInteger(spec.field, value, max, min)
    differs ||= value !== fallback
  }
  return differs
}
