import { type ReplicaId, type ReplicaRef, refKey } from '../../crdt/dot.ts'
import type { Entry } from '../../crdt/entry.ts'
import type { OrMap } from '../../crdt/or-map.ts'
import { isShared } from '../connections/session.ts'
import type { DiffParts } from '../presence/diff-builder.ts'
import type { Origin } from '../presence/origin.ts'
import type { PresenceFactory } from '../presence/presence-factory.ts'
import type { Slot, TopicNode } from '../presence/presence-index.ts'
import type { PresenceView } from '../presence/presence-view.ts'
import type { Leave, Presence, Replace, Reset, Update } from '../types.ts'
import type { ChangeLog } from './change-log.ts'
import type { Version, VersionEntry } from './version.ts'

/** What a resumed watch is told first. */
export interface Missed {
  readonly parts: DiffParts
  readonly replace: readonly Replace[]
  readonly resets: readonly Reset[]
}

/** How this replica can answer a token: what was missed; or not yet (`behind`); or not at all (`unknown`: a replica of it is gone or was never heard of). */
export type ResumeAnswer = { readonly kind: 'missed'; readonly missed: Missed } | { readonly kind: 'behind' | 'unknown' }

/** An identity that may differ from what the client shows. */
interface Touched {
  readonly key: string
  readonly session: string
  /** What was shown of it here, as of the token. */
  readonly before: Presence | null
  /** Several origins had part in it: at another replica something else may have been shown as of the token. */
  mixed: boolean
}

/** By `key` and `session`. */
type TouchedMap = Map<string, Touched>

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
 * exactly there → the touched identities as they are now; absent from the token → joins; hidden here → leaves; any other case → `replace`. An
 * identity of several origins → `resets`.
 */
export function resume(context: ResumeContext, topic: TopicNode, token: Version): ResumeAnswer {
  const readiness = judge(context, token)
  if (readiness !== 'ready') {
    return { kind: readiness }
  }
  const touched: TouchedMap = new Map()
  const replaced = new Set<ReplicaId>()
  for (const entry of token.values()) {
    const origin = context.view.origins.get(entry.ref)
    if (!collectKnown(context, topic, origin, entry, touched)) {
      replaced.add(entry.ref.id)
    }
  }
  collectNew(context, topic, token, touched, replaced)
  if (replaced.size > 0) {
    collectShared(topic, touched)
  }
  const parts = compare(context, topic, touched, replaced)
  return { kind: 'missed', missed: { parts, replace: replacements(context, topic, replaced), resets: resetsOf(context, topic, touched) } }
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
  touched: TouchedMap
): boolean {
  const changes = entry.partial || origin.heldSlots.size > 0 ? undefined : log.since(origin, entry.head, topic)
  if (changes === undefined) {
    return false
  }
  const seen = new Set<string>()
  for (const { key, session, shown, mixed } of changes) {
    const name = identity(key, session)
    const severally = mixed || (shown !== null && shown.origin !== origin)
    if (!seen.has(name)) {
      seen.add(name)
      const before = shown === null ? null : factory.presence(shown.entry, shown.origin, shown.prevRef)
      touch(touched, key, session, before, severally)
    } else if (severally) {
      touch(touched, key, session, null, true)
    }
  }
  if (origin.hidden) {
    for (const slot of topic.slots()) {
      const hidden = entryOf(slot, origin, entry.head)
      if (hidden !== undefined && !seen.has(identity(slot.key, slot.session))) {
        touch(touched, slot.key, slot.session, factory.presence(hidden, origin, null), false)
      }
    }
  }
  return true
}

/** An identity that is touched on behalf of two origins is mixed. */
function touch(touched: TouchedMap, key: string, session: string, before: Presence | null, mixed: boolean): void {
  const name = identity(key, session)
  const known = touched.get(name)
  if (known === undefined) {
    touched.set(name, { key, session, before, mixed })
  } else {
    known.mixed = true
  }
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

/** Origins that count here and stand in no form in the token: their entries show, or keep others' from being shown. */
function collectNew({ view }: ResumeContext, topic: TopicNode, token: Version, touched: TouchedMap, replaced: Set<ReplicaId>): void {
  const known = new Set([...token.values()].map(({ ref }) => ref.id))
  const fresh = new Set([...view.origins.values()].filter(origin => !origin.hidden && !token.has(refKey(origin.ref))))
  if (fresh.size === 0) {
    return
  }
  for (const slot of topic.slots()) {
    const consider = (origin: Origin): void => {
      if (!fresh.has(origin)) {
        return
      }
      if (known.has(origin.ref.id)) {
        replaced.add(origin.ref.id)
      }
      if (!known.has(origin.ref.id) || slot.more !== null) {
        touch(touched, slot.key, slot.session, null, false)
      }
    }
    slot.each(consider)
    if (slot.held !== null) {
      consider(slot.held.origin)
    }
  }
}

/**
 * Where one origin is not known exactly, nor is what its entries did to those of others: they may have been shown in each other's place. So all
 * identities that several replicas may have entries of are reset. Their number is that of the topic's shared sessions: this is the fall-back.
 */
function collectShared(topic: TopicNode, touched: TouchedMap): void {
  for (const slot of topic.slots()) {
    if (isShared(slot.session)) {
      touch(touched, slot.key, slot.session, null, true)
    }
  }
}

/** The slot of a touched identity, what it shows, and whether that is for `resets` to tell. */
function current(
  { factory }: ResumeContext,
  topic: TopicNode,
  { key, session, before, mixed }: Touched
): { now: Presence | null; reset: boolean } {
  const slot = topic.find(key, session)
  const now = slot?.shown ? factory.presence(slot.shown, slot.shownOrigin as Origin, slot.prevRef) : null
  const moved = now !== null && before !== null && now.replica !== before.replica
  return { now, reset: mixed || moved || (slot !== undefined && slot.more !== null) }
}

function compare(context: ResumeContext, topic: TopicNode, touched: TouchedMap, replaced: Set<ReplicaId>): DiffParts {
  const joins: Presence[] = []
  const leaves: Leave[] = []
  const updates: Update[] = []
  for (const identified of touched.values()) {
    const { now, reset } = current(context, topic, identified)
    const { before } = identified
    if (reset) {
      continue
    }
    if (before === null) {
      if (now !== null && !replaced.has(now.replica)) {
        joins.push(now)
      }
    } else if (now === null) {
      leaves.push(Object.freeze({ presence: before, reason: 'unseen' }))
    } else if (now.ref !== before.ref || now.joinedAt !== before.joinedAt) {
      updates.push(Object.freeze({ prev: before, next: now, changed: context.factory.changed(before, now) }))
    }
  }
  return { joins, leaves, updates, moves: [], replicas: statesIn(context.view, topic) }
}

function resetsOf(context: ResumeContext, topic: TopicNode, touched: TouchedMap): Reset[] {
  const resets: Reset[] = []
  for (const identified of touched.values()) {
    const { now, reset } = current(context, topic, identified)
    if (reset) {
      resets.push(Object.freeze({ key: identified.key, session: identified.session, presence: now }))
    }
  }
  return resets
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
