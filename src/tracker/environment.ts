/**
 * Everything that is not a function of state and input: time and randomness. The only file below src/net that
 * touches a clock, a timer or entropy.
 */

/** Ends what was scheduled; does nothing when it has run or was ended before. */
export type Cancel = () => void

/** A seeded generator: the same seed gives the same draws. */
export interface Random {
  /** An integer in 0 … 2^32 − 1. */
  nextUint32(): number
  /** An integer in 0 … n − 1; n is 1 … 2^32. */
  below(n: number): number
  /** A number in [0, 1). */
  nextFloat(): number
  /** Fisher–Yates, in place; returns its argument. */
  shuffle<T>(items: T[]): T[]
  /** An independent generator: draws from it do not shift the draws from this one. */
  fork(label: string): Random
}

export interface Environment {
  /** Milliseconds that only ever grow, from an unknown origin. Decides everything. */
  monotonicMs(): number
  /** Milliseconds since 1970, as told to people and used to seed incarnations. May jump. Decides nothing. */
  wallClockMs(): number
  readonly random: Random
  /** Runs `task` once, `delayMs` (0 or more) from now, never before the caller returns. */
  schedule(delayMs: number, task: () => void): Cancel
}

/** sfc32, with the state derived from a seed and a path of labels. */
export function createRandom(seed: number | string): Random {
  let [a, b, c, d] = expandSeed(String(seed))
  const next = (): number => {
    const t = (((a + b) | 0) + d) | 0
    d = (d + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (c << 21) | (c >>> 11)
    c = (c + t) | 0
    return t >>> 0
  }
  for (let i = 0; i < 12; i++) {
    next()
  }
  const below = (n: number): number => {
    if (!Number.isSafeInteger(n) || n < 1 || n > 2 ** 32) {
      throw new RangeError(`below(n): n is ${n}, allowed is an integer from 1 to 2^32`)
    }
    return Math.floor((next() / 2 ** 32) * n)
  }
  return {
    nextUint32: next,
    nextFloat: () => next() / 2 ** 32,
    below,
    shuffle<T>(items: T[]): T[] {
      for (let i = items.length - 1; i > 0; i--) {
        const j = below(i + 1)
        const kept = items[i] as T
        items[i] = items[j] as T
        items[j] = kept
      }
      return items
    },
    fork: label => createRandom(`${seed}/${label}`)
  }
}

function expandSeed(text: string): [number, number, number, number] {
  const lanes: [number, number, number, number] = [0x9e3779b9, 0x243f6a88, 0xb7e15162, 0x85ebca6b]
  for (let i = 0; i < text.length; i++) {
    for (let lane = 0; lane < 4; lane++) {
      lanes[lane] = Math.imul((lanes[lane] as number) ^ text.charCodeAt(i), 0x01000193 + 2 * lane)
    }
  }
  return lanes
}

/** The environment of a real process: the runtime's clocks and timers, a seed from its entropy. */
export function createSystemEnvironment(): Environment {
  const seed = Array.from(crypto.getRandomValues(new Uint32Array(4))).join('.')
  return {
    monotonicMs: () => performance.now(),
    wallClockMs: () => Date.now(),
    random: createRandom(seed),
    schedule(delayMs, task) {
      const timer = setTimeout(task, delayMs)
      return () => clearTimeout(timer)
    }
  }
}
