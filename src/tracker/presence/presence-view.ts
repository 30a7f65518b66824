import type { ReplicaId, ReplicaRef } from '../../crdt/dot.ts'
import { type Entry, EntryState } from '../../crdt/entry.ts'
import type { MergeResult } from '../../crdt/or-map.ts'
import { USERS_TOPIC } from '../names.ts'
import type { Certainty, DiffCause, LeaveReason } from '../types.ts'
import { DiffBuilder } from './diff-builder.ts'
import { firstInRank } from './hand-over.ts'
import { Holds } from './holds.ts'
import { countTopic, type Origin, OriginTable } from './origin.ts'
import type { Held, PresenceIndex, Slot, TopicNode } from './presence-index.ts'
import { leaveReason, type MarkReason } from './reasons.ts'
import { refOf } from './ref.ts'

/** What the step that just ended changed, topic by topic; perhaps nothing that is shown. */
export interface Step {
  readonly cause: DiffCause
  readonly builders: ReadonlyMap<TopicNode, DiffBuilder>
  /** The origin whose events made it; null where none did (a judgement on a replica). */
  readonly origin: Origin | null
}

/**
 * Derives what is shown from what is held: entries of all origins, grouped by identity; per identity the first in rank of the origins that are not hidden.
 *
 * INV-21: what is shown changes only in `#refresh`, and each change is in the diff of its step, so the fold of all diffs is what is listed.
 */
export class PresenceView {
  readonly index: PresenceIndex
  readonly origins: OriginTable
  readonly #holds: Holds
  #begun = false
  #cause: DiffCause = 'local'
  #origin: Origin | null = null
  #builders = new Map<TopicNode, DiffBuilder>()
  #pruned = new Set<Slot>()
  onFlush: (step: Step) => void = () => {}
  /** An entry of another owner came into a slot that holds an entry of ours. */
  onRival: (slot: Slot) => void = () => {}

  constructor(index: PresenceIndex, self: ReplicaRef, moveHoldMs: number, nowMs: () => number) {
    this.index = index
    this.origins = new OriginTable(self)
    this.#holds = new Holds(moveHoldMs, nowMs)
  }

  /** Our own entry was made, or replaced `before` in one event. */
  putOwn(entry: Entry, before?: Entry): Slot {
    this.#begin('local', this.origins.self)
    const self = this.origins.self
    const slot = this.#slot(entry)
    if (before !== undefined) {
      slot.remove(self, before.counter)
    }
    slot.put(self, entry)
    this.#refresh(slot, 'unseen')
    return slot
  }

  /** Our own entry moved on: `after` undefined means removed. */
  markOwn(before: Entry, after: Entry | undefined, reason: MarkReason): void {
    this.#begin('local', this.origins.self)
    this.#mark(this.origins.self, before, after, reason, true)
  }

  merged(ref: ReplicaRef, result: MergeResult, cause: 'delta' | 'transfer'): void {
    const origin = this.origins.get(ref)
    this.#begin(cause, origin)
    const renewed = renewedIn(result)
    for (const { entry, reason } of result.removed) {
      if (!renewed.has(entry.counter)) {
        this.#mark(origin, entry, undefined, reason, result.complete)
      } else {
        this.#find(entry)?.remove(origin, entry.counter)
      }
    }
    for (const { before, after, reason } of result.changed) {
      this.#mark(origin, before, after, reason, result.complete)
    }
    for (const entry of result.added) {
      this.#add(origin, entry)
    }
    if (result.complete && origin.heldSlots.size > 0) {
      this.#release(origin, held => held.dueMs === Infinity, 'unseen')
    }
  }

