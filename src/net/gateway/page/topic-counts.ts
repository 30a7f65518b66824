import type { TopicCount, Tracker } from '../../../tracker/types.ts'
import type { TopicRow } from './messages.ts'

/** The counts of all topics, kept level by the tracker's diffs: nobody has to go through all presences to know them. */
export class TopicCounts {
  readonly #tracker: Tracker
  #counts = new Map<string, TopicCount>()
  #presences = 0
  #top: readonly TopicRow[] | null = null

  constructor(tracker: Tracker) {
    this.#tracker = tracker
  }

  get topics(): number {
    return this.#counts.size
  }

  get presences(): number {
    return this.#presences
  }

  /** All topics, anew. O(topics · log topics). */
  load(): void {
    this.#counts = this.#tracker.topics()
    this.#presences = 0
    for (const { presences } of this.#counts.values()) {
      this.#presences += presences
    }
    this.#top = null
  }

  clear(): void {
    this.#counts = new Map()
    this.#presences = 0
    this.#top = null
  }

  /** Something changed in a topic. O(1). */
  touch(topic: string): void {
    const count = this.#tracker.count(topic)
    const before = this.#counts.get(topic)
    if (count.presences === before?.presences && count.keys === before.keys) {
      return
    }
    this.#presences += count.presences - (before?.presences ?? 0)
    this.#top = null
    if (count.presences === 0) {
      this.#counts.delete(topic)
    } else {
      this.#counts.set(topic, count)
    }
  }

  /** The largest, by presences, then by name. O(topics) after a change. */
  top(limit: number): readonly TopicRow[] {
    this.#top ??= this.#largest(limit)
    return this.#top
  }

  #largest(limit: number): TopicRow[] {
    const rows: TopicRow[] = []
    for (const [topic, { keys, presences }] of this.#counts) {
      const last = rows.at(-1)
      if (rows.length < limit || (last !== undefined && isAbove(topic, presences, last))) {
        let at = rows.length
        while (at > 0 && isAbove(topic, presences, rows[at - 1] as TopicRow)) {
          at--
        }
        rows.splice(at, 0, { topic, keys, presences })
        rows.length = Math.min(rows.length, limit)
      }
    }
    return rows
  }
}

const isAbove = (topic: string, presences: number, other: TopicRow): boolean =>
  presences > other.presences || (presences === other.presences && topic < other.topic)
