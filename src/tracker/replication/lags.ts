import { type ReplicaRef, refKey } from '../../crdt/dot.ts'
import type { OrMap } from '../../crdt/or-map.ts'
import type { Environment } from '../environment.ts'
import type { Sources } from './sources.ts'
import type { Timers } from './timers.ts'

interface Lag {
  readonly ref: ReplicaRef
  head: number
  readonly sinceMs: number
  /** It will be looked at again by itself. */
  isPending: boolean
}

/** However short the flush window: heartbeats travel on a stream of their own, and a busy process reads it first. */
const LEAST_WINDOW_MS = 20

export interface LagsInit {
  readonly map: OrMap
  readonly sources: Sources
  readonly environment: Environment
  readonly timers: Timers
  readonly flushWindowMs: number
}

/**
 * Heads that were heard of and are not here. What was just announced is most likely under way: it is fetched when it is still
 * missing two flush windows and one round trip later.
 */
export class Lags {
  readonly #init: LagsInit
  readonly #lags = new Map<string, Lag>()

  constructor(init: LagsInit) {
    this.#init = init
  }

  note(ref: ReplicaRef, head: number, roundTripMs: number): void {
    const { sources, environment, timers, flushWindowMs } = this.#init
    if (!sources.lacks(ref, head)) {
      return
    }
    const key = refKey(ref)
    const lag = this.#lags.get(key) ?? { ref, head, sinceMs: environment.monotonicMs(), isPending: false }
    this.#lags.set(key, lag)
    lag.head = Math.max(lag.head, head)
    if (!lag.isPending && !sources.has(ref)) {
      lag.isPending = true
      timers.schedule(2 * Math.max(flushWindowMs, LEAST_WINDOW_MS) + roundTripMs, () => this.#check(key, head))
    }
  }

  /** How long events of `ref` have been known of and missing, in ms. */
  lagMs(ref: ReplicaRef, nowMs: number): number {
    const lag = this.#lags.get(refKey(ref))
    return lag === undefined || !this.#init.sources.lacks(ref, lag.head) ? 0 : Math.max(0, nowMs - lag.sinceMs)
  }

  progressed(ref: ReplicaRef): void {
    const lag = this.#lags.get(refKey(ref))
    if (lag !== undefined && !this.#init.sources.lacks(ref, lag.head)) {
      this.#lags.delete(refKey(ref))
    }
  }

  forget(ref: ReplicaRef): void {
    this.#lags.delete(refKey(ref))
  }

  /** What was announced at the beginning should be here; what was announced since may still be under way. */
  #check(key: string, head: number): void {
    const { sources, timers, flushWindowMs } = this.#init
    const lag = this.#lags.get(key)
    if (lag === undefined) {
      return
    }
    lag.isPending = false
    if (sources.lacks(lag.ref, head)) {
      sources.need(lag.ref, lag.head)
    } else if (sources.lacks(lag.ref, lag.head)) {
      const next = lag.head
      lag.isPending = true
      timers.schedule(2 * Math.max(flushWindowMs, LEAST_WINDOW_MS), () => this.#check(key, next))
    } else {
      this.#lags.delete(key)
    }
  }
}
