/** A map that forgets what was set longest ago. */
export class BoundedMap<V> {
  readonly #map = new Map<string, V>()
  readonly #max: number

  constructor(max: number) {
    this.#max = max
  }

  get size(): number {
    return this.#map.size
  }

  get(key: string): V | undefined {
    return this.#map.get(key)
  }

  set(key: string, value: V): void {
    this.#map.delete(key)
    this.#map.set(key, value)
    if (this.#map.size > this.#max) {
      const [oldest] = this.#map.keys()
      this.#map.delete(oldest as string)
    }
  }

  delete(key: string): void {
    this.#map.delete(key)
  }
}
