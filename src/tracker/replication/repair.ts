import type { StateHash } from '../../crdt/delta-interval.ts'
import { type ReplicaRef, refKey } from '../../crdt/dot.ts'
import type { OrMap } from '../../crdt/or-map.ts'
import { sameHash } from '../../crdt/state-hash.ts'
import type { Member } from '../membership/member.ts'
import type { Counters } from './counters.ts'
import type { Sources } from './sources.ts'
import type { StepListener } from './step-listener.ts'

/** A record is loaded again at most so often in the time below; then it is quarantined. */
const MAX_RELOADS = 3
const RELOADS_MS = 600_000
/** More is known here than the owner announced: after so many of its heartbeats that is no race. */
const AHEAD_BEATS = 2
/** Heartbeats that come closer than this part of their interval were held up together, and count as one: all but the last are old news. */
const APART = 0.5

export interface RepairInit {
  readonly map: OrMap
  readonly sources: Sources
  readonly listener: StepListener
  readonly counters: Counters
  readonly heartbeatIntervalMs: number
}

interface Reloads {
  readonly timesMs: number[]
  quarantined: boolean
}

/**
 * Truth about a replica is what it announces on its own stream. INV-42: another hash at a head that it announced, or more events than it
 * announced, and its record is loaded again from it; its presences stay listed meanwhile.
 */
export class Repair {
  readonly #init: RepairInit
  readonly #reloads = new Map<string, Reloads>()

  constructor(init: RepairInit) {
    this.#init = init
  }

  /** The owner says on its own stream where it stands, in a heartbeat or not. */
  announced(member: Member, head: number, hash: StateHash | null, isBeat: boolean, nowMs: number): void {
    member.announced = Math.max(member.announced, head)
    const record = this.#init.map.record(member.ref)
    if (record === undefined || record.repairing) {
      return
    }
    if (record.horizon <= member.announced) {
      member.aheadBeats = 0
    } else if (isBeat && nowMs - member.aheadBeatMs >= APART * this.#init.heartbeatIntervalMs) {
      member.aheadBeats++
      member.aheadBeatMs = nowMs
    }
    const differs = hash !== null && record.complete && record.head === head && !sameHash(record.hash, hash)
    if (differs || member.aheadBeats >= AHEAD_BEATS) {
      member.aheadBeats = 0
      this.#alarm(member, nowMs)
    }
  }

  /** Its record keeps differing from its owner's: it is served to nobody. */
  isQuarantined(ref: ReplicaRef): boolean {
    return this.#reloads.get(refKey(ref))?.quarantined === true
  }

  forget(ref: ReplicaRef): void {
    this.#reloads.delete(refKey(ref))
  }

  #alarm(member: Member, nowMs: number): void {
    const { map, sources, listener, counters } = this.#init
    const reloads = this.#reloads.get(member.key) ?? { timesMs: [], quarantined: false }
    this.#reloads.set(member.key, reloads)
    while (reloads.timesMs.length > 0 && nowMs - (reloads.timesMs[0] as number) >= RELOADS_MS) {
      reloads.timesMs.shift()
    }
    const quarantined = reloads.timesMs.length >= MAX_RELOADS
    if (quarantined && reloads.quarantined) {
      return
    }
    reloads.quarantined = quarantined
    counters.add(quarantined ? 'quarantined' : 'diverged')
    listener.emit('replica:diverged', { ...member.ref, quarantined })
    if (quarantined) {
      return
    }
    reloads.timesMs.push(nowMs)
    if (member.announced > 0) {
      map.invalidate(member.ref, member.announced)
      sources.reload(member.ref, member.announced)
    } else {
      // It never made an event: there is nothing to load, and all that is held is false.
      listener.drop(member.ref, 'unseen')
      map.drop(member.ref)
    }
  }
}
