import type { DeltaInterval } from '../../../src/crdt/index.ts'
import type { MapLimits } from './map-like.ts'
import type { Rule } from './rules.ts'
import type { Schedule } from './schedule.ts'

/** A schedule that a map survives with its rule, and not without it. */
export interface CounterExample {
  readonly id: string
  readonly rule: Rule
  /** What comes of it without the rule. */
  readonly effect: RegExp
  readonly limits?: MapLimits
  run(s: Schedule, sent: (interval: DeltaInterval) => DeltaInterval): void
}

/** The smallest frame. */
export const ONE = { adds: 1, marks: 1 }

export const GHOST = /entries = L\(head, head\)|no lost removal/
