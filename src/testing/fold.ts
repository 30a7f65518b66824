import type { Diff, Presence } from '../tracker/types.ts'

/**
 * What a watcher knows who saw every diff of a topic and never listed it.
 *
 * Written from the description of `Diff` alone, so that it can tell when the tracker and that description differ.
 */
export class TopicFold {
  readonly #presences = new Map<string, Presence>()

  get size(): number {
    return this.#presences.size
  }

  /** In no order. */
  presences(): Presence[] {
    return [...this.#presences.values()]
  }

  /** Whether these are the same presences, all fields included. */
  equals(presences: Iterable<Presence>): boolean {
    let count = 0
    for (const presence of presences) {
      const known = this.#presences.get(nameOf(presence))
      if (known === undefined || !samePresence(known, presence)) {
        return false
      }
      count++
    }
    return count === this.#presences.size
  }

  /**
   * Applies one diff.
   *
   * @returns what is wrong with it: a join of what is shown, a leave of what is not, both of one ref; empty when it is sane (I3)
   */
  apply(diff: Diff): string[] {
    const faults: string[] = []
    for (const { id, state } of diff.replicas) {
      for (const [name, presence] of this.#presences) {
        if (presence.replica === id) {
          this.#presences.set(name, { ...presence, state })
        }
      }
    }
    const left = new Set<string>()
    for (const { presence } of diff.leaves) {
      const name = nameOf(presence)
      left.add(name)
      if (!this.#presences.delete(name)) {
        faults.push(`leave of ${name}, which is not shown`)
      }
    }
    for (const { prev, next } of diff.updates) {
      if (!this.#presences.delete(nameOf(prev))) {
        faults.push(`update of ${nameOf(prev)}, which is not shown`)
      }
      this.#put(next, faults)
    }
    for (const move of diff.moves) {
      const known = this.#presences.get(nameOf(move))
      if (known === undefined) {
        faults.push(`move of ${nameOf(move)}, which is not shown`)
      } else {
        this.#presences.set(nameOf(move), { ...known, replica: move.replica, state: move.state })
      }
    }
    for (const presence of diff.joins) {
      if (left.has(nameOf(presence))) {
        faults.push(`${nameOf(presence)} both joins and leaves`)
      }
      this.#put(presence, faults)
    }
    return faults
  }

  #put(presence: Presence, faults: string[]): void {
    const name = nameOf(presence)
    if (this.#presences.has(name)) {
      faults.push(`${name} joins, and is shown already`)
    }
    this.#presences.set(name, presence)
  }
}

const nameOf = ({ key, ref }: { readonly key: string; readonly ref: string }): string => `${key} (${ref})`

/** Whether all fields are equal. */
export function samePresence(a: Presence, b: Presence): boolean {
  return (
    a.ref === b.ref &&
    a.prevRef === b.prevRef &&
    a.key === b.key &&
    a.user === b.user &&
    a.replica === b.replica &&
    a.state === b.state &&
    a.joinedAt === b.joinedAt &&
    (a.meta === b.meta || JSON.stringify(a.meta) === JSON.stringify(b.meta))
  )
}

/** Every field of a presence, in one line: two are equal when their lines are. */
export function presenceLine(presence: Presence): string {
  const { key, ref, prevRef, user, meta, replica, state, joinedAt } = presence
  return `${key} ${ref} prev ${prevRef} user ${user} at ${replica} ${state} since ${joinedAt} ${JSON.stringify(meta)}`
}

/** The difference of two lists of presences as text; empty when there is none. */
export function differences(found: Iterable<Presence>, expected: Iterable<Presence>, line = presenceLine): string {
  const a = [...found].map(line).sort()
  const b = [...expected].map(line).sort()
  if (a.length === b.length && a.every((text, index) => text === b[index])) {
    return ''
  }
  const [inA, inB] = [new Set(a), new Set(b)]
  return [...a.filter(text => !inB.has(text)).map(text => `+ ${text}`), ...b.filter(text => !inA.has(text)).map(text => `- ${text}`)].join(
    '\n'
  )
}
