import type { DiffBuilder } from './diff-builder.ts'

/** How many presences of a key were shown before a step, and are now. */
export interface KeyChange {
  readonly key: string
  readonly before: number
  readonly now: number
}

/** The keys of a topic that a step touched. Costs what it touched. */
export function keyChanges(builder: DiffBuilder): KeyChange[] {
  const change = new Map<string, number>()
  for (const slot of builder.slots()) {
    const was = builder.before(slot)?.entry === null ? 0 : 1
    const is = slot.dead || slot.shown === null ? 0 : 1
    change.set(slot.key, (change.get(slot.key) ?? 0) + is - was)
  }
  return [...change].map(([key, by]) => {
    const now = builder.topic.shownOf(key)
    return { key, before: now - by, now }
  })
}

/** The 0 ↔ 1 of a change: `join`, `leave`, or undefined where the key stays present or absent. */
export function crossing({ before, now }: KeyChange): 'join' | 'leave' | undefined {
  return before > 0 === now > 0 ? undefined : now > 0 ? 'join' : 'leave'
}
