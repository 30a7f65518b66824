import type { PresenceIndex, TopicNode } from '../presence/presence-index.ts'
import type { CountEvent } from '../types.ts'
import { endOnAbort, PullIterator } from './pull-iterator.ts'

interface CountWatch {
  readonly iterator: PullIterator<CountEvent>
  told: CountEvent | null
}

/** Counts only: for topics whose members nobody lists. A step costs each watcher O(1), whatever it changed. */
export class CountHub {
  readonly #index: PresenceIndex
  readonly #watches = new Map<TopicNode, Set<CountWatch>>()

  constructor(index: PresenceIndex) {
    this.#index = index
  }

  watch(topic: TopicNode, signal: AbortSignal | undefined): PullIterator<CountEvent> {
    let unfollow = (): void => {}
    const watch: CountWatch = {
      told: null,
      iterator: new PullIterator<CountEvent>(
        () => this.#take(topic, watch),
        () => {
          unfollow()
          this.#remove(topic, watch)
        }
      )
    }
    const watches = this.#watches.get(topic)
    if (watches === undefined) {
      this.#watches.set(topic, new Set([watch]))
      topic.pins++
    } else {
      watches.add(watch)
    }
    unfollow = endOnAbort(watch.iterator, signal)
    return watch.iterator
  }

  #take(topic: TopicNode, watch: CountWatch): CountEvent | undefined {
    if (watch.told?.keys === topic.shownKeys && watch.told.presences === topic.shownPresences) {
      return undefined
    }
    watch.told = Object.freeze({ type: 'count', topic: topic.name, keys: topic.shownKeys, presences: topic.shownPresences })
    return watch.told
  }

  #remove(topic: TopicNode, watch: CountWatch): void {
    const watches = this.#watches.get(topic)
    if (watches?.delete(watch) && watches.size === 0) {
      this.#watches.delete(topic)
      topic.pins--
      this.#index.pruneTopic(topic)
    }
  }

  stepped(builders: ReadonlyMap<TopicNode, unknown>): void {
    for (const topic of builders.keys()) {
      for (const watch of this.#watches.get(topic) ?? []) {
        watch.iterator.wake()
      }
    }
  }

  endAll(): void {
    for (const watches of [...this.#watches.values()]) {
      for (const watch of [...watches]) {
        watch.iterator.end()
      }
    }
  }
}
