import type { ReplicaId } from '../../crdt/dot.ts'
import type { Entry } from '../../crdt/entry.ts'
import type { Certainty, Diff, DiffCause, Leave, LeaveReason, Move, Presence, Update } from '../types.ts'
import type { Origin } from './origin.ts'
import type { PresenceFactory } from './presence-factory.ts'
import type { Slot, TopicNode } from './presence-index.ts'

/** What was shown of a slot when it was first touched. */
export interface Before {
  readonly entry: Entry | null
  readonly origin: Origin | null
  readonly prevRef: string | null
  reason: LeaveReason
  /** There were several entries of the identity: with others of them known, something else would have been shown. */
  mixed: boolean
}

export type DiffParts = Pick<Diff, 'joins' | 'leaves' | 'updates' | 'moves' | 'replicas'>

/**
 * Collects which slots of one topic were touched, and what they showed before the first touch; the diff comes from comparing that with what they show
 * at the end, never from what happened in between. So any number of steps folds into one net diff, and one who falls behind keeps one builder, not a queue.
 */
export class DiffBuilder {
  readonly topic: TopicNode
  cause: DiffCause
  readonly #before = new Map<Slot, Before>()
  readonly #certainty = new Map<ReplicaId, Certainty>()

  constructor(topic: TopicNode, cause: DiffCause) {
    this.topic = topic
    this.cause = cause
  }

  get size(): number {
    return this.#before.size + this.#certainty.size
  }

  /** To be called before what the slot shows is changed. */
  touch(slot: Slot, reason: LeaveReason, mixed = false): void {
    const known = this.#before.get(slot)
    if (known === undefined) {
      this.#before.set(slot, { entry: slot.shown, origin: slot.shownOrigin, prevRef: slot.prevRef, reason, mixed })
    } else {
      known.reason = reason
      known.mixed ||= mixed
    }
  }

  /** The certainty of replica `id` was `before`. */
  touchReplica(id: ReplicaId, before: Certainty): void {
    if (!this.#certainty.has(id)) {
      this.#certainty.set(id, before)
    }
  }

  slots(): IterableIterator<Slot> {
    return this.#before.keys()
  }

  before(slot: Slot): Readonly<Before> | undefined {
    return this.#before.get(slot)
  }

  /** Takes over what a later step touched. */
  absorb(later: DiffBuilder): void {
    this.cause = later.cause
    for (const [slot, before] of later.#before) {
      const known = this.#before.get(slot)
      if (known !== undefined) {
        known.reason = before.reason
      } else {
        this.#before.set(slot, { ...before })
      }
      if (slot.dead && this.#before.get(slot)?.entry === null) {
        this.#before.delete(slot)
      }
    }
    for (const [id, before] of later.#certainty) {
      this.touchReplica(id, before)
    }
  }

  build(factory: PresenceFactory): DiffParts {
    const joins: Presence[] = []
    const leaves: Leave[] = []
    const updates: Update[] = []
    const moves: Move[] = []
    for (const [slot, before] of this.#pairs()) {
      this.#compare(factory, slot, before, { joins, leaves, updates, moves })
    }
    const replicas = [...this.#certainty]
      .filter(([id, before]) => factory.certainty(id) !== before)
      .map(([id]) => Object.freeze({ id, state: factory.certainty(id) }))
    return { joins, leaves, updates, moves, replicas }
  }

  /** A slot that died and was made anew is one identity: what the dead one showed before is compared with what the new one shows. */
  #pairs(): Map<Slot, Before> {
    const pairs = new Map<Slot, Before>()
    for (const [slot, before] of this.#before) {
      if (!slot.dead) {
        if (!pairs.has(slot)) {
          pairs.set(slot, before)
        }
        continue
      }
      const heir = this.topic.find(slot.key, slot.session)
      if (heir === undefined) {
        pairs.set(slot, before)
      } else if (before.entry !== null) {
        pairs.set(heir, before)
      }
    }
    return pairs
  }

  #compare(
    factory: PresenceFactory,
    slot: Slot,
    before: Before,
    out: { joins: Presence[]; leaves: Leave[]; updates: Update[]; moves: Move[] }
  ): void {
    const shown = slot.dead ? null : slot.shown
    if (before.entry === null || before.origin === null) {
      if (shown !== null) {
        out.joins.push(factory.presence(shown, slot.shownOrigin as Origin, slot.prevRef))
      }
      return
    }
    const prev = factory.presence(before.entry, before.origin, before.prevRef)
    if (shown === null) {
      out.leaves.push(Object.freeze({ presence: prev, reason: before.reason }))
      return
    }
    const next = factory.presence(shown, slot.shownOrigin as Origin, slot.prevRef)
    if (next.ref !== prev.ref || next.joinedAt !== prev.joinedAt || next.prevRef !== prev.prevRef) {
      out.updates.push(Object.freeze({ prev, next, changed: factory.changed(prev, next) }))
    } else if (next.replica !== prev.replica) {
      out.moves.push(Object.freeze({ ref: next.ref, key: next.key, replica: next.replica, state: next.state }))
    }
  }
}
