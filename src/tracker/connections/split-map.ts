const PARTS = 64

/**
 * A Map in 64 parts, for millions of keys. A single Map rehashes all it holds when it grows: on the machine of
 * bench/README.md one `set` in half a million strings took 116 ms, and stood in the way of everything else. A
 * part is rehashed 64 times as fast. `partOf` may be crude: keys that fall together cost that, and nothing else.
 */
export class SplitMap<K, V> {
  readonly #parts: readonly Map<K, V>[] = Array.from({ length: PARTS }, () => new Map<K, V>())
  readonly #partOf: (key: K) => number

  /** `partOf` returns an integer; its last six bits count. */
  constructor(partOf: (key: K) => number) {
    this.#partOf = partOf
  }

  get(key: K): V | undefined {
    return this.#part(key).get(key)
  }

  set(key: K, value: V): void {
    this.#part(key).set(key, value)
  }

  delete(key: K): boolean {
    return this.#part(key).delete(key)
  }

  #part(key: K): Map<K, V> {
    return this.#parts[this.#partOf(key) & (PARTS - 1)]!
  }
}

/** Ids mostly differ in their last characters. */
export function partOfString(text: string): number {
  const end = text.length - 1
  return end < 1 ? end : text.charCodeAt(end) + 7 * text.charCodeAt(end - 1)
}
