const COMPACT_FROM = 32

/** First in, first out; `shift` is O(1), amortised: an array's own moves all that is behind. */
export class Queue<T> {
  #items: (T | undefined)[] = []
  #from = 0

  get size(): number {
    return this.#items.length - this.#from
  }

  push(item: T): void {
    this.#items.push(item)
  }

  peek(): T | undefined {
    return this.#items[this.#from]
  }

  shift(): T | undefined {
    if (this.#from >= this.#items.length) {
      return undefined
    }
    const item = this.#items[this.#from]
    this.#items[this.#from++] = undefined
    if (this.#from >= COMPACT_FROM && this.#from * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#from)
      this.#from = 0
    }
    return item
  }

  *values(): IterableIterator<T> {
    for (let at = this.#from; at < this.#items.length; at++) {
      yield this.#items[at] as T
    }
  }
}
