import { EntryState } from '../../crdt/entry.ts'
import type { DiffBuilder } from '../presence/diff-builder.ts'
import type { LastSeen } from '../presence/last-seen.ts'
import type { TopicNode } from '../presence/presence-index.ts'
import { crossing, keyChanges } from '../presence/transitions.ts'
import type { UserEvent } from '../types.ts'
import { endOnAbort, PullIterator } from './pull-iterator.ts'

/** A consumer of some users: per user what he was told last, and who changed since then. */
interface UserWatch {
  readonly iterator: PullIterator<UserEvent>
  readonly told: Map<string, boolean | undefined>
  readonly changed: Set<string>
}

/** Users becoming online and offline: the 0 ↔ 1 of the shown entries under their key in the users' topic. */
export class UserHub {
  readonly #topic: () => TopicNode | undefined
  readonly #lastSeen: LastSeen
  readonly #watches = new Map<string, Set<UserWatch>>()

  constructor(topic: () => TopicNode | undefined, lastSeen: LastSeen) {
    this.#topic = topic
    this.#lastSeen = lastSeen
  }

  get size(): number {
    return this.#watches.size
  }

  /** Compares each touched user with what he was before the step. */
  stepped(builder: DiffBuilder): UserEvent[] {
    const events: UserEvent[] = []
    for (const change of keyChanges(builder)) {
      const user = change.key
      this.#lastSeen.note(user, change.now > 0 && this.#live(builder.topic, user))
      const crossed = crossing(change)
      if (crossed !== undefined) {
        events.push(Object.freeze({ type: crossed === 'join' ? 'online' : 'offline', user }))
      }
    }
    this.#tell(events)
    return events
  }

  #live(topic: TopicNode, user: string): boolean {
    for (const slot of topic.slotsOf(user)) {
      if (slot.shown?.state === EntryState.live) {
        return true
      }
    }
    return false
  }

  #tell(events: readonly UserEvent[]): void {
    const woken = new Set<UserWatch>()
    for (const { user } of events) {
      for (const watch of this.#watches.get(user) ?? []) {
        watch.changed.add(user)
        woken.add(watch)
      }
    }
    for (const watch of woken) {
      watch.iterator.wake()
    }
  }

  watch(users: readonly string[], signal: AbortSignal | undefined): PullIterator<UserEvent> {
    const told = new Map<string, boolean | undefined>(users.map(user => [user, undefined]))
    const changed = new Set(told.keys())
    let unfollow = (): void => {}
    const iterator = new PullIterator<UserEvent>(
      () => this.#take(told, changed),
      () => {
        unfollow()
        this.#remove(watch)
      }
    )
    const watch: UserWatch = { iterator, told, changed }
    for (const user of told.keys()) {
      const watches = this.#watches.get(user) ?? new Set()
      this.#watches.set(user, watches.add(watch))
    }
    unfollow = endOnAbort(iterator, signal)
    return iterator
  }

  #take(told: Map<string, boolean | undefined>, changed: Set<string>): UserEvent | undefined {
    for (const user of changed) {
      changed.delete(user)
      const online = (this.#topic()?.shownOf(user) ?? 0) > 0
      if (told.get(user) !== online) {
        told.set(user, online)
        return Object.freeze({ type: online ? 'online' : 'offline', user })
      }
    }
    return undefined
  }

  #remove(watch: UserWatch): void {
    for (const user of watch.told.keys()) {
      const watches = this.#watches.get(user)
      watches?.delete(watch)
      if (watches?.size === 0) {
        this.#watches.delete(user)
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
