import type { ReplicaId, ReplicaRef } from '../../crdt/dot.ts'
import type { ResolvedOptions } from '../options.ts'
import type { Counters } from '../replication/counters.ts'
import type { StepListener } from '../replication/step-listener.ts'
import type { Certainty } from '../types.ts'
import type { Member } from './member.ts'

/** Heartbeat intervals for which a silent loss is held at least: others lost with it are judged by then. */
const CONFIRM_BEATS = 1.5

/**
 * The steps of a member's life: up ⇄ suspect → down, then hidden, and back up from each of them. Tells the listener what each step
 * means for the presences, and the users' event.
 */
export class Standing {
  readonly #options: ResolvedOptions
  readonly #listener: StepListener
  readonly #counters: Counters
  /** Ids whose presences are listed as `unknown`. */
  readonly #unknown = new Set<ReplicaId>()

  constructor(options: ResolvedOptions, listener: StepListener, counters: Counters) {
    this.#options = options
    this.#listener = listener
    this.#counters = counters
  }

  /** A sign of life: up, whatever it was. What is hidden is shown when it is level (returns.ts). */
  rise(member: Member, nowMs: number): void {
    if (member.left || member.status === 'up') {
      return
    }
    if (member.status === 'down') {
      this.#counters.add('falseDowns')
    } else if (member.wasUp) {
      this.#counters.add('falseSuspicions')
    }
    member.status = 'up'
    member.wasUp = true
    member.refused = false
    member.released = false
    member.hintAtMs = Number.POSITIVE_INFINITY
    member.downAtMs = Number.POSITIVE_INFINITY
    member.hideAtMs = Number.POSITIVE_INFINITY
    member.upAtMs = nowMs
    member.headStated = false
    this.sure(member.ref.id)
    this.#listener.emit('replica:up', named(member.ref))
  }

  suspect(member: Member): void {
    if (member.status !== 'up') {
      return
    }
    member.status = 'suspect'
    member.hintAtMs = Number.POSITIVE_INFINITY
    this.#counters.add('suspicions')
    this.unsure(member.ref.id)
    this.#listener.emit('replica:suspect', named(member.ref))
  }

  /** Down: its presences enter their grace. INV-47: that is this replica's own view, and told to no other. */
  fall(member: Member, nowMs: number): void {
    if (member.status === 'down') {
      return
    }
    this.suspect(member)
    member.status = 'down'
    member.downAtMs = nowMs
    member.hideAtMs = nowMs + Math.max(member.graceMs, CONFIRM_BEATS * this.#options.gossip.heartbeatIntervalMs)
    this.#counters.add('downs')
    this.#listener.emit('replica:down', named(member.ref))
  }

  /** It said goodbye: as down, without waiting for the detector. */
  leave(member: Member, head: number, nowMs: number): void {
    member.byeHead = head
    this.#counters.add('byes')
    this.unsure(member.ref.id)
    if (member.status !== 'down') {
      member.status = 'down'
      member.downAtMs = nowMs
      member.hideAtMs = nowMs + member.graceMs
      this.#listener.emit('replica:down', named(member.ref))
    }
  }

  hide(member: Member): void {
    if (!member.hidden) {
      member.hidden = true
      member.hiddenWhileLinked = member.linked
      this.#listener.hide(member.ref, member.left ? 'node-left' : 'node-failed')
    }
  }

  show(member: Member): void {
    if (member.hidden) {
      member.hidden = false
      this.#listener.show(member.ref)
    }
  }

  unsure(id: ReplicaId): void {
    if (!this.#unknown.has(id)) {
      this.#unknown.add(id)
      this.#listener.certainty(id, 'unknown' satisfies Certainty)
    }
  }

  sure(id: ReplicaId): void {
    if (this.#unknown.delete(id)) {
      this.#listener.certainty(id, 'online' satisfies Certainty)
    }
  }
}

const named = (ref: ReplicaRef): { id: ReplicaId; incarnation: number } => ({ id: ref.id, incarnation: ref.incarnation })
