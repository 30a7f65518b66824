import type { LinkConditions } from '../net/simulated/conditions.ts'
import type { Random } from '../tracker/environment.ts'

/**
 * Something that goes wrong at a time, for a while. As data, so that a schedule can be shrunk. Replicas are indices, taken modulo
 * their number.
 */
export type Fault = { readonly atMs: number; readonly forMs: number } & FaultKind

export type FaultKind =
  /** Nothing passes between two replicas, or from the first to the second. */
  | { readonly kind: 'cut'; readonly one: number; readonly two: number; readonly oneWay: boolean }
  /** Nothing passes between those whose bit is set and the others. */
  | { readonly kind: 'split'; readonly group: number }
  /** Loss, duplication, reordering, latency, little capacity: from the first to the second. */
  | { readonly kind: 'slow'; readonly one: number; readonly two: number; readonly conditions: LinkConditions }
  /** Frames from the first to the second are held, and delivered afterwards in any order, some twice, some never, over whatever link there is then. */
  | { readonly kind: 'shuffle'; readonly one: number; readonly two: number }
  /** The link between two breaks once. */
  | { readonly kind: 'break'; readonly one: number; readonly two: number }
  /** The process stands still. */
  | { readonly kind: 'pause'; readonly replica: number }
  /** It dies, with its machine (`silent`) or alone, and comes back after `forMs` with the same id or a new one. */
  | { readonly kind: 'kill'; readonly replica: number; readonly silent: boolean; readonly newId: boolean }
  /** It is stopped in order, and comes back after `forMs`. */
  | { readonly kind: 'stop'; readonly replica: number; readonly announce: boolean }
  /** Its wall clock jumps. */
  | { readonly kind: 'clock'; readonly replica: number; readonly byMs: number }

export type FaultSchedule = readonly Fault[]

export interface FaultShape {
  readonly durationMs: number
  readonly faults: number
  /** How many replicas there are. */
  readonly replicas: number
}

const DURATIONS_MS = [200, 1_000, 3_000, 8_000, 20_000] as const
const JUMPS_MS = [-3_600_000, -5_000, 5_000, 3_600_000] as const

/** Faults at random times, in order. */
export function randomFaultSchedule(random: Random, { durationMs, faults, replicas }: FaultShape): FaultSchedule {
  const schedule: Fault[] = []
  for (let index = 0; index < faults; index++) {
    const typicalMs = DURATIONS_MS[random.below(DURATIONS_MS.length)] as number
    const forMs = Math.ceil(typicalMs * (0.5 + random.nextFloat()))
    schedule.push({ atMs: random.below(durationMs), forMs, ...randomKind(random, replicas) })
  }
  return schedule.sort((a, b) => a.atMs - b.atMs)
}

function randomKind(random: Random, replicas: number): FaultKind {
  const one = random.below(replicas)
  const two = (one + 1 + random.below(Math.max(1, replicas - 1))) % replicas
  const chance = (percent: number): boolean => random.below(100) < percent
  const draw = random.below(100)
  if (draw < 20) {
    return { kind: 'cut', one, two, oneWay: chance(35) }
  }
  if (draw < 30) {
    return { kind: 'split', group: 1 + random.below(2 ** replicas - 1) }
  }
  if (draw < 48) {
    return { kind: 'slow', one, two, conditions: randomConditions(random) }
  }
  if (draw < 54) {
    return { kind: 'break', one, two }
  }
  if (draw < 60) {
    return { kind: 'shuffle', one, two }
  }
  if (draw < 72) {
    return { kind: 'pause', replica: one }
  }
  if (draw < 86) {
    return { kind: 'kill', replica: one, silent: chance(30), newId: chance(15) }
  }
  if (draw < 92) {
    return { kind: 'stop', replica: one, announce: chance(30) }
  }
  return { kind: 'clock', replica: one, byMs: JUMPS_MS[random.below(JUMPS_MS.length)] as number }
}

function randomConditions(random: Random): LinkConditions {
  const lossModes = ['frame', 'retransmit', 'break'] as const
  switch (random.below(5)) {
    case 0:
      return { latencyMs: { kind: 'lognormal', medianMs: 20 + random.below(150), sigma: 0.5 } }
    case 1:
      return { lossRate: random.nextFloat() * 0.3, lossMode: lossModes[random.below(3)] as 'frame' }
    case 2:
      return { duplicateRate: random.nextFloat() * 0.5, reorder: true, reorderWindowMs: 10 + random.below(400) }
    case 3:
      return { bytesPerSecond: 200 + random.below(20_000) }
    default:
      return { latencyMs: { kind: 'uniform', minMs: 0, maxMs: 300 }, lossRate: 0.05, duplicateRate: 0.05, reorder: true }
  }
}
