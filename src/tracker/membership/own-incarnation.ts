import type { ReplicaRef } from '../../crdt/dot.ts'
import type { OrMap } from '../../crdt/or-map.ts'
import type { Environment } from '../environment.ts'
import type { Stale } from '../messages.ts'
import type { Counters } from '../replication/counters.ts'
import type { StepListener } from '../replication/step-listener.ts'
import type { Timers } from '../replication/timers.ts'
import { incarnationAbove, isTooFarAhead } from './incarnation.ts'

/** Our record starts again at most once in so long; each further time within the hour doubles it. */
const SPACING_MS = 10_000
const MAX_SPACING_MS = 640_000
const REMEMBERED_MS = 3_600_000
/** A twin that was not complained of for so much longer than a notice lasts is gone. */
const TWIN_SILENCE_MS = 10_000
/** The same complaint is told to users at most once in so long. */
const NOTICE_MS = 60_000

/** The wall clock is further ahead of a peer's than any kept clock could be: that peer takes nothing of this replica. */
export class ClockAheadError extends Error {
  override readonly name = 'ClockAheadError'
  readonly code = 'ERR_CLOCK_AHEAD'
  readonly incarnation: number
  readonly peerIncarnation: number

  constructor(incarnation: number, peerIncarnation: number) {
    const days = Math.round((incarnation - peerIncarnation) / 1_024 / 86_400_000)
    super(
      `a peer refuses this replica: its wall clock is ${days} days ahead of the peer's, allowed is 1 (incarnation ${incarnation}, the peer's clock gives ${peerIncarnation}); set the clock and start again`
    )
    this.incarnation = incarnation
    this.peerIncarnation = peerIncarnation
  }
}

export interface OwnIncarnationInit {
  readonly map: OrMap
  readonly environment: Environment
  readonly timers: Timers
  readonly listener: StepListener
  readonly counters: Counters
  /** Whether more peers hold our present incarnation up than reject it. */
  readonly isTrusted: () => boolean
  /** Our record began again: say hello on all streams. */
  readonly onReincarnated: (before: ReplicaRef) => void
}

/**
 * Which incarnation we are. INV-38: whatever anybody claims about us that we did not make (a higher incarnation, a head above ours, a
 * goodbye, that we are forgotten), we answer by living on above it, never by taking it over; at most once in ten seconds,
 * and not at all while the higher one is alive: then there are two of us, and who is lower stays so.
 */
export class OwnIncarnation {
  readonly #init: OwnIncarnationInit
  /** When our record began again, within the last hour. */
  #times: number[] = []
  #claimed = -1
  #waiting = false
  #duplicateNoticeMs = Number.NEGATIVE_INFINITY
  #clockNoticeMs = Number.NEGATIVE_INFINITY

  constructor(init: OwnIncarnationInit) {
    this.#init = init
  }

  /** Somebody knows `known`, or events up to there, and we did not make them. */
  claim(known: number): void {
    const { map, environment, isTrusted } = this.#init
    // Our clock may be slow, or one member may lie: the majority of those we can hear decides.
    const incredible = isTooFarAhead(known, environment.wallClockMs()) && isTrusted()
    if (known < map.self.incarnation || incredible || this.#isTwinKnown()) {
      return
    }
    this.#claimed = Math.max(this.#claimed, known)
    this.#reincarnateWhenDue()
  }

  /** @returns whether the sender knows nothing of us: then it lacks our hello */
  stale({ rejected, known, beats, tooFarAhead }: Stale): boolean {
    const { self } = this.#init.map
    if (rejected.id !== self.id || rejected.incarnation !== self.incarnation) {
      return false
    }
    if (tooFarAhead) {
      this.#noticeClock(known)
    } else if (known < self.incarnation) {
      return true
    } else if (beats) {
      this.duplicate()
    } else {
      this.claim(known)
    }
    return false
  }

  /** Two processes run under our id. */
  duplicate(): void {
    const { counters, listener, map, environment } = this.#init
    const nowMs = environment.monotonicMs()
    if (nowMs - this.#duplicateNoticeMs >= NOTICE_MS) {
      this.#duplicateNoticeMs = nowMs
      counters.add('duplicateReplicas')
      listener.emit('replica:duplicate', { ...map.self })
    }
  }

  #isTwinKnown(): boolean {
    return this.#init.environment.monotonicMs() - this.#duplicateNoticeMs < NOTICE_MS + TWIN_SILENCE_MS
  }

  #noticeClock(peerIncarnation: number): void {
    const { map, environment, listener } = this.#init
    const nowMs = environment.monotonicMs()
    if (nowMs - this.#clockNoticeMs >= NOTICE_MS) {
      this.#clockNoticeMs = nowMs
      listener.emit('error', { error: new ClockAheadError(map.self.incarnation, peerIncarnation) })
    }
  }

  #reincarnateWhenDue(): void {
    if (this.#waiting) {
      return
    }
    const nowMs = this.#init.environment.monotonicMs()
    this.#times = this.#times.filter(timeMs => nowMs - timeMs < REMEMBERED_MS)
    const last = this.#times.at(-1)
    const spacingMs = Math.min(MAX_SPACING_MS, SPACING_MS * 2 ** Math.max(0, this.#times.length - 1))
    const dueInMs = last === undefined ? 0 : last + spacingMs - nowMs
    if (dueInMs <= 0) {
      this.#reincarnate(nowMs)
      return
    }
    this.#waiting = true
    this.#init.timers.schedule(dueInMs, () => {
      this.#waiting = false
      if (this.#claimed >= this.#init.map.self.incarnation && !this.#isTwinKnown()) {
        this.#reincarnate(this.#init.environment.monotonicMs())
      }
    })
  }

  #reincarnate(nowMs: number): void {
    const { map, environment, listener, counters, onReincarnated } = this.#init
    const incarnation = incarnationAbove(Math.max(this.#claimed, map.self.incarnation), environment)
    this.#claimed = -1
    if (incarnation === undefined) {
      return
    }
    this.#times.push(nowMs)
    counters.add('reincarnations')
    const before = map.self
    const moved = map.reincarnate({ id: before.id, incarnation })
    listener.reincarnated(map.self, moved)
    onReincarnated(before)
  }
}
