import type { ReplicaId, ReplicaRef } from '../crdt/dot.ts'
import type { OrMap } from '../crdt/or-map.ts'
import type { Environment } from './environment.ts'
import { Graveyard } from './membership/graveyard.ts'
import { HeldRefs } from './membership/held-refs.ts'
import { isTooFarAhead, wallIncarnation } from './membership/incarnation.ts'
import { Introductions } from './membership/introductions.ts'
import { Member } from './membership/member.ts'
import { Standing } from './membership/standing.ts'
import type { ResolvedOptions } from './options.ts'
import type { Counters } from './replication/counters.ts'
import type { StepListener } from './replication/step-listener.ts'
import type { LeaveReason } from './types.ts'

export { newIncarnation } from './membership/incarnation.ts'

/** Why an incarnation is not taken, in the words of the message `stale`. */
export interface Rejection {
  readonly known: number
  readonly beats: boolean
  readonly tooFarAhead: boolean
}

export interface MembershipInit {
  readonly map: OrMap
  readonly options: ResolvedOptions
  readonly environment: Environment
  readonly listener: StepListener
  readonly counters: Counters
  /** The record of `ref` is gone for good: forget what else is kept of it. */
  readonly onDropped: (ref: ReplicaRef) => void
}

/** Whoever was heard within so many heartbeat intervals still beats. */
const TWIN_BEATS = 3

/** Gossip periods within which the record of a new incarnation comes, a lost message repaired. */
const RECORD_PERIODS = 2

type PermdownReason = 'silent' | 'superseded' | 'forgotten' | 'left'

/**
 * Who is who: one member per id, its newest incarnation; retired incarnations in their grace; the graveyard. Says what may be taken
 * from whom, and drops what is over.
 */
export class Membership {
  readonly members = new Map<ReplicaId, Member>()
  readonly held = new HeldRefs()
  readonly graveyard: Graveyard
  readonly standing: Standing
  readonly #init: MembershipInit
  readonly #introductions: Introductions

  constructor(init: MembershipInit) {
    this.#init = init
    const { options, listener, counters } = init
    const { replicas } = options.limits
    this.graveyard = new Graveyard({ keepMs: options.permdownAfterMs, limit: 2 * replicas, quota: Math.max(1, replicas >> 1) })
    this.standing = new Standing(options, listener, counters)
    this.#introductions = new Introductions(replicas)
  }

  /** The member whose current incarnation is `ref`, and which has not left. */
  current(ref: ReplicaRef): Member | undefined {
    const member = this.members.get(ref.id)
    return member !== undefined && member.ref.incarnation === ref.incarnation && !member.left ? member : undefined
  }

  /**
   * A hello on a replica's own stream.
   *
   * INV-32: a newer incarnation retires the older one, an older one is rejected, and the rejected is told what is known.
   *
   * @returns `full` when `limits.replicas` is reached and nobody can make room
   */
  greet(ref: ReplicaRef, graceMs: number, nowMs: number): Member | Rejection | 'full' {
    const rejection = this.reject(ref, nowMs)
    if (rejection !== undefined) {
      return rejection
    }
    let member = this.members.get(ref.id)
    if (member === undefined || member.ref.incarnation < ref.incarnation) {
      if (member === undefined && !this.#makeRoom(nowMs)) {
        return 'full'
      }
      member = this.#begin(ref, graceMs, ref.id, nowMs)
    }
    member.graceMs = this.#bounded(graceMs)
    member.link(nowMs)
    this.standing.rise(member, nowMs)
    return member
  }

