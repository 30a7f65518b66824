import type { DiffEvent, Presence, WatchEvent } from '../tracker/types.ts'
import { samePresence } from './fold.ts'

/**
 * What a watcher knows: a snapshot, then diffs, or the answer to a token. Unlike `TopicFold` it takes what it is told: after a hop it may be
 * told what it knows, and the leave of what it was never shown.
 */
export class WatchFold {
  #presences = new Map<string, Presence>()

  presences(): Presence[] {
    return [...this.#presences.values()]
  }

  /** Whether these are the same presences; what was there before the last update aside, which only those know who saw it. */
  shows(presences: readonly Presence[]): boolean {
    return (
      presences.length === this.#presences.size &&
      presences.every(presence => {
        const known = this.#presences.get(nameOf(presence))
        return known !== undefined && samePresence({ ...known, prevRef: presence.prevRef }, presence)
      })
    )
  }

  apply(event: WatchEvent): void {
    if (event.type === 'snapshot') {
      this.#presences = new Map(event.presences.map(presence => [nameOf(presence), presence]))
      return
    }
    this.#applyDiff(event)
    for (const { replica, presences } of event.replace) {
      for (const [name, presence] of this.#presences) {
        if (presence.replica === replica) {
          this.#presences.delete(name)
        }
      }
      for (const presence of presences) {
        this.#presences.set(nameOf(presence), presence)
      }
    }
    for (const { key, session, presence } of event.resets) {
      for (const [name, known] of this.#presences) {
        if (known.key === key && known.ref.startsWith(`${session}.`)) {
          this.#presences.delete(name)
        }
      }
      if (presence !== null) {
        this.#presences.set(nameOf(presence), presence)
      }
    }
    for (const { key, session, presence } of event.resets) {
      for (const [name, known] of this.#presences) {
        if (known.key === key && known.ref.startsWith(`${session}.`)) {
          this.#presences.delete(name)
        }
      }
      if (presence !== null) {
        this.#presences.set(nameOf(presence), presence)
      }
    }
  }

  #applyDiff({ replicas, leaves, updates, moves, joins }: DiffEvent): void {
    for (const { id, state } of replicas) {
      for (const [name, presence] of this.#presences) {
        if (presence.replica === id) {
          this.#presences.set(name, { ...presence, state })
        }
      }
    }
    for (const { presence } of leaves) {
      this.#presences.delete(nameOf(presence))
    }
    for (const { prev, next } of updates) {
      this.#presences.delete(nameOf(prev))
      this.#presences.set(nameOf(next), next)
    }
    for (const { key, ref, replica, state } of moves) {
      const known = this.#presences.get(nameOf({ key, ref }))
      if (known !== undefined) {
        this.#presences.set(nameOf(known), { ...known, replica, state })
      }
    }
    for (const presence of joins) {
      this.#presences.set(nameOf(presence), presence)
    }
  }
}

const nameOf = ({ key, ref }: { readonly key: string; readonly ref: string }): string => `${key} ${ref}`
