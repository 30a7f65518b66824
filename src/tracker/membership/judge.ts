import type { ReplicaId } from '../../crdt/dot.ts'
import type { OrMap } from '../../crdt/or-map.ts'
import type { Membership } from '../membership.ts'
import type { ResolvedOptions } from '../options.ts'
import type { Counters } from '../replication/counters.ts'
import type { StepListener } from '../replication/step-listener.ts'
import { MassFailureValve } from './mass-failure.ts'
import type { Member } from './member.ts'

/** Replicas whose hidden state is kept in the hope that they return; beyond it the longest hidden go first. */
const MAX_HIDDEN = 64
/** Hidden entries that are kept whatever the number of visible ones. */
const MIN_HIDDEN_ENTRIES = 200_000
/** A stream that is silent for so long after its peer was judged down is closed, so that a new one can be dialled. */
const DEAD_STREAM_MS = 60_000

export interface JudgeInit {
  readonly map: OrMap
  readonly options: ResolvedOptions
  readonly membership: Membership
  readonly listener: StepListener
  readonly counters: Counters
  readonly disconnect: (id: ReplicaId, reason: string) => void
}

/** What time does to members: suspicion, down, hiding, and the end. Runs on the tracker's pulse, never on queued input. */
export class Judge {
  readonly #init: JudgeInit
  readonly #valve: MassFailureValve

  constructor(init: JudgeInit) {
    this.#init = init
    const { gossip, detector } = init.options
    this.#valve = new MassFailureValve({
      windowMs: 2 * gossip.heartbeatIntervalMs + detector.acceptablePauseMs + 6 * detector.minDeviationMs,
      holdMs: init.options.isolationHoldMs
    })
  }

  get isolated(): boolean {
    return this.#valve.isolated
  }

  /** INV-37: deterministic in the members, their detectors and `nowMs`; the wall clock has no part in it. */
  tick(nowMs: number): void {
    const { membership, listener, counters } = this.#init
    const members = [...membership.members.values()]
    for (const member of members) {
      this.#judge(member, nowMs)
    }
    if (this.#valve.update(members, nowMs)) {
      counters.add('isolations', this.#valve.isolated ? 1 : 0)
      listener.emit('isolated', { isolated: this.#valve.isolated })
    }
    for (const member of members) {
      this.#conclude(member, nowMs)
    }
    membership.sweep(nowMs)
    this.#boundHidden(nowMs)
  }

  paused(byMs: number): void {
    for (const member of this.#init.membership.members.values()) {
      member.shift(byMs)
    }
    this.#init.membership.held.shift(byMs)
    this.#valve.shift(byMs)
  }

  #judge(member: Member, nowMs: number): void {
    if (member.left) {
      return
    }
    const { standing } = this.#init.membership
    const { suspectPhi, downPhi } = this.#init.options.detector
    const phi = member.phi(nowMs)
    if (phi >= downPhi) {
      standing.fall(member, nowMs)
    } else if (phi >= suspectPhi || nowMs >= member.hintAtMs) {
      standing.suspect(member)
    }
  }

  #conclude(member: Member, nowMs: number): void {
    if (member.status !== 'down' || this.#valve.holds(member)) {
      return
    }
    const { membership, options, disconnect } = this.#init
    if (nowMs >= member.hideAtMs) {
      membership.standing.hide(member)
    }
    // From the first silence, and never refreshed but by the replica itself.
    if (member.left ? member.hidden : nowMs - member.lastSignMs >= options.permdownAfterMs) {
      membership.remove(member, member.left ? 'left' : 'silent', nowMs)
    } else if (member.linked && nowMs - member.downAtMs >= DEAD_STREAM_MS) {
      disconnect(member.ref.id, 'silent')
    }
  }

  /** Dead state must not heap up: a fleet that restarts under new ids leaves one hidden replica each time. */
  #boundHidden(nowMs: number): void {
    const { map, membership, counters } = this.#init
    const hidden = [...membership.members.values()].filter(member => member.hidden && member.status === 'down')
    if (hidden.length === 0) {
      return
    }
    hidden.sort((a, b) => a.hideAtMs - b.hideAtMs)
    let entries = hidden.reduce((sum, member) => sum + (map.record(member.ref)?.count ?? 0), 0)
    const most = Math.max(MIN_HIDDEN_ENTRIES, map.count - entries)
    for (let i = 0; i < hidden.length && (hidden.length - i > MAX_HIDDEN || entries > most); i++) {
      const member = hidden[i] as Member
      entries -= map.record(member.ref)?.count ?? 0
      counters.add('evictions')
      membership.remove(member, 'silent', nowMs)
    }
  }
}
