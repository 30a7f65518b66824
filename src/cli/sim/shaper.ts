import type { Socket } from 'node:net'

/** A bad line. */
export interface SlowLink {
  readonly delayMs: number
  readonly bytesPerSecond: number
}

/** Forward at once, keep and forward nothing, or forward late and little. */
export type Shape = 'pass' | 'hold' | SlowLink

/** What travels: bytes, the end of the stream, or the news that the connection broke. */
type Item = { readonly chunk: Buffer; readonly dueMs: number } | { readonly end: 'finished' | 'broken'; readonly dueMs: number }

/** How much a direction keeps before it lets the sender feel it. */
const HIGH_WATER_BYTES = 1 << 20

/**
 * One direction of a connection. Order is kept and nothing is lost while it lives; that the sender closed or died travels behind its
 * last byte, so a held direction hides that too.
 */
export class Shaper {
  readonly #from: Socket
  readonly #to: Socket
  readonly #count: (bytes: number) => void
  readonly #items: Item[] = []
  #heldBytes = 0
  #shape: Shape = 'pass'
  #freeAtMs = 0
  #timer: NodeJS.Timeout | undefined
  #blocked = false

  constructor(from: Socket, to: Socket, count: (bytes: number) => void) {
    this.#from = from
    this.#to = to
    this.#count = count
    from.on('data', (chunk: Buffer) => this.#push({ chunk, dueMs: this.#dueMs(chunk.length) }))
    from.on('end', () => this.#push({ end: 'finished', dueMs: this.#dueMs(0) }))
    from.on('error', () => this.#push({ end: 'broken', dueMs: this.#dueMs(0) }))
    to.on('drain', () => {
      this.#blocked = false
      this.#release()
    })
  }

  set(shape: Shape): void {
    this.#shape = shape
    this.#freeAtMs = 0
    this.#release()
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#items.length = 0
    this.#heldBytes = 0
  }

  #push(item: Item): void {
    this.#items.push(item)
    this.#heldBytes += 'chunk' in item ? item.chunk.length : 0
    this.#release()
  }

  #dueMs(bytes: number): number {
    if (typeof this.#shape === 'string') {
      return 0
    }
    this.#freeAtMs = Math.max(performance.now(), this.#freeAtMs) + (bytes / this.#shape.bytesPerSecond) * 1_000
    return this.#freeAtMs + this.#shape.delayMs
  }

  #release(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    while (this.#items.length > 0 && this.#shape !== 'hold' && !this.#blocked) {
      const item = this.#items[0] as Item
      const waitMs = this.#shape === 'pass' ? 0 : item.dueMs - performance.now()
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.#release(), waitMs)
        break
      }
      this.#items.shift()
      this.#forward(item)
    }
    this.#throttle()
  }

  #forward(item: Item): void {
    if ('chunk' in item) {
      this.#heldBytes -= item.chunk.length
      this.#count(item.chunk.length)
      this.#blocked = !this.#to.write(item.chunk)
    } else if (item.end === 'finished') {
      this.#to.end()
    } else {
      // Not a reset: with a shutdown pending it leaves a request behind for which Node 26 waits for ever when the process ends.
      this.#to.destroy()
    }
  }

  #throttle(): void {
    if (this.#heldBytes > HIGH_WATER_BYTES) {
      this.#from.pause()
    } else if (this.#from.isPaused()) {
      this.#from.resume()
    }
  }
}
