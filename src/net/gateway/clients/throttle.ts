import type { Wire } from '../protocol/wire.ts'
import { Rate } from './rate.ts'

/** Reads a socket that sends too much more slowly: the network holds the rest, at its side. Nothing is lost. */
export class Throttle {
  readonly #wire: Wire
  readonly #rate: Rate
  #sinceMs: number | null = null
  #resume: NodeJS.Timeout | undefined

  constructor(wire: Wire, perSecond: number, burst: number) {
    this.#wire = wire
    this.#rate = new Rate(perSecond, burst, performance.now())
  }

  /** A frame was received. Returns for how long the socket has been held back without a pause, in ms; undefined when it is not held back. */
  frame(nowMs: number): number | undefined {
    const waitMs = this.#rate.take(nowMs)
    if (waitMs === 0) {
      this.#sinceMs = null
      return undefined
    }
    this.#sinceMs ??= nowMs
    this.#wire.pause()
    clearTimeout(this.#resume)
    this.#resume = setTimeout(() => this.#wire.resume(), waitMs)
    return nowMs - this.#sinceMs
  }

  end(): void {
    clearTimeout(this.#resume)
  }
}
