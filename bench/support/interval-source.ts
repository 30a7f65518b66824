import type { DeltaInterval, Entry, EntryContent, Mark, ReplicaRef } from '../../src/crdt/index.ts'
import { createEntry, EntryState } from '../../src/crdt/index.ts'

const TOPICS = 1_000
const REASON = 1

/** A small generator (mulberry32): benches repeat the same work. */
export function createDraw(seed: number): (below: number) => number {
  let state = seed
  return below => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}

/**
 * The owner's side of a bench: plain intervals as they come off the wire, every text a new string. It keeps the numbers of its
 * live dots only, so that the memory measured is the receiver's.
 */
export class IntervalSource {
  readonly replica: ReplicaRef
  readonly #draw = createDraw(7)
  readonly #live: number[] = []
  #head = 0

  constructor(id: string) {
    this.replica = { id, incarnation: 1 }
  }

  get head(): number {
    return this.#head
  }

  joins(count: number): DeltaInterval {
    return this.joinsOf(this.nextContents(count))
  }

  /** The contents of the next entries. */
  nextContents(count: number): EntryContent[] {
    const contents: EntryContent[] = []
    for (let i = 1; i <= count; i++) {
      contents.push(contentOf(this.#head + i))
    }
    return contents
  }

  joinsOf(contents: readonly EntryContent[]): DeltaInterval {
    const from = this.#head
    const adds = contents.map(content => this.#create(content))
    return this.#plain(from, adds, [])
  }

  /** Dots drawn at random leave. */
  leaves(count: number): DeltaInterval {
    const from = this.#head
    const marks: Mark[] = []
    for (let i = 0; i < count; i++) {
      const counter = this.#takeLive()
      marks.push({ event: ++this.#head, counter, state: EntryState.removed, reason: REASON })
    }
    return this.#plain(from, [], marks)
  }

  /** Dots drawn at random are replaced, each by one event. */
  updates(count: number): DeltaInterval {
    const from = this.#head
    const adds: Entry[] = []
    const marks: Mark[] = []
    for (let i = 0; i < count; i++) {
      const counter = this.#takeLive(from)
      adds.push(this.#create(contentOf(this.#head + 1)))
      marks.push({ event: this.#head, counter, state: EntryState.removed, reason: REASON })
    }
    return this.#plain(from, adds, marks)
  }

  #plain(from: number, adds: Entry[], marks: Mark[]): DeltaInterval {
    return { replica: this.replica, shard: 0, from, to: this.#head, since: from, asOf: this.#head, adds, marks }
  }

  #create(content: EntryContent): Entry {
    const counter = ++this.#head
    this.#live.push(counter)
    return createEntry(content, counter)
  }

  #takeLive(upTo = Number.POSITIVE_INFINITY): number {
    for (;;) {
      const index = this.#draw(this.#live.length)
      const counter = this.#live[index] as number
      if (counter <= upTo) {
        this.#live[index] = this.#live.at(-1) as number
        this.#live.pop()
        return counter
      }
    }
  }
}

/** Short texts, an empty meta; key, user and session occur once. */
export function contentOf(n: number): EntryContent {
  const name = `user-${String(n).padStart(7, '0')}`
  return {
    topic: fresh(`room:${n % TOPICS}`),
    key: fresh(name),
    user: fresh(name),
    session: fresh(String(n).padStart(16, 'A')),
    connection: n,
    meta: fresh('{}'),
    joinedAt: 1_767_225_600_000 + n,
    revision: 0,
    epoch: 1,
    over: []
  }
}

/** A new flat string, as a decoder makes it. */
function fresh(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1')
}
