import type { TailBatch, TailEvent } from './messages.ts'

/** Events kept for those who come later. */
const RING = 200
/** The most events of users and presences in one batch; the others are counted. */
const BATCH = 100
/** What happens to replicas is rare, and told beyond it as well. */
const BATCH_OF_REPLICAS = 200
const WINDOW_MS = 200

type NewEvent = Omit<TailEvent, 'id' | 'atMs'>

/** The last events, told in batches: however much happens, a reader gets at most five batches per second of bounded size. */
export class EventTail {
  readonly #tell: (batch: TailBatch) => void
  #began = 0
  #nextId = 0
  #ring: TailEvent[] = []
  #batch: TailEvent[] = []
  #omitted = 0
  #timer: NodeJS.Timeout | undefined
  #toldMs = Number.NEGATIVE_INFINITY

  constructor(tell: (batch: TailBatch) => void) {
    this.#tell = tell
  }

  start(): void {
    this.#began = Date.now()
  }

  /** Whether one more would be told, and not just counted: if not, `omit` it. */
  get hasRoom(): boolean {
    return this.#batch.length < BATCH
  }

  add(event: NewEvent, isOfReplica = false): void {
    if (this.#batch.length >= (isOfReplica ? BATCH_OF_REPLICAS : BATCH)) {
      this.omit(1)
      return
    }
    this.#batch.push({ id: this.#nextId++, atMs: Date.now(), ...event })
    this.#schedule()
  }

  omit(count: number): void {
    this.#omitted += count
    this.#schedule()
  }

  /** For a newcomer, or for one who missed some. */
  last(): TailBatch {
    return { tail: this.#began, first: true, events: this.#ring, omitted: 0 }
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#ring = []
    this.#batch = []
    this.#omitted = 0
  }

  #schedule(): void {
    if (this.#timer === undefined) {
      const sinceMs = performance.now() - this.#toldMs
      this.#timer = setTimeout(() => this.#flush(), Math.max(0, WINDOW_MS - sinceMs))
      this.#timer.unref()
    }
  }

  #flush(): void {
    const batch = { tail: this.#began, first: false, events: this.#batch, omitted: this.#omitted }
    this.#timer = undefined
    this.#toldMs = performance.now()
    this.#ring = [...this.#ring, ...this.#batch].slice(-RING)
    this.#batch = []
    this.#omitted = 0
    this.#tell(batch)
  }
}
