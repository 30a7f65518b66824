import { LatencyHistogram } from '../../src/cli/sim/latency.ts'
import { type FanOut, FIRST_JOIN } from './gateway-protocol.ts'

const MARK = Buffer.from('"n":')
const DIGITS = String(FIRST_JOIN).length

/** Which watcher has which join, and since when: of joins `first` to `first + joins - 1`. */
export class FanOutCount {
  readonly #first: number
  readonly #joins: number
  readonly #watchers: number
  readonly #sentMs: Float64Array
  readonly #lastMs: Float64Array
  readonly #reached: Uint32Array
  /** One byte per join and watcher: a join that comes again, in a fresh list, is not counted again. */
  readonly #has: Uint8Array
  #left: number
  frames = 0
  bytes = 0

  constructor(first: number, joins: number, watchers: number) {
    this.#first = first
    this.#joins = joins
    this.#watchers = watchers
    this.#sentMs = new Float64Array(joins)
    this.#lastMs = new Float64Array(joins)
    this.#reached = new Uint32Array(joins)
    this.#has = new Uint8Array(joins * watchers)
    this.#left = joins * watchers
  }

  /** Every watcher has every join. */
  get complete(): boolean {
    return this.#left === 0
  }

  sent(join: number, nowMs: number): void {
    this.#sentMs[join] = nowMs
  }

  /** A watcher has read a frame. */
  read(watcher: number, bytes: Buffer, start: number, end: number, nowMs: number): void {
    this.frames++
    for (let at = bytes.indexOf(MARK, start); at >= 0 && at < end; at = bytes.indexOf(MARK, at + DIGITS)) {
      this.#reachedBy(watcher, numberAt(bytes, at + MARK.length) - this.#first, nowMs)
    }
  }

  result(startMs: number): FanOut {
    const latencies = new LatencyHistogram()
    let endMs = startMs
    for (let join = 0; join < this.#joins; join++) {
      endMs = Math.max(endMs, this.#lastMs[join] as number)
      if (this.#reached[join] === this.#watchers) {
        latencies.record((this.#lastMs[join] as number) - (this.#sentMs[join] as number))
      }
    }
    return {
      joins: this.#joins,
      elapsedMs: endMs - startMs,
      frames: this.frames,
      bytes: this.bytes,
      p50Ms: latencies.percentileMs(50),
      p99Ms: latencies.percentileMs(99),
      missing: this.#left
    }
  }

  #reachedBy(watcher: number, join: number, nowMs: number): void {
    const place = join * this.#watchers + watcher
    if (join >= 0 && join < this.#joins && this.#has[place] === 0) {
      this.#has[place] = 1
      this.#reached[join] = (this.#reached[join] as number) + 1
      this.#lastMs[join] = nowMs
      this.#left--
    }
  }
}

function numberAt(bytes: Buffer, at: number): number {
  let value = 0
  for (let digit = at; digit < at + DIGITS; digit++) {
    value = 10 * value + (bytes[digit] as number) - 0x30
  }
  return value
}
