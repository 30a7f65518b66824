import { type ReplicaId, type ReplicaRef, refKey } from '../../crdt/dot.ts'
import type { ResolvedOptions } from '../options.ts'
import type { ReplicaStatus } from '../types.ts'
import { PhiAccrualDetector } from './phi-accrual.ts'

/** A relay's delay is taken off the silence of who is known by relay only, up to so many heartbeats: a lying relay delays no longer. */
const MAX_RELAY_DELAY_BEATS = 8

export interface MemberInit {
  readonly ref: ReplicaRef
  readonly graceMs: number
  /** Who first told of it: the replica itself, or a relay. */
  readonly introducer: ReplicaId
  readonly options: ResolvedOptions
  readonly nowMs: number
}

/** What is known here of one live incarnation of another replica. One per id. */
export class Member {
  readonly ref: ReplicaRef
  readonly key: string
  readonly introducer: ReplicaId
  readonly #intervalMs: number
  readonly #detector: PhiAccrualDetector
  /** How long its presences are held once it is down. Its own word, or a relay's until there is one. */
  graceMs: number
  /** Who is known by relay only begins as suspect. */
  status: ReplicaStatus = 'suspect'
  wasUp = false
  /** There is a stream on which it said hello. */
  linked = false
  /** It was linked at some time: it is not just hearsay. */
  proven = false

  /** The newest heartbeat, −1 before the first; and when it was sent, on our clock. */
  counter = -1
  counterSentMs = 0
  /** Distinct heartbeats heard by relay since there is no stream. */
  relayedBeats = 0
  #relayDelayMs: number
  #lastFrameMs: number

  /** The highest head that it announced on its own stream. */
  announced = 0
  /** Heartbeats in a row after which more was known here than it announced. */
  aheadBeats = 0
  aheadBeatMs = Number.NEGATIVE_INFINITY

  /** Its presences are out of the visible state. */
  hidden = false
  /** They were hidden while the link stood: what it holds up comes when it moves again, oldest first. */
  hiddenWhileLinked = false
  upAtMs = Number.NEGATIVE_INFINITY
  /** Since it is up again it said how far it is. */
  headStated = false
  downAtMs = Number.POSITIVE_INFINITY
  /** When the presences leave the visible state; infinite unless down or gone. */
  hideAtMs = Number.POSITIVE_INFINITY
  /** When the closed link turns into suspicion; infinite when none was closed. */
  hintAtMs = Number.POSITIVE_INFINITY
  closedAtMs = Number.NEGATIVE_INFINITY
  /** Its dial was refused: it is not silent, it is gone. */
  refused = false
  /** Its loss was held by the mass-failure valve once, and is not again. */
  released = false
  /** It said goodbye, with this head. */
  byeHead: number | undefined
  /** The incarnation before this one, when that was current here: if it is heard again, both live. */
  superseded = -1
  /** When users were last told that there are two of it. */
  duplicateNoticeMs = Number.NEGATIVE_INFINITY
  /** The last lower incarnation that was rejected, and when first. */
  rejected = { incarnation: -1, firstMs: 0 }

  constructor({ ref, graceMs, introducer, options, nowMs }: MemberInit) {
    this.ref = ref
    this.key = refKey(ref)
    this.graceMs = graceMs
    this.introducer = introducer
    this.#intervalMs = options.gossip.heartbeatIntervalMs
    this.#relayDelayMs = 2 * this.#intervalMs
    this.#lastFrameMs = nowMs
    const { acceptablePauseMs, minDeviationMs, windowSize } = options.detector
    this.#detector = new PhiAccrualDetector({ acceptablePauseMs, minDeviationMs, windowSize, firstEstimateMs: this.#intervalMs })
    // Silence counts from here: one who is never heard is suspected as well.
    this.#detector.alive(nowMs)
  }

  get left(): boolean {
    return this.byeHead !== undefined
  }

  /** The last sign of life, on our clock. */
  get lastSignMs(): number {
    return Math.max(this.#detector.lastHeartbeatMs ?? this.#lastFrameMs, this.#lastFrameMs)
  }

  /** The suspicion level. Any frame of its own ends a silence; only heartbeats are samples. */
  phi(nowMs: number): number {
    return this.#detector.phi(nowMs - (this.linked ? 0 : this.#relayDelayMs))
  }

  /** A frame came on its own stream. */
  frame(nowMs: number): void {
    this.#detector.alive(nowMs)
    this.#lastFrameMs = Math.max(this.#lastFrameMs, nowMs)
    this.hintAtMs = Number.POSITIVE_INFINITY
    this.refused = false
    this.released = false
  }

  /**
   * A heartbeat, by its own stream or by a relay.
   *
   * INV-31: a new counter is one sample, however many paths it came by, at the time when it was sent. An interval in which a counter
   * was skipped, and one that ends an outage, is none.
   *
   * @returns false when the counter is not new
   */
  beat(counter: number, sentMs: number): boolean {
    if (counter <= this.counter) {
      return false
    }
    const atMs = Math.max(sentMs, this.#detector.lastHeartbeatMs ?? sentMs)
    this.#detector.heartbeat(atMs, counter === this.counter + 1 && this.status !== 'down')
    this.counter = counter
    this.counterSentMs = sentMs
    return true
  }

  /** How old relayed heartbeats are when they come. Falls slowly, so that the worst of the last minute counts. */
  relayedAfter(ageMs: number): void {
    const worstMs = Math.max(ageMs, 0.98 * this.#relayDelayMs)
    this.#relayDelayMs = Math.min(worstMs, MAX_RELAY_DELAY_BEATS * this.#intervalMs)
  }

  /** There is a stream to it now. */
  link(nowMs: number): void {
    this.linked = true
    this.proven = true
    this.hiddenWhileLinked = false
    this.frame(nowMs)
  }

  /** The stream is gone: relays are believed from now on, from the first heartbeat that was sent after this. */
  unlink(nowMs: number): void {
    this.linked = false
    this.closedAtMs = nowMs
    this.relayedBeats = 1
    this.#relayDelayMs = this.#intervalMs
    this.aheadBeats = 0
  }

  /** This process stood still: taken off its silence and its grace. */
  shift(byMs: number): void {
    this.#detector.extend(byMs)
    this.#lastFrameMs += byMs
    this.upAtMs += byMs
    this.downAtMs += byMs
    this.hideAtMs += byMs
    this.hintAtMs += byMs
  }
}
