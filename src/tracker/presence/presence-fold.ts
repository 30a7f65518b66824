import type { Certainty, Diff, DiffEvent, Presence, WatchEvent } from '../types.ts'
import { SESSION_LENGTH } from './ref.ts'

/**
 * The consumer's side of `watch`: applies its events, and holds what is listed. Each event costs its own size. Arrays are never changed in place:
 * a key that changed has a new one, so `get(key)` can be compared by identity.
 *
 * An event that was applied before, or a part that a snapshot held already, changes nothing; a leave or update of an unknown ref is counted.
 */
export class PresenceFold {
  readonly #keys = new Map<string, readonly Presence[]>()
  #size = 0
  #unknownRefs = 0

  /** Keys, with their presences oldest first. A live view. */
  get keys(): ReadonlyMap<string, readonly Presence[]> {
    return this.#keys
  }

  /** Presences. */
  get size(): number {
    return this.#size
  }

  /** Parts that named a presence which was not there. */
  get unknownRefs(): number {
    return this.#unknownRefs
  }

  get(key: string): readonly Presence[] {
    return this.#keys.get(key) ?? []
  }

  apply(event: WatchEvent | Diff): void {
    if ('presences' in event) {
      this.#keys.clear()
      this.#size = 0
      this.#group(event.presences)
      return
    }
    for (const { presence } of event.leaves) {
      this.#remove(presence)
    }
    for (const { prev, next } of event.updates) {
      this.#replace(prev, next)
    }
    for (const { key, ref, replica, state } of event.moves) {
      this.#edit(key, ref, presence => ({ ...presence, replica, state }))
    }
    for (const presence of event.joins) {
      this.#put(presence)
    }
    for (const { id, state } of event.replicas) {
      this.#setState(id, state)
    }
    if ('replace' in event) {
      this.#replaceAll(event)
      this.#reset(event)
    }
  }

  #group(presences: readonly Presence[]): void {
    const lists = new Map<string, Presence[]>()
    for (const presence of presences) {
      const list = lists.get(presence.key)
      if (list === undefined) {
        lists.set(presence.key, [presence])
      } else {
        list.push(presence)
      }
    }
    for (const [key, list] of lists) {
      this.#set(key, list.sort(oldestFirst))
    }
  }

  #set(key: string, list: readonly Presence[]): void {
    this.#size += list.length - this.get(key).length
    if (list.length === 0) {
      this.#keys.delete(key)
    } else {
      this.#keys.set(key, Object.freeze(list))
    }
  }

  #put(presence: Presence): void {
    const list = this.get(presence.key)
    if (list.length === 0) {
      this.#set(presence.key, [presence])
    } else {
      this.#set(presence.key, [...list.filter(known => sessionOf(known) !== sessionOf(presence)), presence].sort(oldestFirst))
    }
  }

  #remove(presence: Presence): void {
    const list = this.get(presence.key)
    const left = list.filter(known => known.ref !== presence.ref)
    if (left.length === list.length) {
      this.#unknownRefs++
    } else {
      this.#set(presence.key, left)
    }
  }

  #replace(prev: Presence, next: Presence): void {
    if (!this.get(next.key).some(known => known.ref === prev.ref)) {
      this.#unknownRefs++
    }
    this.#put(next)
  }

  #edit(key: string, ref: string, edit: (presence: Presence) => Presence): void {
    const list = this.get(key)
    if (list.some(known => known.ref === ref)) {
      this.#set(
        key,
        list.map(known => (known.ref === ref ? Object.freeze(edit(known)) : known))
      )
    } else {
      this.#unknownRefs++
    }
  }

  /** O(keys): a replica is seldom doubted. */
  #setState(replica: string, state: Certainty): void {
    for (const [key, list] of this.#keys) {
      if (list.some(known => known.replica === replica && known.state !== state)) {
        this.#set(
          key,
          list.map(known => (known.replica === replica ? Object.freeze({ ...known, state }) : known))
        )
      }
    }
  }

  #replaceAll({ replace }: DiffEvent): void {
    for (const { replica, presences } of replace) {
      for (const [key, list] of [...this.#keys]) {
        const left = list.filter(known => known.replica !== replica)
        if (left.length !== list.length) {
          this.#set(key, left)
        }
      }
      for (const presence of presences) {
        this.#put(presence)
      }
    }
  }

  #reset({ resets }: DiffEvent): void {
    for (const { key, session, presence } of resets) {
      const left = this.get(key).filter(known => sessionOf(known) !== session)
      this.#set(key, presence === null ? left : [...left, presence].sort(oldestFirst))
    }
  }
}

const sessionOf = (presence: Presence): string => presence.ref.slice(0, SESSION_LENGTH)
const oldestFirst = (a: Presence, b: Presence): number => a.joinedAt - b.joinedAt || (a.ref < b.ref ? -1 : 1)
