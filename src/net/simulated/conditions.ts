import { checkLatency, type Latency } from './latency.ts'

/** What one direction between two addresses does to frames. */
export interface LinkConditions {
  /** One way. Default: the network's. */
  readonly latencyMs?: Latency
  /** The share of frames that is lost, 0 … 1. What a loss does: `lossMode`. Default 0. */
  readonly lossRate?: number
  /**
   * `frame`: it is gone, and the link goes on, which no stream does; whoever survives this survives much. `retransmit`: it comes late,
   * and all behind it, as in TCP. `break`: the link breaks. Default `frame`.
   */
  readonly lossMode?: LossMode
  /** The share of frames that arrives twice, 0 … 1. Default 0. */
  readonly duplicateRate?: number
  /** Frames overtake each other within `reorderWindowMs`. Default false: in order within each lane. */
  readonly reorder?: boolean
  /** Default 50 ms. */
  readonly reorderWindowMs?: number
  /** The capacity for everything but heartbeats, which go between. Default: unlimited. */
  readonly bytesPerSecond?: number
}

export type LossMode = 'frame' | 'retransmit' | 'break'

export type ResolvedConditions = { readonly [K in keyof LinkConditions]-?: NonNullable<LinkConditions[K]> }

/**
 * Fills in what is not given.
 *
 * @throws RangeError naming the condition, its value and what is allowed.
 */
export function resolveConditions(given: LinkConditions, fallback: ResolvedConditions): ResolvedConditions {
  const conditions: ResolvedConditions = {
    latencyMs: given.latencyMs ?? fallback.latencyMs,
    lossRate: given.lossRate ?? fallback.lossRate,
    lossMode: given.lossMode ?? fallback.lossMode,
    duplicateRate: given.duplicateRate ?? fallback.duplicateRate,
    reorder: given.reorder ?? fallback.reorder,
    reorderWindowMs: given.reorderWindowMs ?? fallback.reorderWindowMs,
    bytesPerSecond: given.bytesPerSecond ?? fallback.bytesPerSecond
  }
  checkLatency('latencyMs', conditions.latencyMs)
  for (const name of ['lossRate', 'duplicateRate'] as const) {
    if (!(conditions[name] >= 0 && conditions[name] <= 1)) {
      throw new RangeError(`${name} is ${conditions[name]}, allowed is a number from 0 to 1`)
    }
  }
  if (!(conditions.bytesPerSecond > 0)) {
    throw new RangeError(`bytesPerSecond is ${conditions.bytesPerSecond}, allowed is a number above 0`)
  }
  if (!(conditions.reorderWindowMs >= 0)) {
    throw new RangeError(`reorderWindowMs is ${conditions.reorderWindowMs}, allowed is a number from 0`)
  }
  return conditions
}

/** A good local network, for tests that count round trips: 1 ms one way, nothing lost. */
export const CALM: ResolvedConditions = {
  latencyMs: 1,
  lossRate: 0,
  lossMode: 'frame',
  duplicateRate: 0,
  reorder: false,
  reorderWindowMs: 50,
  bytesPerSecond: Number.POSITIVE_INFINITY
}
