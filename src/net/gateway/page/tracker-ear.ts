import type { Diff, Tracker, TrackerEventName, TrackerListener } from '../../../tracker/types.ts'
import type { EventTail } from './event-tail.ts'
import type { TailKind } from './messages.ts'
import type { TopicCounts } from './topic-counts.ts'

/** Listens to the tracker for the live page, as long as somebody looks at it. */
export class TrackerEar {
  readonly #tracker: Tracker
  readonly #tail: EventTail
  readonly #counts: TopicCounts
  #deafen: (() => void)[] = []

  constructor(tracker: Tracker, tail: EventTail, counts: TopicCounts) {
    this.#tracker = tracker
    this.#tail = tail
    this.#counts = counts
  }

  start(): void {
    this.#on('diff', ({ detail }) => this.#diff(detail))
    for (const kind of ['online', 'offline'] as const) {
      this.#on(kind, ({ detail }) => this.#tail.add({ kind, user: detail.user }))
    }
    for (const kind of ['up', 'suspect', 'down', 'permdown', 'duplicate', 'diverged'] as const) {
      this.#on(`replica:${kind}`, ({ detail }) => this.#replica(kind, detail))
    }
    this.#on('isolated', ({ detail }) => this.#tail.add({ kind: detail.isolated ? 'isolated' : 'rejoined' }, true))
  }

  stop(): void {
    for (const deafen of this.#deafen) {
      deafen()
    }
    this.#deafen = []
  }

  #on<N extends TrackerEventName>(name: N, listener: TrackerListener<N>): void {
    this.#tracker.addEventListener(name, listener)
    this.#deafen.push(() => this.#tracker.removeEventListener(name, listener))
  }

  #replica(kind: TailKind, detail: { readonly id: string; readonly reason?: string; readonly quarantined?: boolean }): void {
    const reason = detail.reason ?? (detail.quarantined ? 'quarantined' : undefined)
    this.#tail.add({ kind, replica: detail.id, ...(reason !== undefined && { reason }) }, true)
  }

  /** A diff may be of ten thousand: what does not fit in the tail costs nothing but its number. */
  #diff({ topic, joins, leaves, updates }: Diff): void {
    this.#counts.touch(topic)
    let told = 0
    for (const { presence, reason } of leaves) {
      if (!this.#tail.hasRoom) {
        break
      }
      this.#tail.add({ kind: 'leave', topic, key: presence.key, replica: presence.replica, reason })
      told++
    }
    for (const { key, replica } of joins) {
      if (!this.#tail.hasRoom) {
        break
      }
      this.#tail.add({ kind: 'join', topic, key, replica })
      told++
    }
    for (const { next } of updates) {
      if (!this.#tail.hasRoom) {
        break
      }
      this.#tail.add({ kind: 'update', topic, key: next.key, replica: next.replica })
      told++
    }
    const omitted = joins.length + leaves.length + updates.length - told
    if (omitted > 0) {
      this.#tail.omit(omitted)
    }
  }
}
