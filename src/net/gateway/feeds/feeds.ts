import type { Tracker } from '../../../tracker/types.ts'
import type { ResolvedGatewayOptions } from '../options.ts'
import type { Tally } from '../tally.ts'
import { CountFeed } from './count-feed.ts'
import type { Feed } from './feed.ts'
import { TopicFeed } from './topic-feed.ts'
import type { Watcher } from './watcher.ts'

export type WatchMode = 'list' | 'counts'

/** The feeds of all topics that somebody here watches: there as long as somebody does. */
export class Feeds {
  readonly #tracker: Tracker
  readonly #options: ResolvedGatewayOptions
  readonly #tally: Tally
  readonly #failed: (topic: string, mode: WatchMode, error: unknown) => void
  readonly #feeds: Readonly<Record<WatchMode, Map<string, Feed>>> = { list: new Map(), counts: new Map() }

  /** `failed`: nothing comes any more of a topic to those who watch it so; `error` is undefined when the tracker has stopped. */
  constructor(
    tracker: Tracker,
    options: ResolvedGatewayOptions,
    tally: Tally,
    failed: (topic: string, mode: WatchMode, error: unknown) => void
  ) {
    this.#tracker = tracker
    this.#options = options
    this.#tally = tally
    this.#failed = failed
  }

  get size(): number {
    return this.#feeds.list.size + this.#feeds.counts.size
  }

  get sampled(): number {
    let sampled = 0
    for (const feed of this.#feeds.list.values()) {
      sampled += Number(feed.isSampled)
    }
    return sampled
  }

  get watchers(): number {
    let watchers = 0
    for (const feeds of Object.values(this.#feeds)) {
      for (const feed of feeds.values()) {
        watchers += feed.audience.size
      }
    }
    return watchers
  }

  /** @throws InvalidNameError */
  enter(topic: string, mode: WatchMode, watcher: Watcher): void {
    this.#feed(topic, mode).audience.enter(watcher)
  }

  /** A watcher that was too slow has read. True when it missed something of the topic, and is given the whole state anew. */
  resume(topic: string, mode: WatchMode, watcher: Watcher): boolean {
    return this.#feeds[mode].get(topic)?.audience.resume(watcher) ?? false
  }

  leave(topic: string, mode: WatchMode, watcher: Watcher): void {
    const feed = this.#feeds[mode].get(topic)
    feed?.audience.leave(watcher)
    if (feed?.audience.size === 0) {
      this.#drop(topic, mode)
    }
  }

  tick(): void {
    for (const feed of this.#feeds.list.values()) {
      feed.tick()
    }
  }

  close(): void {
    for (const mode of ['list', 'counts'] as const) {
      for (const topic of [...this.#feeds[mode].keys()]) {
        this.#drop(topic, mode)
      }
    }
  }

  #feed(topic: string, mode: WatchMode): Feed {
    const known = this.#feeds[mode].get(topic)
    if (known !== undefined) {
      return known
    }
    const init = {
      tracker: this.#tracker,
      topic,
      options: this.#options,
      tally: this.#tally,
      ended: (error: unknown) => {
        this.#drop(topic, mode)
        this.#failed(topic, mode, error)
      }
    }
    const feed = mode === 'list' ? new TopicFeed(init) : new CountFeed(init)
    this.#feeds[mode].set(topic, feed)
    return feed
  }

  #drop(topic: string, mode: WatchMode): void {
    this.#feeds[mode].get(topic)?.close()
    this.#feeds[mode].delete(topic)
  }
}
