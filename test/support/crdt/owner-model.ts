import {
  createEntry,
  type DeltaInterval,
  type Entry,
  type EntryContent,
  type EntryState,
  type Mark,
  type ReplicaRef
} from '../../../src/crdt/index.ts'

/** One event of an owner: a dot is made, a dot moves on, or both at once (an update). */
export interface OwnerEvent {
  readonly content?: EntryContent
  /** In which state the dot is made: other than 0 only where an owner starts again with what it had. */
  readonly state?: EntryState
  readonly mark?: Mark
}

/**
 * All that one replica ever did, as a plain list; every question about the map is answered by looking through it.
 * L(p, v) of docs/algorithm.md is `held(p, v)`. Slow, and too simple to be wrong.
 */
export class OwnerModel {
  readonly ref: ReplicaRef
  readonly events: OwnerEvent[] = []
  /** `#states[v]` is the state of each dot as of event v; numbers that name no dot are left out. */
  readonly #states: Map<number, EntryState>[] = [new Map()]
  readonly #entries = new Map<string, Entry>()

  constructor(ref: ReplicaRef) {
    this.ref = ref
  }

  get head(): number {
    return this.events.length
  }

  add(content: EntryContent, state: EntryState = 0): void {
    this.#append({ content, state })
  }

  /** False when the dot is not held, which is no event. */
  update(counter: number, content: EntryContent, reason: number): boolean {
    if (!this.isHeld(counter)) {
      return false
    }
    this.#append({ content, mark: { event: this.head + 1, counter, state: 3, reason } })
    return true
  }

  mark(counter: number, state: 1 | 2 | 3, reason: number): boolean {
    const now = this.stateAt(counter, this.head)
    if (now === undefined || state <= now) {
      return false
    }
    this.#append({ mark: { event: this.head + 1, counter, state, reason } })
    return true
  }

  /** The dot's state as of event `asOf`; undefined when that event is older than the dot, or the number names no dot. */
  stateAt(counter: number, asOf: number): EntryState | undefined {
    return this.#states[Math.min(asOf, this.head)]!.get(counter)
  }

  /** L(p, v): the entries with a dot ≤ p that no event ≤ v removed, in their state then; ascending. */
  held(upTo: number, asOf: number): Entry[] {
    const dots = [...this.#states[Math.min(asOf, this.head)]!]
    return dots.filter(([counter, state]) => counter <= upTo && state < 3).map(([counter, state]) => this.entryAt(counter, state))
  }

  entryAt(counter: number, state: EntryState): Entry {
    const key = `${counter}:${state}`
    const entry = this.#entries.get(key) ?? createEntry(this.events[counter - 1]!.content!, counter, state)
    this.#entries.set(key, entry)
    return entry
  }

  /** The marks with an event in (since, asOf]. */
  marks(since: number, asOf: number): Mark[] {
    return this.events.slice(since, asOf).flatMap(event => event.mark ?? [])
  }

  reasonOfRemoval(counter: number): number | undefined {
    return this.events.find(event => event.mark?.counter === counter && event.mark.state === 3)?.mark?.reason
  }

  /** What an interval with these four numbers must say, no more and no less. */
  interval(from: number, to: number, since = from, asOf = to): DeltaInterval {
    const adds = this.held(to, asOf).filter(entry => entry.counter > from)
    return { replica: this.ref, shard: 0, from, to, since, asOf, adds, marks: this.marks(since, asOf) }
  }

  isHeld(counter: number): boolean {
    const state = this.stateAt(counter, this.head)
    return state !== undefined && state < 3
  }

  #append(event: OwnerEvent): void {
    const states = new Map(this.#states[this.head])
    this.events.push(event)
    if (event.mark !== undefined) {
      states.set(event.mark.counter, event.mark.state)
    }
    if (event.content !== undefined) {
      states.set(this.head, event.state ?? 0)
    }
    this.#states.push(states)
  }
}
