import type { Random } from '../../tracker/environment.ts'

/**
 * How long a frame takes one way, in ms: always the same, evenly spread, or lognormal (most near the median, a long tail, as measured
 * on the internet; a `sigma` of 0.5 puts one in twenty beyond 2.3 medians).
 */
export type Latency =
  | number
  | { readonly kind: 'uniform'; readonly minMs: number; readonly maxMs: number }
  | { readonly kind: 'lognormal'; readonly medianMs: number; readonly sigma: number }

/** One draw, 0 or more. A constant draws nothing from `random`. */
export function drawLatency(latency: Latency, random: Random): number {
  if (typeof latency === 'number') {
    return latency
  }
  if (latency.kind === 'uniform') {
    return latency.minMs + random.nextFloat() * (latency.maxMs - latency.minMs)
  }
  return latency.medianMs * Math.exp(latency.sigma * drawNormal(random))
}

/** What is typical: the constant, or the median. */
export function medianLatency(latency: Latency): number {
  if (typeof latency === 'number') {
    return latency
  }
  return latency.kind === 'uniform' ? (latency.minMs + latency.maxMs) / 2 : latency.medianMs
}

/** @throws RangeError naming the value and what is allowed. */
export function checkLatency(name: string, latency: Latency): void {
  const isDuration = (value: number): boolean => Number.isFinite(value) && value >= 0
  const ok =
    typeof latency === 'number'
      ? isDuration(latency)
      : latency.kind === 'uniform'
        ? isDuration(latency.minMs) && isDuration(latency.maxMs) && latency.minMs <= latency.maxMs
        : isDuration(latency.medianMs) && isDuration(latency.sigma)
  if (!ok) {
    throw new RangeError(
      `${name} is ${JSON.stringify(latency)}, allowed is a number from 0, { kind: 'uniform', minMs, maxMs } or { kind: 'lognormal', medianMs, sigma }`
    )
  }
}

/** Box and Muller, one of the pair. */
function drawNormal(random: Random): number {
  const radius = Math.sqrt(-2 * Math.log(1 - random.nextFloat()))
  return radius * Math.cos(2 * Math.PI * random.nextFloat())
}
