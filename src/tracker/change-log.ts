import type { OrMap } from '../crdt/or-map.ts'
import type { Origin } from './origin.ts'
import type { PresenceFactory } from './presence-factory.ts'
import type { PresenceIndex, TopicNode } from './presence-index.ts'
import type { Step } from './presence-view.ts'
import type { Presence } from './types.ts'

/** An identity of one topic that the events (before, after] of one origin touched, and what was shown of it before. */
export interface Change {
  readonly origin: Origin
  readonly before: number
  readonly after: number
  readonly topic: TopicNode
  readonly key: string
  readonly session: string
  readonly shown: Presence | null
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
  readonly #factory: PresenceFactory
  readonly #index: PresenceIndex
  readonly #max: number
  readonly #reach = new Map<Origin, Reach>()
  readonly #byTopic = new Map<TopicNode, Change[]>()
  #all: Change[] = []
  #from = 0

  constructor(map: OrMap, factory: PresenceFactory, index: PresenceIndex, max: number) {
    this.#map = map
    this.#factory = factory
    this.#index = index
    this.#max = max
  }

  get size(): number {
    return this.#all.length - this.#from
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
    for (const builder of step.builders.values()) {
      for (const slot of builder.slots()) {
        const before = builder.before(slot)
        if (before === undefined) {
          continue
        }
        const shown =
          before.entry === null || before.origin === null ? null : this.#factory.presence(before.entry, before.origin, before.prevRef)
        this.#add({ origin, before: reach.head, after: head, topic: builder.topic, key: slot.key, session: slot.session, shown })
      }
    }
    reach.head = head
  }

  #add(change: Change): void {
    this.#all.push(change)
    const changes = this.#byTopic.get(change.topic)
    if (changes === undefined) {
      this.#byTopic.set(change.topic, [change])
      change.topic.pins++
    } else {
      changes.push(change)
    }
    while (this.size > this.#max) {
      this.#evict()
    }
  }

  #evict(): void {
    const change = this.#all[this.#from] as Change
    this.#from++
    if (this.#from > 1_024 && this.#from * 2 > this.#all.length) {
      this.#all = this.#all.slice(this.#from)
      this.#from = 0
    }
    const changes = this.#byTopic.get(change.topic) as Change[]
    changes.shift()
    if (changes.length === 0) {
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
    const changes = (this.#byTopic.get(topic) ?? []).filter(change => change.origin === origin && change.after > head)
    return changes.some(change => change.before < head) ? undefined : changes
  }
}
