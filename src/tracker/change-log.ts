import type { Entry } from '../crdt/entry.ts'
import type { OrMap } from '../crdt/or-map.ts'
import { USERS_TOPIC } from './names.ts'
import type { Origin } from './origin.ts'
import type { PresenceIndex, TopicNode } from './presence-index.ts'
import type { Step } from './presence-view.ts'
import { Queue } from './queue.ts'

/** An identity of one topic that the events (before, after] of one origin touched, and what was shown of it before. */
export interface Change {
  readonly origin: Origin
  readonly before: number
  readonly after: number
  readonly topic: TopicNode
  readonly key: string
  readonly session: string
  readonly shown: { readonly entry: Entry; readonly origin: Origin; readonly prevRef: string | null } | null
}

/** Per origin: the head at the end of the last step, and the event after which no change of it was let go. */
interface Reach {
  head: number
  floor: number
}

/**
 * The last changes, so that a resume token is answered by what was missed. Bounded over all topics: the oldest change goes first, and with it the
 * promise for its origin.
 */
export class ChangeLog {
  readonly #map: OrMap
  readonly #index: PresenceIndex
  readonly #max: number
  readonly #reach = new Map<Origin, Reach>()
  readonly #byTopic = new Map<TopicNode, Queue<Change>>()
  readonly #all = new Queue<Change>()

  constructor(map: OrMap, index: PresenceIndex, max: number) {
    this.#map = map
    this.#index = index
    this.#max = max
  }

  get size(): number {
    return this.#all.size
  }

  record(step: Step): void {
    const origin = step.origin
    if (origin === null) {
      return
    }
    const head = this.#map.record(origin.ref)?.head ?? 0
    let reach = this.#reach.get(origin)
    if (reach === undefined) {
      reach = { head: 0, floor: 0 }
      this.#reach.set(origin, reach)
    }
    for (const { topic } of step.builders.values()) {
      if (topic.name !== USERS_TOPIC) {
        this.#recordTopic(step, topic, origin, reach.head, head)
      }
    }
    reach.head = head
  }

  #recordTopic(step: Step, topic: TopicNode, origin: Origin, before: number, after: number): void {
    const builder = step.builders.get(topic)
    for (const slot of builder?.slots() ?? []) {
      const was = builder?.before(slot)
      const shown = was?.entry && was.origin ? { entry: was.entry, origin: was.origin, prevRef: was.prevRef } : null
      this.#add({ origin, before, after, topic, key: slot.key, session: slot.session, shown })
    }
  }

  #add(change: Change): void {
    this.#all.push(change)
    let changes = this.#byTopic.get(change.topic)
    if (changes === undefined) {
      changes = new Queue()
      this.#byTopic.set(change.topic, changes)
      change.topic.pins++
    }
    changes.push(change)
    while (this.#all.size > this.#max) {
      this.#evict()
    }
  }

  #evict(): void {
    const change = this.#all.shift() as Change
    const changes = this.#byTopic.get(change.topic) as Queue<Change>
    changes.shift()
    if (changes.size === 0) {
      this.#byTopic.delete(change.topic)
      change.topic.pins--
      this.#index.pruneTopic(change.topic)
    }
    const reach = this.#reach.get(change.origin)
    if (reach !== undefined) {
      reach.floor = Math.max(reach.floor, change.after)
    }
  }

  /** The origin is gone: nothing is promised of it. Its changes go as all others. */
  forget(origin: Origin): void {
    this.#reach.delete(origin)
  }

  /**
   * The changes of `topic` by events of `origin` after `head`, oldest first; undefined when this replica never stood exactly there, or no longer
   * remembers.
   */
  since(origin: Origin, head: number, topic: TopicNode): Change[] | undefined {
    const reach = this.#reach.get(origin)
    if (reach === undefined || head < reach.floor || head > reach.head) {
      return undefined
    }
    const changes: Change[] = []
    for (const change of this.#byTopic.get(topic)?.values() ?? []) {
      if (change.origin === origin && change.after > head) {
        if (change.before < head) {
          return undefined
        }
        changes.push(change)
      }
    }
    return changes
  }
}
