import type { CountEvent } from '../../../tracker/types.ts'
import { pushText } from '../protocol/frames.ts'
import { type Frame, frameOf } from '../protocol/wire.ts'
import { PacedReader } from './paced-reader.ts'
import type { FeedInit } from './topic-feed.ts'
import { Audience, type Watcher } from './watcher.ts'

/** The counts of one topic, for all clients here that watch only these. A change costs O(1), whatever the size of the topic. */
export class CountFeed {
  readonly #init: FeedInit
  readonly #audience = new Audience()
  readonly #reader: PacedReader<CountEvent>
  #frame: Frame | null = null

  /** @throws InvalidNameError */
  constructor(init: FeedInit) {
    this.#init = init
    this.#reader = new PacedReader({
      source: init.tracker.watchCount(init.topic),
      windowMs: () => init.options.diffWindowMs,
      take: event => this.#take(event),
      settled: () => this.#admit(),
      ended: init.ended
    })
  }

  get size(): number {
    return this.#audience.size
  }

  enter(watcher: Watcher): void {
    this.#audience.enter(watcher)
    this.#reader.soon()
  }

  /** One who was too slow, and has read. True when he missed something. */
  resume(watcher: Watcher): boolean {
    const hasMissed = this.#audience.resume(watcher)
    if (hasMissed) {
      this.#reader.soon()
    }
    return hasMissed
  }

  leave(watcher: Watcher): void {
    this.#audience.leave(watcher)
  }

  tick(): void {}

  close(): void {
    this.#reader.close()
  }

  #take({ keys, presences }: CountEvent): void {
    this.#frame = frameOf(pushText(this.#init.topic, 'presence_count', JSON.stringify({ keys, presences })))
    this.#init.tally.countsSent += this.#audience.tell(this.#frame)
    this.#admit()
  }

  #admit(): void {
    const frame = this.#frame
    if (frame !== null) {
      this.#audience.admit(watcher => {
        this.#init.tally.countsSent++
        watcher.send(frame)
      })
    }
  }
}
