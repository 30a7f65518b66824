import type { DeltaInterval } from '../../../src/crdt/index.ts'

/** A message of the naive design: dots added and removed by the events of (from, to]. */
export interface NaiveMessage {
  readonly from: number
  readonly to: number
  readonly adds: readonly number[]
  readonly removes: readonly number[]
}

/**
 * The design that does not work: one causal context for the events that are known and the dots that are dead, with
 * exceptions past a gap, as a set of numbers. An entry is its dot.
 */
export class OneContextMap {
  readonly context = new Set<number>()
  readonly live = new Set<number>()

  merge({ from, to, adds, removes }: NaiveMessage): void {
    const told = new Set(removes)
    for (let event = from + 1; event <= to; event++) {
      told.add(event)
    }
    for (const dot of adds) {
      if (!this.context.has(dot)) {
        this.live.add(dot)
      }
    }
    for (const dot of told) {
      this.context.add(dot)
      if (!adds.includes(dot)) {
        this.live.delete(dot)
      }
    }
  }

  /** The prefix that it has whole, as a relay with exceptions is tempted to serve it. */
  servePrefix(): NaiveMessage {
    let to = 0
    while (this.context.has(to + 1)) {
      to++
    }
    return { from: 0, to, adds: [...this.live].filter(dot => dot <= to), removes: [] }
  }
}

/** Composition that does not look whether the second starts where the first ends. */
export function composeBlindly(first: DeltaInterval, second: DeltaInterval): DeltaInterval {
  return { ...first, to: second.to, asOf: second.asOf, adds: [...first.adds, ...second.adds], marks: [...first.marks, ...second.marks] }
}
