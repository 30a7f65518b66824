import type { Presence } from '../../../tracker/types.ts'

type Listed = ReadonlyMap<string, readonly Presence[]>

/**
 * Some keys of a topic too large to be told of whole. Who is in it stays until he leaves; free places go to the keys with the smallest hashes, so that
 * two replicas that show the same topic show nearly the same sample. INV-93: what is shown is always a part of what is listed.
 */
export class Sample {
  readonly #size: number
  #shown = new Map<string, readonly Presence[]>()

  constructor(size: number) {
    this.#size = size
  }

  get shown(): Listed {
    return this.#shown
  }

  /** What is to be told so that what was shown before becomes a part of `listed`. */
  next(listed: Listed): ListedDiff {
    const before = this.#shown
    this.#shown = this.#choose(listed)
    return difference(before, this.#shown)
  }

  #choose(listed: Listed): Map<string, readonly Presence[]> {
    const chosen = new Map<string, readonly Presence[]>()
    for (const key of this.#shown.keys()) {
      const presences = listed.get(key)
      if (presences !== undefined) {
        chosen.set(key, presences)
      }
    }
    const free = this.#size - chosen.size
    for (const key of free > 0 ? smallest(listed, chosen, free) : []) {
      chosen.set(key, listed.get(key) ?? [])
    }
    return chosen
  }
}

/** What a watcher is told of a change of keys. */
export interface ListedDiff {
  readonly joins: readonly Presence[]
  readonly leaves: readonly { readonly presence: Presence }[]
  readonly updates: readonly { readonly prev: Presence; readonly next: Presence }[]
}

const sessionOf = ({ ref }: Presence): string => ref.slice(0, ref.indexOf('.'))

/** An unchanged key has the same array in both. What left and came within one session is an update. */
function difference(before: Listed, after: Listed): ListedDiff {
  const gone = new Map<string, Presence>()
  for (const [key, presences] of before) {
    const now = after.get(key)
    if (now !== presences) {
      for (const presence of missingIn(now, presences)) {
        gone.set(`${sessionOf(presence)} ${key}`, presence)
      }
    }
  }
  const joins: Presence[] = []
  const updates: { prev: Presence; next: Presence }[] = []
  for (const [key, presences] of after) {
    const known = before.get(key)
    for (const next of known === presences ? [] : missingIn(known, presences)) {
      const identity = `${sessionOf(next)} ${key}`
      const prev = gone.get(identity)
      if (prev === undefined) {
        joins.push(next)
      } else {
        gone.delete(identity)
        updates.push({ prev, next })
      }
    }
  }
  return { joins, leaves: [...gone.values()].map(presence => ({ presence })), updates }
}

function missingIn(known: readonly Presence[] = [], presences: readonly Presence[]): Presence[] {
  const refs = new Set(known.map(({ ref }) => ref))
  return presences.filter(({ ref }) => !refs.has(ref))
}

/** The keys with the `count` smallest hashes that are not chosen yet. O(keys · log count), once when places are free. */
function smallest(listed: Listed, chosen: ReadonlyMap<string, unknown>, count: number): string[] {
  const best: { readonly key: string; readonly hash: number }[] = []
  for (const key of listed.keys()) {
    if (chosen.has(key)) {
      continue
    }
    const hash = hashOf(key)
    const last = best.at(-1)
    if (best.length < count || hash < (last?.hash ?? 0)) {
      let at = best.length
      while (at > 0 && (best[at - 1]?.hash ?? 0) > hash) {
        at--
      }
      best.splice(at, 0, { key, hash })
      best.length = Math.min(best.length, count)
    }
  }
  return best.map(({ key }) => key)
}

/** FNV-1a over the code units, mixed as murmur3 does at its end. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
