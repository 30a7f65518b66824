import type { StateHash } from '../../crdt/delta-interval.ts'
import type { ReplicaRef } from '../../crdt/dot.ts'
import type { OrMap } from '../../crdt/or-map.ts'
import { EMPTY_HASH, Hasher } from '../../crdt/state-hash.ts'
import type { Membership } from '../membership.ts'
import type { DigestEntry } from '../messages.ts'
import type { ResolvedOptions } from '../options.ts'
import type { Repair } from './repair.ts'

export interface DigestsInit {
  readonly map: OrMap
  readonly options: ResolvedOptions
  readonly membership: Membership
  readonly repair: Repair
}

/**
 * What this replica says it holds. INV-40: only replicas that are held up or suspect are in it, ourselves first; those that are down,
 * left or retired are offered to nobody.
 */
export class Digests {
  readonly #init: DigestsInit
  readonly #hasher = new Hasher()

  constructor(init: DigestsInit) {
    this.#init = init
  }

  entries(): DigestEntry[] {
    const { map, options } = this.#init
    const entries = [this.#entry(map.self, Math.round(options.graceMs))]
    for (const { ref, graceMs } of this.#offered()) {
      entries.push(this.#entry(ref, graceMs))
    }
    return entries
  }

  /**
   * Equal for equal sets of (ref, head, state hash), in whatever order: a sum. Never over counters or floors, which differ between replicas
   * that agree.
   */
  hash(): number {
    let sum = this.#mix(this.#init.map.self)
    for (const { ref } of this.#offered()) {
      sum = (sum + this.#mix(ref)) | 0
    }
    return sum >>> 0
  }

  ownHead(): number {
    return this.#init.map.record(this.#init.map.self)?.head ?? 0
  }

  ownHash(): StateHash {
    return this.#init.map.record(this.#init.map.self)?.hash ?? EMPTY_HASH
  }

  *#offered(): Iterable<{ readonly ref: ReplicaRef; readonly graceMs: number }> {
    for (const member of this.#init.membership.members.values()) {
      if (member.status !== 'down') {
        yield member
      }
    }
  }

  #entry(replica: ReplicaRef, graceMs: number): DigestEntry {
    const { shard } = this.#init.map
    const record = this.#init.map.record(replica)
    if (record === undefined) {
      return { replica, shard, head: 0, hash: EMPTY_HASH, floor: 0, graceMs }
    }
    const sound = record.complete && !this.#init.repair.isQuarantined(replica)
    return { replica, shard, head: record.head, hash: sound ? record.hash : null, floor: record.floor, graceMs }
  }

  #mix(ref: ReplicaRef): number {
    const record = this.#init.map.record(ref)
    const head = record?.head ?? 0
    const hash = record === undefined || record.complete ? (record?.hash ?? EMPTY_HASH) : null
    const hasher = this.#hasher.start(0x9e3779b9, 0x243f6a88).text(ref.id).integer(ref.incarnation).integer(head)
    hasher
      .word(hash?.high ?? 1)
      .word(hash?.low ?? 2)
      .finish()
    return hasher.low
  }
}