  /** Why `ref` is not taken from its own stream; undefined when it is. */
  reject(ref: ReplicaRef, nowMs: number): Rejection | undefined {
    const wallMs = this.#init.environment.wallClockMs()
    const member = this.members.get(ref.id)
    if (member !== undefined && ref.incarnation < member.ref.incarnation) {
      return { known: member.ref.incarnation, beats: this.#isTwin(member, ref, nowMs), tooFarAhead: false }
    }
    if (this.graveyard.has(ref)) {
      return { known: this.graveyard.incarnation(ref.id), beats: false, tooFarAhead: false }
    }
    if (member !== undefined && ref.incarnation === member.ref.incarnation) {
      return member.left ? { known: ref.incarnation, beats: false, tooFarAhead: false } : undefined
    }
    if (isTooFarAhead(ref.incarnation, wallMs)) {
      this.#init.counters.add('tooFarAhead')
      return { known: wallIncarnation(wallMs), beats: false, tooFarAhead: true }
    }
    return undefined
  }

  /**
   * A relay tells of `ref`. What it says of the incarnation of a replica that has a stream to us changes nothing.
   *
   * @returns the member when `ref` is its current incarnation now
   */
  hearOf(ref: ReplicaRef, graceMs: number, introducer: ReplicaId, nowMs: number): Member | undefined {
    const member = this.members.get(ref.id)
    if (member !== undefined && (member.linked || ref.incarnation <= member.ref.incarnation)) {
      return this.current(ref)
    }
    const { counters, environment } = this.#init
    if (this.graveyard.has(ref) || isTooFarAhead(ref.incarnation, environment.wallClockMs())) {
      counters.add('staleRejected')
      return undefined
    }
    if (member === undefined && !this.#introductions.allows(this.members, introducer, this.held.size)) {
      counters.add('introductionsRefused')
      return undefined
    }
    const begun = this.#begin(ref, graceMs, introducer, nowMs)
    this.standing.unsure(ref.id)
    return begun
  }

  /**
   * A relayed heartbeat counter. It ends no silence of a direct stream; INV-33: who is known by relay only is up at the second, higher one.
   *
   * @returns the member when the counter was new
   */
  relayed(ref: ReplicaRef, counter: number, ageMs: number, nowMs: number): Member | undefined {
    const member = this.current(ref)
    if (member === undefined || member.linked || !member.beat(counter, nowMs - ageMs)) {
      return undefined
    }
    member.relayedAfter(ageMs)
    if (nowMs - ageMs >= member.closedAtMs) {
      member.relayedBeats++
      if (member.relayedBeats >= 2) {
        this.standing.rise(member, nowMs)
      }
    }
    return member
  }

  /** Operator purge, or eviction. False when nothing of `id` is known. */
  forget(id: ReplicaId, nowMs: number): boolean {
    const member = this.members.get(id)
    const held = this.held.takeOf(id)
    for (const { ref, introducer } of held) {
      this.#drop(ref, introducer, 'unseen', nowMs)
    }
    if (member !== undefined) {
      this.remove(member, 'forgotten', nowMs)
    }
    return member !== undefined || held.length > 0
  }

  /** The member's record goes for good, and it is buried. */
  remove(member: Member, reason: Exclude<PermdownReason, 'superseded'>, nowMs: number): void {
    this.members.delete(member.ref.id)
    this.#drop(member.ref, member.introducer, leaveReasons[reason], nowMs)
    this.standing.sure(member.ref.id)
    this.#init.listener.emit('replica:permdown', { ...member.ref, reason })
  }

  /** Drops retired incarnations whose grace is over, and old graves. */
  sweep(nowMs: number): void {
    for (const { ref, introducer } of this.held.takeDue(nowMs)) {
      this.#drop(ref, introducer, 'node-left', nowMs)
    }
    this.graveyard.expire(nowMs)
  }

  isForgotten(ref: ReplicaRef): boolean {
    const member = this.members.get(ref.id)
    const superseded = member !== undefined && ref.incarnation < member.ref.incarnation && !this.held.has(ref)
    return superseded || this.graveyard.has(ref)
  }

  /** A new incarnation, which retires the one before. */
  #begin(ref: ReplicaRef, graceMs: number, introducer: ReplicaId, nowMs: number): Member {
    const old = this.members.get(ref.id)
    const member = new Member({ ref, graceMs: this.#bounded(graceMs), introducer, options: this.#init.options, nowMs })
    this.members.set(ref.id, member)
    if (old !== undefined) {
      this.#retire(old, nowMs)
      member.superseded = old.ref.incarnation
    }
    return member
  }

  /** Nobody is held longer than until permdown, whatever it says. */
  #bounded(graceMs: number): number {
    return Math.min(graceMs, this.#init.options.permdownAfterMs)
  }

  /**
   * Its presences are held as after down: their sessions are about to come back. At least until the record of the new incarnation is here: one that was
   * told to take the next incarnation has lost nobody.
   */
  #retire(old: Member, nowMs: number): void {
    const { listener, counters, options } = this.#init
    counters.add('retired')
    const holdMs = Math.max(old.graceMs, RECORD_PERIODS * options.gossip.periodMs)
    const dropAtMs = old.status === 'down' ? old.hideAtMs : nowMs + holdMs
    if (old.hidden || dropAtMs <= nowMs) {
      this.#drop(old.ref, old.introducer, 'node-left', nowMs)
    } else {
      this.held.hold(old.ref, old.introducer, dropAtMs)
    }
    listener.emit('replica:permdown', { ...old.ref, reason: 'superseded' })
  }

  #drop(ref: ReplicaRef, introducer: ReplicaId, reason: LeaveReason, nowMs: number): void {
    const { map, listener, onDropped } = this.#init
    listener.drop(ref, reason)
    map.drop(ref)
    this.graveyard.bury(ref, introducer, nowMs)
    onDropped(ref)
  }

  #makeRoom(nowMs: number): boolean {
    const evicted = this.#introductions.toEvict(this.members, this.held.size)
    if (evicted) {
      this.#init.counters.add('evictions')
      this.forget(evicted.ref.id, nowMs)
    }
    return evicted !== null
  }

  /** Both live when the lower one is heard after it was superseded, or the higher one after the lower was rejected. */
  #isTwin(member: Member, ref: ReplicaRef, nowMs: number): boolean {
    if (member.left || nowMs - member.lastSignMs >= TWIN_BEATS * this.#init.options.gossip.heartbeatIntervalMs) {
      return false
    }
    if (member.superseded === ref.incarnation) {
      return true
    }
    if (member.rejected.incarnation !== ref.incarnation) {
      member.rejected = { incarnation: ref.incarnation, firstMs: nowMs }
    }
    return member.lastSignMs > member.rejected.firstMs
  }
}

const leaveReasons = { silent: 'node-failed', forgotten: 'unseen', left: 'node-left' } as const satisfies Record<string, LeaveReason>
