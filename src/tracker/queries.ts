import type { Life } from './life.ts'
import { USERS_TOPIC } from './names.ts'
import type { Origin } from './presence/origin.ts'
import type { TopicNode } from './presence/presence-index.ts'
import type { ListOptions, Presence } from './types.ts'

/** The presences under one key, oldest first. */
export function presencesOf(life: Life, topic: string, key: string): Presence[] {
  const node = life.index.find(topic)
  return node === undefined ? [] : presencesIn(life, node, key)
}

function presencesIn(life: Life, node: TopicNode, key: string): Presence[] {
  const presences: Presence[] = []
  for (const slot of node.slotsOf(key)) {
    if (slot.shown !== null) {
      presences.push(life.factory.presence(slot.shown, slot.shownOrigin as Origin, slot.prevRef))
    }
  }
  return presences.length < 2 ? presences : presences.sort((a, b) => a.joinedAt - b.joinedAt || (a.ref < b.ref ? -1 : 1))
}

/** Keys and their presences; in pages when `limit` or `cursor` is given. Costs what it returns. */
export function listKeys(life: Life, topic: string, { limit, cursor }: ListOptions): Map<string, Presence[]> {
  if (limit !== undefined && (!Number.isSafeInteger(limit) || limit < 1)) {
    throw new RangeError(`limit is ${limit}, allowed is an integer of 1 or more`)
  }
  const listed = new Map<string, Presence[]>()
  const node = topic === USERS_TOPIC ? undefined : life.index.find(topic)
  if (node === undefined) {
    return listed
  }
  if (limit === undefined && cursor === undefined) {
    for (const key of node.keys.keys()) {
      addKey(life, node, key, listed)
    }
    return listed
  }
  const keys = node.sortedKeys()
  for (let at = cursor === undefined ? 0 : firstAfter(keys, cursor); at < keys.length && listed.size < (limit ?? Infinity); at++) {
    addKey(life, node, keys[at] as string, listed)
  }
  return listed
}

function addKey(life: Life, node: TopicNode, key: string, listed: Map<string, Presence[]>): void {
  const presences = presencesIn(life, node, key)
  if (presences.length > 0) {
    listed.set(key, presences)
  }
}

function firstAfter(keys: readonly string[], cursor: string): number {
  let low = 0
  let high = keys.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((keys[middle] as string) <= cursor) {
      low = middle + 1
    } else {
      high = middle
    }
  }
  return low
}
