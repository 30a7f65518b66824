import type { Address } from '../net/simulated/dialler.ts'
import type { SimulatedNetworkOptions } from '../net/simulated-network.ts'
import type { TrackerOptions } from '../tracker/options.ts'

/** Which replicas know each other: all, or each the next, the next in a ring, the first; or as a function says, asked in both orders. */
export type Topology = 'mesh' | 'line' | 'ring' | 'star' | ((one: Address, two: Address) => boolean)

export interface SimulationOptions {
  /** Everything random follows from it. Default 1. */
  readonly seed?: number | string
  /** How many to start with, named `a`, `b`, `c` … Default 3. */
  readonly replicas?: number
  /** Of every tracker, or of the one named. Transport and environment are the simulation's. */
  readonly options?: SimTrackerOptions | ((name: string) => SimTrackerOptions)
  /** Default `mesh`. */
  readonly topology?: Topology
  /** Latency, buffers, time-outs. */
  readonly network?: Omit<SimulatedNetworkOptions, 'environment' | 'topology' | 'onDelivered'>
  /**
   * `step`: after each step of a replica, what it lists is compared with what it told; a difference throws from `run`. Above 200
   * presences only now and then. `manual`: when `checkInvariants` is called. Default `step`.
   */
  readonly checks?: 'step' | 'manual'
  /** What all wall clocks show at the start, in ms since 1970. Default: the beginning of 2026. */
  readonly wallClockMs?: number
}

export type SimTrackerOptions = Omit<TrackerOptions, 'transport' | 'environment'>

/** The beginning of 2026, UTC. */
export const WALL_CLOCK_MS = 1_767_225_600_000

/** `a` … `z`, then `r26`, `r27` … */
export function replicaName(index: number): string {
  return index < 26 ? String.fromCharCode(97 + index) : `r${index}`
}

/** `order`: all names so far, in the order of their joining. */
export function resolveTopology(topology: Topology, order: readonly Address[]): (one: Address, two: Address) => boolean {
  if (typeof topology === 'function') {
    return (one, two) => topology(one, two) || topology(two, one)
  }
  if (topology === 'mesh') {
    return () => true
  }
  return (one, two) => {
    const [i, j] = [order.indexOf(one), order.indexOf(two)]
    const apart = Math.abs(i - j)
    return topology === 'star' ? i === 0 || j === 0 : apart === 1 || (topology === 'ring' && apart === order.length - 1)
  }
}
