import type { OrMap } from '../../crdt/or-map.ts'
import type { Cancel, Environment } from '../environment.ts'
import type { Outbox } from './outbox.ts'
import type { Peers } from './peers.ts'
import type { Timers } from './timers.ts'

/** A burst of so many events is sent before its window ends: it fills a frame, and later ones would only be cut again. */
const BURST_EVENTS = 256

export interface FlushInit {
  readonly map: OrMap
  readonly peers: Peers
  readonly outbox: Outbox
  readonly environment: Environment
  readonly timers: Timers
  readonly windowMs: number
}

/** When our own events leave: the first after a pause at once, those of a window together at its end. What it makes due the end of the step sends. */
export class Flush {
  readonly #init: FlushInit
  #lastMs = Number.NEGATIVE_INFINITY
  #head: number
  #pending: Cancel | undefined

  constructor(init: FlushInit) {
    this.#init = init
    this.#head = init.map.record(init.map.self)?.head ?? 0
  }

  changed(): void {
    const { environment, timers, windowMs } = this.#init
    const sinceMs = environment.monotonicMs() - this.#lastMs
    if (sinceMs >= windowMs || this.#ownHead() - this.#head >= BURST_EVENTS) {
      this.flush()
    } else {
      this.#pending ??= timers.schedule(windowMs - sinceMs, () => this.flush())
    }
  }

  flush(): void {
    this.#pending?.()
    this.#pending = undefined
    const { map, peers, outbox, environment } = this.#init
    const from = this.#head
    this.#head = this.#ownHead()
    this.#lastMs = environment.monotonicMs()
    for (const peer of peers.greeted()) {
      outbox.push(peer, map.self, from)
    }
  }

  /** Our record began again: the events in it travel as answers, not as news. */
  restarted(): void {
    this.#head = this.#ownHead()
  }

  #ownHead(): number {
    const { map } = this.#init
    return map.record(map.self)?.head ?? 0
  }
}
