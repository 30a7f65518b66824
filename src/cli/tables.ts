import Table from 'cli-table3'
import pc from 'picocolors'
import type { ReplicaInfo } from '../tracker/types.ts'

const PLAIN = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  '
}

/** A table for people: a dim head, columns two spaces apart, nothing else. */
export function renderTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const table = new Table({
    head: head.map(name => pc.dim(name)),
    chars: PLAIN,
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [], compact: true }
  })
  table.push(...rows.map(row => [...row]))
  return table
    .toString()
    .split('\n')
    .map(line => line.trimEnd())
    .join('\n')
}

/** `up` green, `suspect` yellow, `down` red. */
export function colorStatus(status: ReplicaInfo['status'] | 'unknown'): string {
  return status === 'up' ? pc.green(status) : status === 'suspect' ? pc.yellow(status) : pc.red(status)
}

/** `1 key`, `2 keys`. */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
