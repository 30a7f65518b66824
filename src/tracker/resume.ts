import { type ReplicaId, type ReplicaRef, refKey } from '../crdt/dot.ts'
import type { Entry } from '../crdt/entry.ts'
import type { OrMap } from '../crdt/or-map.ts'
import type { ChangeLog } from './change-log.ts'
import type { DiffParts } from './diff-builder.ts'
import type { Origin } from './origin.ts'
import type { PresenceFactory } from './presence-factory.ts'
import type { Slot, TopicNode } from './presence-index.ts'
import type { PresenceView } from './presence-view.ts'
import type { Leave, Move, Presence, Replace, Update } from './types.ts'
import type { Version, VersionEntry } from './version.ts'

/** How this replica can answer a token: what was missed; or not yet (`behind`); or not at all (`unknown`: a replica of it is gone or was never heard of). */
export type ResumeAnswer =
  | { readonly kind: 'missed'; readonly parts: DiffParts; readonly replace: readonly Replace[] }
  | { readonly kind: 'behind' | 'unknown' }

export interface ResumeContext {
  readonly map: OrMap
  readonly view: PresenceView
  readonly log: ChangeLog
  readonly factory: PresenceFactory
  /** The replica is a member whose events have not come yet. */
  awaits(ref: ReplicaRef): boolean
}

/**
 * What a client that was shown `topic` as of `token`, by whatever replica, has to be told to show what is listed here. Per origin: this replica stood
 * exactly there → the touched identities as they are now; absent from the token → joins; hidden here → leaves; any other case → `replace`.
 */
export function resume(context: ResumeContext, topic: TopicNode, token: Version): ResumeAnswer {
  const readiness = judge(context, token)
  if (readiness !== 'ready') {
    return { kind: readiness }
  }
  const touched = new Map<string, Presence | null>()
  const replaced = new Set<ReplicaId>()
  for (const entry of token.values()) {
    const origin = context.view.origins.get(entry.ref)
    if (!collectKnown(context, topic, origin, entry, touched)) {
      replaced.add(entry.ref.id)
    }
  }
  collectNew(context, topic, token, touched, replaced)
  return { kind: 'missed', parts: compare(context, topic, touched, replaced), replace: replacements(context, topic, replaced) }
}

function judge(context: ResumeContext, token: Version): 'ready' | 'behind' | 'unknown' {
  let unknown = false
  for (const { ref, head } of token.values()) {
    const record = context.map.record(ref)
    if (record === undefined ? context.awaits(ref) : record.head < head || !record.complete) {
      return 'behind'
    }
    unknown ||= record === undefined
  }
  return unknown ? 'unknown' : 'ready'
}

/** False when the origin has to be replaced. */
function collectKnown(
  { log, factory }: ResumeContext,
  topic: TopicNode,
  origin: Origin,
  entry: VersionEntry,
  touched: Map<string, Presence | null>
): boolean {
  const changes = entry.partial || origin.heldSlots.size > 0 ? undefined : log.since(origin, entry.head, topic)
  if (changes === undefined) {
    return false
  }
  for (const change of changes) {
    const name = identity(change.key, change.session)
    if (!touched.has(name)) {
      touched.set(name, change.shown === null ? null : factory.presence(change.shown.entry, change.shown.origin, change.shown.prevRef))
    }
  }
  if (origin.hidden) {
    for (const slot of topic.slots()) {
      const name = identity(slot.key, slot.session)
      const hidden = entryOf(slot, origin, entry.head)
      if (hidden !== undefined && !touched.has(name)) {
        touched.set(name, factory.presence(hidden, origin, null))
      }
    }
  }
  return true
}

function entryOf(slot: Slot, origin: Origin, head: number): Entry | undefined {
  let found: Entry | undefined
  slot.each((candidate, entry) => {
    if (candidate === origin && entry.counter <= head) {
      found = entry
    }
  })
  return found
}

/** Origins that are shown here and stand in no form in the token. */
function collectNew(
  { view }: ResumeContext,
  topic: TopicNode,
  token: Version,
  touched: Map<string, Presence | null>,
  replaced: Set<ReplicaId>
): void {
  const known = new Set([...token.values()].map(({ ref }) => ref.id))
  let fresh = false
  for (const origin of view.origins.values()) {
    if (!token.has(refKey(origin.ref)) && origin.replica.topics.has(topic)) {
      if (known.has(origin.ref.id)) {
        replaced.add(origin.ref.id)
      } else {
        fresh = true
      }
    }
  }
  if (!fresh) {
    return
  }
  for (const slot of topic.slots()) {
    const name = identity(slot.key, slot.session)
    if (slot.shown !== null && !known.has((slot.shownOrigin as Origin).ref.id) && !touched.has(name)) {
      touched.set(name, null)
    }
  }
}

function compare(
  { view, factory }: ResumeContext,
  topic: TopicNode,
  touched: Map<string, Presence | null>,
  replaced: Set<ReplicaId>
): DiffParts {
  const joins: Presence[] = []
  const leaves: Leave[] = []
  const updates: Update[] = []
  const moves: Move[] = []
  for (const [name, before] of touched) {
    const [key, session] = JSON.parse(name) as [string, string]
    const slot = topic.find(key, session)
    const now = slot?.shown ? factory.presence(slot.shown, slot.shownOrigin as Origin, slot.prevRef) : null
    if (before === null) {
      if (now !== null && !replaced.has(now.replica)) {
        joins.push(now)
      }
    } else if (now === null) {
      leaves.push(Object.freeze({ presence: before, reason: 'unseen' }))
    } else if (now.ref !== before.ref) {
      updates.push(Object.freeze({ prev: before, next: now, changed: factory.changed(before, now) }))
    } else if (now.replica !== before.replica) {
      moves.push(Object.freeze({ ref: now.ref, key: now.key, replica: now.replica, state: now.state }))
    }
  }
  return { joins, leaves, updates, moves, replicas: statesIn(view, topic) }
}

function statesIn(view: PresenceView, topic: TopicNode): DiffParts['replicas'] {
  const shown = new Set([...view.origins.values()].map(origin => origin.replica).filter(replica => replica.topics.has(topic)))
  return [...shown].map(({ id, certainty }) => Object.freeze({ id, state: certainty }))
}

function replacements({ factory }: ResumeContext, topic: TopicNode, replaced: Set<ReplicaId>): Replace[] {
  const lists = new Map<ReplicaId, Presence[]>([...replaced].map(id => [id, []]))
  if (lists.size > 0) {
    for (const slot of topic.slots()) {
      const id = slot.shownOrigin?.ref.id
      if (slot.shown !== null && id !== undefined) {
        lists.get(id)?.push(factory.presence(slot.shown, slot.shownOrigin as Origin, slot.prevRef))
      }
    }
  }
  return [...lists].map(([replica, presences]) => Object.freeze({ replica, presences: Object.freeze(presences) }))
}

const identity = (key: string, session: string): string => JSON.stringify([key, session])