  #add(origin: Origin, entry: Entry): void {
    const slot = this.#slot(entry)
    slot.put(origin, entry)
    if (slot.more !== null) {
      this.onRival(slot)
    }
    this.#refresh(slot, 'unseen')
  }

  #mark(origin: Origin, before: Entry, after: Entry | undefined, reason: number, complete: boolean): void {
    const slot = this.#find(before)
    if (slot === undefined) {
      return
    }
    // What was closed here may hide a later entry elsewhere, until it is known there to be gone.
    const several = slot.more !== null || before.state === EntryState.closed
    if (after !== undefined) {
      slot.put(origin, after)
      if (slot.more !== null) {
        this.onRival(slot)
      }
    } else if (slot.remove(origin, before.counter) && slot.entry === null && slot.shown !== null && before.state !== EntryState.closed) {
      this.#holds.begin(slot, origin, before, reason, complete)
    }
    this.#refresh(slot, leaveReason(reason), several || slot.held !== null)
  }

  #release(origin: Origin, which: (held: Held) => boolean, reason: LeaveReason): void {
    for (const slot of this.#holds.endOf(origin, which)) {
      this.#refresh(slot, reason)
    }
  }

  /** Ends holds of moved presences whose new entry did not come. */
  tick(): void {
    for (const slot of this.#holds.due()) {
      this.#begin('local', slot.held?.origin ?? null)
      this.#holds.end(slot)
      this.#refresh(slot, 'moved')
    }
  }

  paused(byMs: number): void {
    this.#holds.paused(byMs)
  }

  setHidden(ref: ReplicaRef, hidden: boolean, entries: Iterable<Entry>, reason: LeaveReason): void {
    const origin = this.origins.get(ref)
    if (origin.hidden === hidden) {
      return
    }
    this.#begin(hidden ? 'down' : 'delta', null)
    origin.hidden = hidden
    if (hidden) {
      this.#release(origin, () => true, reason)
    }
    for (const entry of entries) {
      const slot = this.#find(entry)
      if (slot !== undefined) {
        this.#refresh(slot, reason)
      }
    }
  }

  drop(ref: ReplicaRef, entries: Iterable<Entry>, reason: LeaveReason): void {
    const origin = this.origins.find(ref)
    if (origin === undefined) {
      return
    }
    this.#begin('permdown', null)
    for (const entry of entries) {
      const slot = this.#find(entry)
      if (slot?.remove(origin, entry.counter)) {
        this.#refresh(slot, reason)
      }
    }
    this.#release(origin, () => true, reason)
    this.origins.delete(origin)
  }

  setCertainty(id: ReplicaId, state: Certainty): void {
    const replica = this.origins.replica(id)
    if (replica.certainty === state) {
      return
    }
    this.#begin(state === 'unknown' ? 'down' : 'delta', null)
    for (const topic of replica.topics.keys()) {
      this.#builder(topic).touchReplica(id, replica.certainty)
    }
    replica.certainty = state
  }

  /** Our own entries stand under new dots of a new ref. */
  reincarnated(self: ReplicaRef, moved: readonly { before: Entry; after: Entry }[]): void {
    this.flush()
    const old = this.origins.self
    this.origins.rename(self)
    this.#begin('local', this.origins.self)
    for (const { before, after } of moved) {
      const slot = this.#slot(after)
      slot.remove(old, before.counter)
      slot.put(this.origins.self, after)
      this.#refresh(slot, 'unseen')
    }
    this.#release(old, () => true, 'unseen')
    this.origins.delete(old)
  }

  /** Ends a part of the step: hands out what changed in it. */
  flush(): void {
    if (!this.#begun) {
      return
    }
    const step = { cause: this.#cause, builders: this.#builders, origin: this.#origin }
    this.#begun = false
    this.#builders = new Map()
    this.onFlush(step)
  }

  /** The step is over and told of: forgets what became empty. Not before: an identity that comes again within the step is the same. */
  prune(): void {
    for (const slot of this.#pruned) {
      this.index.prune(slot)
    }
    this.#pruned.clear()
  }

  #begin(cause: DiffCause, origin: Origin | null): void {
    if (cause !== this.#cause || origin !== this.#origin) {
      this.flush()
    }
    this.#begun = true
    this.#cause = cause
    this.#origin = origin
  }

  #find(entry: Entry): Slot | undefined {
    return this.index.find(entry.topic)?.find(entry.key, entry.session)
  }

  #slot(entry: Entry): Slot {
    return this.index.topic(entry.topic).slot(entry.key, entry.session)
  }

  #builder(topic: TopicNode): DiffBuilder {
    let builder = this.#builders.get(topic)
    if (builder === undefined) {
      builder = new DiffBuilder(topic, this.#cause)
      this.#builders.set(topic, builder)
    }
    return builder
  }

  /**
   * The one place where what is shown changes. A slot of several candidates, or of a held one, is touched also when it shows the same as before:
   * elsewhere, where others of them are known, it may not.
   */
  #refresh(slot: Slot, reason: LeaveReason, several = slot.more !== null): void {
    const best = firstInRank(slot)
    if (slot.held !== null && (slot.entry !== null || slot.held.origin.hidden)) {
      this.#holds.end(slot)
    }
    let entry: Entry | null = null
    let origin: Origin | null = null
    if (best !== null) {
      entry = best.entry.state === EntryState.closed ? null : best.entry
      origin = entry === null ? null : best.origin
    } else if (slot.held !== null) {
      entry = slot.held.entry
      origin = slot.held.origin
    }
    if (entry !== slot.shown || origin !== slot.shownOrigin) {
      this.#builder(slot.topic).touch(slot, reason, several)
      this.#show(slot, entry, origin)
    } else if (several) {
      this.#builder(slot.topic).touch(slot, reason, true)
    }
    if (slot.entry === null && slot.held === null) {
      this.#pruned.add(slot)
    }
  }

  #show(slot: Slot, entry: Entry | null, origin: Origin | null): void {
    const before = slot.shown
    if (before !== null) {
      countTopic((slot.shownOrigin as Origin).replica, slot.topic, -1)
    }
    if (entry !== null) {
      countTopic((origin as Origin).replica, slot.topic, 1)
    }
    const inTopic = slot.topic.name !== USERS_TOPIC
    if (before === null && entry !== null) {
      slot.topic.count(slot, 1)
      slot.prevRef = null
      if (inTopic) {
        this.index.addToUser(entry.user, slot)
        this.index.shownTopics += slot.topic.shownPresences === 1 ? 1 : 0
      }
    } else if (before !== null && entry === null) {
      slot.topic.count(slot, -1)
      slot.prevRef = null
      if (inTopic) {
        this.index.removeFromUser(before.user, slot)
        this.index.shownTopics -= slot.topic.shownPresences === 0 ? 1 : 0
      }
    } else if (before !== null && entry !== null && (before.revision !== entry.revision || before.meta !== entry.meta)) {
      slot.prevRef = refOf(before)
    }
    slot.shown = entry
    slot.shownOrigin = origin
  }
}

const identity = (entry: Entry): string => `${entry.topic}\u0000${entry.key}\u0000${entry.session}`

/** Removed dots whose identity comes again in the same merge: an update is never a leave, however it was composed. */
function renewedIn({ added, removed }: MergeResult): Set<number> {
  const renewed = new Set<number>()
  if (removed.length > 0 && added.length > 0) {
    const identities = new Set(added.map(identity))
    for (const { entry } of removed) {
      if (identities.has(identity(entry))) {
        renewed.add(entry.counter)
      }
    }
  }
  return renewed
}
