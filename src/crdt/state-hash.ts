import type { StateHash } from './delta-interval.ts'
import type { ReplicaRef } from './dot.ts'

/**
 * Two coupled lanes of 32 bits, fed with words. Per word each lane is a bijection (multiply by an odd number, rotate), so two
 * inputs that differ in one word never meet there; `finish` spreads every bit over both lanes. Not cryptographic: it finds
 * accidents, not attacks.
 *
 * The lanes are signed, so that V8 keeps them as small integers.
 */
export class Hasher {
  high = 0
  low = 0

  start(high: number, low: number): this {
    this.high = high | 0
    this.low = low | 0
    return this
  }

  word(word: number): this {
    const a = Math.imul(this.high ^ word, 0x85ebca6b)
    this.high = (((a << 13) | (a >>> 19)) + 0x3c6ef372) | 0
    const b = (Math.imul(this.low ^ word, 0xc2b2ae35) + this.high) | 0
    this.low = (((b << 17) | (b >>> 15)) + 0x5bd1e995) | 0
    return this
  }

  /** A safe, non-negative integer, as two words. */
  integer(value: number): this {
    return this.word(value | 0).word((value / 0x1_0000_0000) | 0)
  }

  /** The length and all UTF-16 code units, two to a word: no text is another's prefix. */
  text(text: string): this {
    const length = text.length
    this.word(length)
    let high = this.high
    let low = this.low
    for (let i = 0; i < length; i += 2) {
      const word = text.charCodeAt(i) | (i + 1 < length ? text.charCodeAt(i + 1) << 16 : 0)
      const a = Math.imul(high ^ word, 0x85ebca6b)
      high = (((a << 13) | (a >>> 19)) + 0x3c6ef372) | 0
      const b = (Math.imul(low ^ word, 0xc2b2ae35) + high) | 0
      low = (((b << 17) | (b >>> 15)) + 0x5bd1e995) | 0
    }
    this.high = high
    this.low = low
    return this
  }

  finish(): this {
    const high = spread(this.high + this.low)
    this.low = spread(this.low ^ high)
    this.high = spread(high + this.low)
    return this
  }
}

/** The finaliser of MurmurHash3: every bit in changes every bit out with a chance of about one half. */
function spread(value: number): number {
  let h = value | 0
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h ^ (h >>> 16)
}

const hasher = new Hasher()

/**
 * The hash of a set of entries: per entry one mixed hash over (ref, dot, content, state), summed in two lanes modulo 2^32.
 * A sum, because an exclusive or does not see an entry that is counted three times; mixed together, because a hash of the dot
 * joined to a hash of the content is blind to swapped contents, and a linear one says {1, 4} = {2, 3}.
 *
 * INV-5: equal sets have equal sums, in whatever order their entries came and went.
 */
export class StateSum {
  readonly #refHigh: number
  readonly #refLow: number
  #high = 0
  #low = 0

  constructor(ref: ReplicaRef) {
    hasher.start(0x9e3779b9, 0x243f6a88).text(ref.id).integer(ref.incarnation).finish()
    this.#refHigh = hasher.high
    this.#refLow = hasher.low
  }

  add(counter: number, contentHigh: number, contentLow: number, state: number): void {
    this.#mix(counter, contentHigh, contentLow, state)
    this.#high = (this.#high + hasher.high) | 0
    this.#low = (this.#low + hasher.low) | 0
  }

  subtract(counter: number, contentHigh: number, contentLow: number, state: number): void {
    this.#mix(counter, contentHigh, contentLow, state)
    this.#high = (this.#high - hasher.high) | 0
    this.#low = (this.#low - hasher.low) | 0
  }

  /** A copy, with unsigned lanes. */
  get value(): StateHash {
    return { high: this.#high >>> 0, low: this.#low >>> 0 }
  }

  #mix(counter: number, contentHigh: number, contentLow: number, state: number): void {
    hasher.start(this.#refHigh, this.#refLow).integer(counter).word(contentHigh).word(contentLow).word(state).finish()
  }
}

/** Of a record without entries. */
export const EMPTY_HASH: StateHash = Object.freeze({ high: 0, low: 0 })

/** 16 hex digits, for people to compare. */
export function hashText({ high, low }: StateHash): string {
  return high.toString(16).padStart(8, '0') + low.toString(16).padStart(8, '0')
}

export function sameHash(a: StateHash, b: StateHash): boolean {
  return a.high === b.high && a.low === b.low
}
