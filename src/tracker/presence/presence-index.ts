import type { Entry } from '../../crdt/entry.ts'
import type { Origin } from './origin.ts'

/** An entry that is gone, and still shown for a while: until its identity is known again, or its origin is complete, or `dueMs`. */
export interface Held {
  readonly origin: Origin
  readonly entry: Entry
  /** Monotonic ms; Infinity: until the origin's record is complete. */
  readonly dueMs: number
}

/** Further entries of an identity: several owners may hold one each. */
export interface Candidate {
  readonly origin: Origin
  entry: Entry
}

/**
 * One identity: a session under a key of a topic. Nearly always it has one entry, so the first candidate lies in the slot itself: at a million
 * presences each object saved is felt.
 */
export class Slot {
  readonly topic: TopicNode
  readonly key: string
  readonly session: string
  origin: Origin | null = null
  entry: Entry | null = null
  more: Candidate[] | null = null
  held: Held | null = null
  shown: Entry | null = null
  shownOrigin: Origin | null = null
  prevRef: string | null = null
  /** Its place among the shown presences of its user, or −1. */
  userPlace = -1
  /** Out of the index; another slot may have taken over the identity. */
  dead = false

  constructor(topic: TopicNode, key: string, session: string) {
    this.topic = topic
    this.key = key
    this.session = session
  }

  get empty(): boolean {
    return this.entry === null && this.held === null && this.shown === null
  }

  /** Adds an entry, or puts it in the place of the one under the same dot. */
  put(origin: Origin, entry: Entry): void {
    if (this.entry === null || (this.origin === origin && this.entry.counter === entry.counter)) {
      this.origin = origin
      this.entry = entry
      return
    }
    const known = this.more?.find(candidate => candidate.origin === origin && candidate.entry.counter === entry.counter)
    if (known !== undefined) {
      known.entry = entry
    } else {
      this.more = [...(this.more ?? []), { origin, entry }]
    }
  }

  /** Forgets the entry of `origin` under `counter`; false when there is none. */
  remove(origin: Origin, counter: number): boolean {
    if (this.origin === origin && this.entry?.counter === counter) {
      const next = this.more?.shift()
      this.origin = next?.origin ?? null
      this.entry = next?.entry ?? null
    } else {
      const at = this.more?.findIndex(candidate => candidate.origin === origin && candidate.entry.counter === counter) ?? -1
      if (at < 0) {
        return false
      }
      this.more?.splice(at, 1)
    }
    if (this.more?.length === 0) {
      this.more = null
    }
    return true
  }

  /** Calls `visit` for every candidate, in no order that matters. */
  each(visit: (origin: Origin, entry: Entry) => void): void {
    if (this.entry !== null) {
      visit(this.origin as Origin, this.entry)
    }
    this.more?.forEach(candidate => {
      visit(candidate.origin, candidate.entry)
    })
  }
}

/** The sessions of one key, when there are several. */
class KeyGroup {
  readonly slots = new Map<string, Slot>()
  shown = 0
}

/** One topic: its keys, and how many of them and of their presences are shown. */
export class TopicNode {
  readonly name: string
  readonly keys = new Map<string, Slot | KeyGroup>()
  shownKeys = 0
  shownPresences = 0
  /** Changes kept to answer resume tokens, and watchers: such a topic stays though it is empty. */
  pins = 0
  #sorted: string[] | null = null

  constructor(name: string) {
    this.name = name
  }

  find(key: string, session: string): Slot | undefined {
    const found = this.keys.get(key)
    if (found instanceof Slot) {
      return found.session === session ? found : undefined
    }
    return found?.slots.get(session)
  }

  slot(key: string, session: string): Slot {
    const found = this.keys.get(key)
    if (found instanceof Slot) {
      return found.session === session ? found : (this.#group(found).slots.get(session) ?? this.#addToGroup(key, session))
    }
    if (found !== undefined) {
      return found.slots.get(session) ?? this.#addToGroup(key, session)
    }
    const slot = new Slot(this, key, session)
    this.keys.set(key, slot)
    this.#sorted = null
    return slot
  }

  #group(only: Slot): KeyGroup {
    const group = new KeyGroup()
    group.slots.set(only.session, only)
    group.shown = only.shown === null ? 0 : 1
    this.keys.set(only.key, group)
    return group
  }

