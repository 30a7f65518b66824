import type { ReplicaId } from '../../crdt/dot.ts'
import type { Member } from './member.ts'

/** The part of all places that ids introduced by one member may take. */
const INTRODUCER_SHARE = 0.5

/**
 * How many replicas are known at one time. Hearsay fills half of the places per introducer at most, and makes room for who comes
 * himself: a flood of invented ids keeps nobody out.
 */
export class Introductions {
  readonly #limit: number

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Whether `introducer` may tell of one more id. */
  allows(members: ReadonlyMap<ReplicaId, Member>, introducer: ReplicaId, held: number): boolean {
    if (members.size + held >= this.#limit) {
      return false
    }
    let hearsay = 0
    for (const member of members.values()) {
      if (isHearsay(member) && member.introducer === introducer) {
        hearsay++
      }
    }
    return hearsay < Math.max(1, Math.floor(this.#limit * INTRODUCER_SHARE))
  }

  /** Who makes room for a replica that comes itself: undefined when there is room. Null when nobody can. */
  toEvict(members: ReadonlyMap<ReplicaId, Member>, held: number): Member | null | undefined {
    if (members.size + held < this.#limit) {
      return undefined
    }
    const introduced = new Map<ReplicaId, Member[]>()
    for (const member of members.values()) {
      if (isHearsay(member)) {
        const others = introduced.get(member.introducer)
        if (others === undefined) {
          introduced.set(member.introducer, [member])
        } else {
          others.push(member)
        }
      }
    }
    const most = [...introduced.values()].sort((a, b) => b.length - a.length)[0]
    return stalest(most ?? [...members.values()].filter(member => member.status === 'down'))
  }
}

/** Never on a stream of its own. */
const isHearsay = (member: Member): boolean => !member.proven

function stalest(members: readonly Member[]): Member | null {
  return members.reduce<Member | null>(
    (oldest, member) => (oldest === null || member.lastSignMs < oldest.lastSignMs ? member : oldest),
    null
  )
}
