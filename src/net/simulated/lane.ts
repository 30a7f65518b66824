/**
 * The order of one stream: frames are numbered when sent, and handed over by number, however the network shuffles them. Each direction
 * of a link has two: heartbeats, and everything else.
 */
export class Lane {
  #sent = 0
  #next = 0
  /** What came before its turn; null when its turn is to be skipped. */
  readonly #early = new Map<number, (() => void) | null>()

  /** The number of the next frame. */
  take(): number {
    return this.#sent++
  }

  /** Frame `index` is here: `handOver` is called now, or when all before it have come. A second coming is ignored. */
  arrived(index: number, handOver: () => void): void {
    this.#place(index, handOver)
  }

  /** Frame `index` goes another way (lost, held by hand, out of order): those behind it do not wait for it. */
  skip(index: number): void {
    this.#place(index, null)
  }

  #place(index: number, handOver: (() => void) | null): void {
    if (index < this.#next || this.#early.has(index)) {
      return
    }
    this.#early.set(index, handOver)
    for (;;) {
      const next = this.#early.get(this.#next)
      if (next === undefined) {
        return
      }
      this.#early.delete(this.#next++)
      next?.()
    }
  }
}
