import { DiffBuilder } from '../presence/diff-builder.ts'
import type { TopicNode } from '../presence/presence-index.ts'
import type { DiffEvent, SnapshotReason, WatchEvent } from '../types.ts'
import { endOnAbort, PullIterator } from './pull-iterator.ts'
import type { TopicHub } from './topic-hub.ts'

/**
 * One consumer of one topic: first a snapshot, or what was missed since a token; then diffs. What it has not come for yet is one builder, into which
 * later steps are folded.
 */
export class TopicWatch {
  readonly iterator: PullIterator<WatchEvent>
  readonly #hub: TopicHub
  readonly #topic: TopicNode
  #snapshotDue: SnapshotReason | null
  #resumed: DiffEvent | null = null
  #pending: DiffBuilder | null = null
  /** Nothing is told before the token is answered. */
  #started: boolean

  constructor(hub: TopicHub, topic: TopicNode, started: boolean, signal: AbortSignal | undefined) {
    this.#hub = hub
    this.#topic = topic
    this.#started = started
    this.#snapshotDue = started ? 'first' : null
    let unfollow = (): void => {}
    this.iterator = new PullIterator(
      () => this.#take(),
      () => {
        unfollow()
        hub.remove(topic, this)
      }
    )
    unfollow = endOnAbort(this.iterator, signal)
  }

  startWithSnapshot(reason: SnapshotReason): void {
    this.#started = true
    this.#snapshotDue = reason
    this.iterator.wake()
  }

  /** What was missed, as of now; what comes later is told next. */
  startWithMissed(missed: DiffEvent): void {
    this.#started = true
    this.#resumed = missed
    this.iterator.wake()
  }

  /** A step touched the topic; `event` builds what all who are level get, once. */
  stepped(step: DiffBuilder, event: () => DiffEvent | null): void {
    if (!this.#started || this.#snapshotDue !== null) {
      return
    }
    if (this.iterator.waiting && this.#pending === null && this.#resumed === null) {
      const built = event()
      if (built !== null) {
        this.iterator.deliver(built)
      }
      return
    }
    this.#pending ??= new DiffBuilder(this.#topic, step.cause)
    this.#pending.absorb(step)
  }

  #take(): WatchEvent | undefined {
    if (!this.#started || this.#hub.defers(this.iterator)) {
      return undefined
    }
    if (this.#snapshotDue !== null) {
      const reason = this.#snapshotDue
      this.#snapshotDue = null
      return this.#hub.snapshot(this.#topic, reason)
    }
    if (this.#resumed !== null) {
      const missed = this.#resumed
      this.#resumed = null
      return missed
    }
    const pending = this.#pending
    this.#pending = null
    return pending === null ? undefined : (this.#hub.event(this.#topic, pending.cause, pending.build(this.#hub.factory)) ?? undefined)
  }
}