  #addToGroup(key: string, session: string): Slot {
    const slot = new Slot(this, key, session)
    ;(this.keys.get(key) as KeyGroup).slots.set(session, slot)
    return slot
  }

  delete(slot: Slot): void {
    slot.dead = true
    const found = this.keys.get(slot.key)
    if (found === slot) {
      this.keys.delete(slot.key)
      this.#sorted = null
    } else if (found instanceof KeyGroup && found.slots.get(slot.session) === slot) {
      found.slots.delete(slot.session)
      if (found.slots.size === 0) {
        this.keys.delete(slot.key)
        this.#sorted = null
      }
    }
  }

  /** Keeps the counts when a slot comes to be shown (+1) or hidden (−1). */
  count(slot: Slot, by: 1 | -1): void {
    const found = this.keys.get(slot.key)
    this.shownPresences += by
    if (found instanceof KeyGroup) {
      const before = found.shown
      found.shown += by
      this.shownKeys += (before === 0 ? 1 : 0) - (found.shown === 0 ? 1 : 0)
    } else {
      this.shownKeys += by
    }
  }

  /** How many presences of `key` are shown. */
  shownOf(key: string): number {
    const found = this.keys.get(key)
    return found instanceof Slot ? (found.shown === null ? 0 : 1) : (found?.shown ?? 0)
  }

  *slotsOf(key: string): IterableIterator<Slot> {
    const found = this.keys.get(key)
    if (found instanceof Slot) {
      yield found
    } else if (found !== undefined) {
      yield* found.slots.values()
    }
  }

  *slots(): IterableIterator<Slot> {
    for (const found of this.keys.values()) {
      if (found instanceof Slot) {
        yield found
      } else {
        yield* found.slots.values()
      }
    }
  }

  /** The keys in order, kept until the set of keys changes: pages of a list cost their own length. */
  sortedKeys(): readonly string[] {
    this.#sorted ??= [...this.keys.keys()].sort()
    return this.#sorted
  }
}

/** The shown slots of one user, over all topics but the users' own. */
export class UserNode {
  readonly slots: Slot[] = []
}

/** Presences by topic, key and user. Every look-up costs what it returns. */
export class PresenceIndex {
  readonly #topics = new Map<string, TopicNode>()
  readonly #users = new Map<string, UserNode>()
  /** Topics in which somebody is shown, the users' own left out. Kept by the presence view. */
  shownTopics = 0

  find(topic: string): TopicNode | undefined {
    return this.#topics.get(topic)
  }

  topic(name: string): TopicNode {
    let node = this.#topics.get(name)
    if (node === undefined) {
      node = new TopicNode(name)
      this.#topics.set(name, node)
    }
    return node
  }

  topics(): IterableIterator<TopicNode> {
    return this.#topics.values()
  }

  get size(): number {
    return this.#topics.size
  }

  get users(): number {
    return this.#users.size
  }

  /** Forgets a slot that holds nothing, and its topic when that is empty as well. */
  prune(slot: Slot): void {
    if (slot.empty && !slot.dead) {
      slot.topic.delete(slot)
      this.pruneTopic(slot.topic)
    }
  }

  pruneTopic(topic: TopicNode): void {
    if (topic.keys.size === 0 && topic.pins === 0 && this.#topics.get(topic.name) === topic) {
      this.#topics.delete(topic.name)
    }
  }

  ofUser(user: string): readonly Slot[] {
    return this.#users.get(user)?.slots ?? []
  }

  addToUser(user: string, slot: Slot): void {
    let node = this.#users.get(user)
    if (node === undefined) {
      node = new UserNode()
      this.#users.set(user, node)
    }
    slot.userPlace = node.slots.length
    node.slots.push(slot)
  }

  removeFromUser(user: string, slot: Slot): void {
    const slots = this.#users.get(user)?.slots
    if (slots === undefined || slots[slot.userPlace] !== slot) {
      return
    }
    const last = slots.pop() as Slot
    if (last !== slot) {
      slots[slot.userPlace] = last
      last.userPlace = slot.userPlace
    }
    slot.userPlace = -1
    if (slots.length === 0) {
      this.#users.delete(user)
    }
  }
}
