/** A binary min-heap of numbers in one typed array. Numbers that are pushed in ascending order cost O(1) each. */
export class TickHeap {
  #ticks = new Float64Array(64)
  #size = 0

  get size(): number {
    return this.#size
  }

  /** The smallest, Infinity when there is none. */
  get first(): number {
    return this.#size === 0 ? Infinity : this.#ticks[0]!
  }

  push(tick: number): void {
    if (this.#size === this.#ticks.length) {
      const ticks = this.#ticks
      this.#ticks = new Float64Array(2 * ticks.length)
      this.#ticks.set(ticks)
    }
    let at = this.#size++
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (this.#ticks[parent]! <= tick) {
        break
      }
      this.#ticks[at] = this.#ticks[parent]!
      at = parent
    }
    this.#ticks[at] = tick
  }

  /** Takes the smallest away. */
  pop(): void {
    if (this.#size > 0) {
      this.#size--
      this.#sink(0, this.#ticks[this.#size]!)
    }
  }

  /** Keeps the numbers for which `keep` says so. O(size). */
  filter(keep: (tick: number) => boolean): void {
    let kept = 0
    for (let at = 0; at < this.#size; at++) {
      const tick = this.#ticks[at]!
      if (keep(tick)) {
        this.#ticks[kept++] = tick
      }
    }
    this.#size = kept
    for (let at = (kept >> 1) - 1; at >= 0; at--) {
      this.#sink(at, this.#ticks[at]!)
    }
  }

  /** Puts `tick` where `from` is, or below. */
  #sink(from: number, tick: number): void {
    let at = from
    for (;;) {
      let child = 2 * at + 1
      if (child >= this.#size) {
        break
      }
      if (child + 1 < this.#size && this.#ticks[child + 1]! < this.#ticks[child]!) {
        child++
      }
      if (this.#ticks[child]! >= tick) {
        break
      }
      this.#ticks[at] = this.#ticks[child]!
      at = child
    }
    this.#ticks[at] = tick
  }
}
