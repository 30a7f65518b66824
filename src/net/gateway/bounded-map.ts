/** A map that forgets what was set longest ago, above so many entries, or so many characters of keys in all. */
export class BoundedMap<V> {
  readonly #map = new Map<string, V>()
  readonly #max: number
  readonly #maxCharacters: number
  #characters = 0

  constructor(max: number, maxCharacters = Infinity) {
    this.#max = max
    this.#maxCharacters = maxCharacters
  }

  get size(): number {
    return this.#map.size
  }

  get(key: string): V | undefined {
    return this.#map.get(key)
  }

  set(key: string, value: V): void {
    this.delete(key)
    this.#map.set(key, value)
    this.#characters += key.length
    for (const oldest of this.#map.keys()) {
      if (this.#map.size <= this.#max && this.#characters <= this.#maxCharacters) {
        break
      }
      this.delete(oldest)
    }
  }

  delete(key: string): void {
    if (this.#map.delete(key)) {
      this.#characters -= key.length
    }
  }
}
