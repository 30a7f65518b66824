import { PresenceFold } from '../../../tracker/presence/presence-fold.ts'
import type { DiffEvent, WatchEvent } from '../../../tracker/types.ts'
import { pushFrame, pushHead, pushText } from '../protocol/frames.ts'
import { diffText, stateText } from '../protocol/presence-json.ts'
import { frameOf } from '../protocol/wire.ts'
import { Audience } from './audience.ts'
import type { Feed, FeedInit } from './feed.ts'
import { IntervalMode } from './interval-mode.ts'
import { PacedReader } from './paced-reader.ts'
import { type ListedDiff, Sample } from './sample.ts'
import type { Watcher } from './watcher.ts'

const END = Buffer.from(']')

/**
 * One topic, for all clients here that watch it. Reads one watch, holds what its watchers list, and tells them all the same.
 *
 * INV-91: what is told is the fold of one stream. A newcomer is given the fold as it stands between two events, then the events after it.
 * INV-92: an event is encoded once, whatever the number of watchers; so is a snapshot, for all who come between two events.
 */
export class TopicFeed implements Feed {
  readonly audience = new Audience(() => this.#reader.soon())
  readonly #init: FeedInit
  readonly #fold = new PresenceFold()
  readonly #mode: IntervalMode
  readonly #reader: PacedReader<WatchEvent>
  /** Those who were told that they see a sample. */
  readonly #sampled = new WeakSet<Watcher>()
  #sample: Sample | null = null
  #state: Buffer | null = null
  #told = ''

  /** @throws InvalidNameError */
  constructor(init: FeedInit) {
    this.#init = init
    this.#mode = new IntervalMode(init.options.interval, performance.now())
    this.#reader = new PacedReader({
      source: init.tracker.watch(init.topic),
      windowMs: () => (this.#sample === null ? init.options.diffWindowMs : init.options.interval.everyMs),
      take: event => this.#take(event),
      settled: () => this.#admit(),
      ended: init.ended
    })
  }

  get isSampled(): boolean {
    return this.#sample !== null
  }

  /** From time to time: a topic that became calm comes back though nothing happens in it. */
  tick(): void {
    if (this.#sample !== null && this.#mode.judge(this.#fold.size, performance.now())) {
      this.#switch()
      this.#reader.soon()
    }
  }

  close(): void {
    this.#reader.close()
  }

  #take(event: WatchEvent): void {
    this.#fold.apply(event)
    this.#state = null
    if (event.type === 'diff') {
      this.#mode.note(event.joins.length + event.leaves.length + event.updates.length, this.audience.size, performance.now())
    }
    if (this.#mode.judge(this.#fold.size, performance.now())) {
      this.#switch()
    } else if (this.#sample !== null) {
      this.#tellDiff(this.#sample.next(this.#fold.keys))
      this.#tellCounts()
    } else if (event.type === 'diff') {
      this.#tellDiff(event)
    }
    this.#admit()
  }

  #tellDiff(diff: ListedDiff | DiffEvent): void {
    const payload = diffText(diff)
    if (payload !== undefined) {
      const { tally, topic } = this.#init
      tally.diffFlushes++
      tally.diffEncodes++
      tally.diffsSent += this.audience.tell(frameOf(pushText(topic, 'presence_diff', payload)))
    }
  }

  #tellCounts(): void {
    const counts = this.#counts()
    if (counts !== this.#told) {
      this.#told = counts
      this.#init.tally.countsSent += this.audience.tell(frameOf(counts))
    }
  }

  #counts(): string {
    return pushText(this.#init.topic, 'presence_count', JSON.stringify({ keys: this.#fold.keys.size, presences: this.#fold.size }))
  }

  /** To interval mode, or back. The state that follows makes each client's list what it now stands for. */
  #switch(): void {
    const { interval } = this.#init.options
    this.#sample = this.#mode.on ? new Sample(interval.sample) : null
    this.#sample?.next(this.#fold.keys)
    this.#state = null
    this.audience.recall()
  }

  #modePayload(): object {
    const { everyMs, sample } = this.#init.options.interval
    return this.#sample === null ? { mode: 'full' } : { mode: 'interval', sample, interval_ms: everyMs }
  }

  /** All who wait for the whole state get it. */
  #admit(): void {
    if (!this.audience.waiting) {
      return
    }
    const { tally, topic } = this.#init
    const state = this.#encodeState()
    const mode = pushFrame(topic, 'presence_mode', this.#modePayload())
    const counts = frameOf(this.#counts())
    this.#told = counts.text
    this.audience.admit(watcher => {
      tally.snapshotsSent++
      const wasSampled = this.#sampled.delete(watcher)
      if (this.#sample !== null || wasSampled) {
        watcher.send(mode)
      }
      watcher.sendParts([Buffer.from(pushHead(topic, 'presence_state', watcher.joinRef)), state, END])
      if (this.#sample !== null) {
        this.#sampled.add(watcher)
        watcher.send(counts)
      }
    })
  }

  #encodeState(): Buffer {
    if (this.#state === null) {
      this.#init.tally.snapshotEncodes++
      this.#state = Buffer.from(stateText(this.#sample?.shown ?? this.#fold.keys))
    }
    return this.#state
  }
}
