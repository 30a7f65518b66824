import type { Entry } from '../../crdt/entry.ts'
import type { OrMap } from '../../crdt/or-map.ts'
import { USERS_TOPIC } from '../names.ts'
import type { Origin } from '../presence/origin.ts'
import type { PresenceIndex, TopicNode } from '../presence/presence-index.ts'
import type { Step } from '../presence/presence-view.ts'
import { Queue } from '../presence/queue.ts'

/** An identity of one topic that events of one origin, up to `after`, touched, and what was shown of it before. */
export interface Change {
  readonly origin: Origin
  readonly after: number
  readonly topic: TopicNode
  readonly key: string
  readonly session: string
  readonly shown: { readonly entry: Entry; readonly origin: Origin; readonly prevRef: string | null } | null
  /** Several entries of the identity were known: elsewhere another may have been shown. */
  readonly mixed: boolean
}

/** A step that took several events of an origin at once: this replica never stood at a head between `before` and `after`. */
interface Leap {
  readonly before: number
  readonly after: number
}

/** Per origin: the head when it was last complete, the event after which nothing of it was let go, and the leaps since then. */
interface Reach {
  head: number
  floor: number
  /** It was repaired since: what it showed before was no prefix of its events. */
  blind: boolean
  readonly leaps: Queue<Leap>
}

const MAX_LEAPS = 4_096

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

  /** What happened to a hidden origin showed nothing here, and may have elsewhere: nothing is promised from before it. */
  record(step: Step): void {
    const origin = step.origin
    if (origin === null) {
      return
    }
    const record = this.#map.record(origin.ref)
    const reach = this.#reachOf(origin)
    const complete = record?.complete ?? true
    const after = complete ? (record?.head ?? 0) : Math.max(reach.head + 1, record?.horizon ?? 0)
    for (const { topic } of step.builders.values()) {
      if (topic.name !== USERS_TOPIC) {
        this.#recordTopic(step, topic, origin, after)
      }
    }
    if (complete) {
      this.#advance(reach, after, origin.hidden)
    } else if (record?.repairing || origin.hidden) {
      reach.blind = true
    }
  }

  #reachOf(origin: Origin): Reach {
    let reach = this.#reach.get(origin)
    if (reach === undefined) {
      reach = { head: 0, floor: 0, blind: false, leaps: new Queue() }
      this.#reach.set(origin, reach)
    }
    return reach
  }

  /** A transfer is one leap, however many slices it took: in between this replica stood at no head of the origin. */
  #advance(reach: Reach, head: number, hidden: boolean): void {
    if (head > reach.head + 1) {
      reach.leaps.push({ before: reach.head, after: head })
      if (reach.leaps.size > MAX_LEAPS) {
        reach.floor = Math.max(reach.floor, reach.leaps.shift()?.after ?? 0)
      }
    }
    if (hidden || reach.blind) {
      reach.floor = head
      reach.blind = false
    }
    reach.head = head
  }

  #recordTopic(step: Step, topic: TopicNode, origin: Origin, after: number): void {
    const builder = step.builders.get(topic)
    for (const slot of builder?.slots() ?? []) {
      const was = builder?.before(slot)
      const shown = was?.entry && was.origin ? { entry: was.entry, origin: was.origin, prevRef: was.prevRef } : null
      this.#add({ origin, after, topic, key: slot.key, session: slot.session, shown, mixed: was?.mixed ?? false })
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
   * remembers. One who stood between the ends of a leap may have been shown what came and went within it.
   */
  since(origin: Origin, head: number, topic: TopicNode): Change[] | undefined {
    const reach = this.#reach.get(origin)
    if (reach === undefined || head < reach.floor || head > reach.head) {
      return undefined
    }
    for (const { before, after } of reach.leaps.values()) {
      if (before < head && head < after) {
        return undefined
      }
    }
    const changes: Change[] = []
    for (const change of this.#byTopic.get(topic)?.values() ?? []) {
      if (change.origin === origin && change.after > head) {
        changes.push(change)
      }
    }
    return changes
  }
}
