import type { CountEvent } from '../../../tracker/types.ts'
import { pushText } from '../protocol/frames.ts'
import { type Frame, frameOf } from '../protocol/wire.ts'
import { Audience } from './audience.ts'
import type { Feed, FeedInit } from './feed.ts'
import { PacedReader } from './paced-reader.ts'

/** The counts of one topic, for all clients here that watch only these. A change costs O(1), whatever the size of the topic. */
export class CountFeed implements Feed {
  readonly audience = new Audience(() => this.#reader.soon())
  readonly isSampled = false
  readonly #init: FeedInit
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

  tick(): void {}

  close(): void {
    this.#reader.close()
  }

  #take({ keys, presences }: CountEvent): void {
    this.#frame = frameOf(pushText(this.#init.topic, 'presence_count', JSON.stringify({ keys, presences })))
    this.#init.tally.countsSent += this.audience.tell(this.#frame)
    this.#admit()
  }

  #admit(): void {
    const frame = this.#frame
    if (frame !== null) {
      this.audience.admit(watcher => {
        this.#init.tally.countsSent++
        watcher.send(frame)
      })
    }
  }
}
