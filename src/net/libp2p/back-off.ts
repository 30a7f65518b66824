import type { Random } from '../../tracker/environment.ts'

const FIRST_MS = 500
/** While quick, and for ever for a replica that has no link at all. */
const QUICK_MAX_MS = 15_000
/** After so many failures, about two minutes, a member that others can do without is tried less and less. */
const QUICK_ATTEMPTS = 11
const SLOW_MAX_MS = 300_000
/** Half of a second lies between the dials of the two sides, so that one of them is in time to spare the other. */
const YIELD_MS = 500
const SPREAD_MIN_MS = 100
const SPREAD_PER_LINK_MS = 30
const SPREAD_MAX_MS = 3_000

/**
 * How long to wait after a dial has failed for the `failures`-th time in a row, jittered by a quarter either way.
 *
 * Doubles from 0.5 s to 15 s, stays there for two minutes, then doubles to 5 min: at most 30 dials in an hour (a test counts). A replica
 * that is `alone` stays at 15 s for ever: it is more likely cut off than all the others dead, and comes back within 15 s of the network.
 *
 * @param failures 1 or more.
 */
export function redialDelayMs(failures: number, alone: boolean, random: Random): number {
  const quick = Math.min(QUICK_MAX_MS, FIRST_MS * 2 ** Math.min(failures - 1, 30))
  const slow = Math.min(SLOW_MAX_MS, QUICK_MAX_MS * 2 ** Math.min(Math.max(0, failures - QUICK_ATTEMPTS), 30))
  return jitter(alone || failures <= QUICK_ATTEMPTS ? quick : slow, random)
}

/**
 * How long to wait before the first dial to a member that was just heard of or lost. The smaller id dials first; the larger waits a
 * little, as most often it is spared the dial. Spread by 30 ms for every other replica that may do the same now, at most 3 s, so that a
 * member that restarts in a large cluster is not run over.
 */
export function firstDelayMs(weAreSmaller: boolean, links: number, random: Random): number {
  const spreadMs = Math.min(SPREAD_MAX_MS, Math.max(SPREAD_MIN_MS, SPREAD_PER_LINK_MS * links))
  return (weAreSmaller ? 0 : YIELD_MS) + random.below(spreadMs)
}

const jitter = (ms: number, random: Random): number => ms * (0.75 + random.nextFloat() / 2)
