import type { ReplicaId } from '../../crdt/dot.ts'
import type { Cancel } from '../../tracker/environment.ts'
import { ADDRESSES_PER_MEMBER } from './addresses.ts'

/** A dial in progress. */
export interface DialInProgress {
  readonly controller: AbortController
  readonly cancelTimeout: Cancel
}

/** Somebody to be linked with. All times are monotonic, in ms. */
export interface Member {
  /** Undefined while only an address is known. */
  id: ReplicaId | undefined
  /** Said to be this id's. Dialled with the id pinned: whoever else answers there is turned away. */
  readonly pinned: Set<string>
  /** Given without an id; whoever answers there is welcome, if admitted. */
  readonly bare: Set<string>
  /** Its id was configured. */
  readonly bootstrap: boolean
  /** Dials that failed in a row. */
  failures: number
  dueMs: number
  dial: DialInProgress | undefined
  /** Undefined until the first link. */
  linkedAtMs: number | undefined
  /** Since when there has been no link. */
  unlinkedSinceMs: number
  /** When somebody's word last brought a dial forward. */
  hintedAtMs: number
}

/** Members learned from others that never were linked. A member that invents ids fills these places, and no others. */
const CANDIDATES_MAX = 64

/**
 * The members, by id or, until that is known, by bare address.
 *
 * Bounded: at a limit a member learned from others takes the place of the one that has been unreachable longest; configured members and
 * linked ones keep their places.
 */
export class MemberTable {
  readonly #max: number
  readonly #byId = new Map<ReplicaId, Member>()
  readonly #anonymous = new Set<Member>()

  constructor(max: number) {
    this.#max = max
  }

  get size(): number {
    return this.#byId.size + this.#anonymous.size
  }

  get(id: ReplicaId): Member | undefined {
    return this.#byId.get(id)
  }

  *[Symbol.iterator](): IterableIterator<Member> {
    yield* this.#byId.values()
    yield* this.#anonymous
  }

  addAnonymous(address: string, nowMs: number): Member {
    for (const member of this) {
      if (member.bare.has(address)) {
        return member
      }
    }
    const member = createMember(undefined, true, nowMs)
    member.bare.add(address)
    this.#anonymous.add(member)
    return member
  }

  /** The member `id`, made when it is new. Undefined when there is no room for it. */
  add(id: ReplicaId, bootstrap: boolean, nowMs: number, isLinked: (id: ReplicaId) => boolean): Member | undefined {
    const known = this.#byId.get(id)
    if (known !== undefined) {
      return known
    }
    if (!bootstrap && !isLinked(id) && !this.#makeRoom(isLinked)) {
      return undefined
    }
    const member = createMember(id, bootstrap, nowMs)
    this.#byId.set(id, member)
    return member
  }

  /** `id` answered at the member's bare address: that address is `id`'s from now on. Returns the member `id`. */
  found(at: Member, address: string, id: ReplicaId, nowMs: number): Member {
    if (at.id === id) {
      return at
    }
    at.bare.delete(address)
    let member = this.#byId.get(id)
    if (member === undefined) {
      member = createMember(id, false, nowMs)
      this.#byId.set(id, member)
    }
    member.bare.add(address)
    if (at.bare.size === 0 && at.pinned.size === 0) {
      this.remove(at)
    }
    return member
  }

  remove(member: Member): void {
    member.dial?.controller.abort(new Error('the member was forgotten'))
    this.#anonymous.delete(member)
    if (member.id !== undefined) {
      this.#byId.delete(member.id)
    }
  }

  clear(): void {
    for (const member of [...this]) {
      this.remove(member)
    }
  }

  /** False when there is no room, and none to be made. */
  #makeRoom(isLinked: (id: ReplicaId) => boolean): boolean {
    const others = [...this.#byId.values()].filter(member => !keeps(member) && !isLinked(member.id as ReplicaId))
    const candidates = others.filter(member => member.linkedAtMs === undefined)
    const full = this.size >= this.#max
    const worst = oldest(candidates.length >= CANDIDATES_MAX || (full && candidates.length > 0) ? candidates : full ? others : [])
    if (worst !== undefined) {
      this.remove(worst)
    }
    return this.size < this.#max
  }
}

const oldest = (members: readonly Member[]): Member | undefined =>
  members.reduce<Member | undefined>(
    (worst, one) => (worst === undefined || one.unlinkedSinceMs < worst.unlinkedSinceMs ? one : worst),
    undefined
  )

/** Configured, or holds an address that is: never forgotten. */
export const keeps = (member: Member): boolean => member.bootstrap || member.bare.size > 0

/** Adds what is new; the newest addresses push out the oldest. True when something was new. */
export function addPinned(member: Member, addresses: Iterable<string>): boolean {
  let isNew = false
  for (const address of addresses) {
    isNew ||= !member.pinned.has(address)
    member.pinned.delete(address)
    member.pinned.add(address)
  }
  for (const oldest of member.pinned) {
    if (member.pinned.size <= ADDRESSES_PER_MEMBER) {
      break
    }
    member.pinned.delete(oldest)
  }
  return isNew
}

/**
 * The bare address whose turn it is, if it is the turn of one. Bare and pinned addresses take turns: at a bare address a successor with
 * another id may have moved in, and the member itself may have moved to where its pinned ones say.
 */
export function nextBare(member: Member): string | undefined {
  const bare = [...member.bare]
  if (bare.length === 0) {
    return undefined
  }
  if (member.pinned.size === 0) {
    return bare[member.failures % bare.length]
  }
  return member.failures % 2 === 0 ? bare[(member.failures / 2) % bare.length] : undefined
}

function createMember(id: ReplicaId | undefined, bootstrap: boolean, nowMs: number): Member {
  return {
    id,
    pinned: new Set(),
    bare: new Set(),
    bootstrap,
    failures: 0,
    dueMs: Number.POSITIVE_INFINITY,
    dial: undefined,
    linkedAtMs: undefined,
    unlinkedSinceMs: nowMs,
    hintedAtMs: Number.NEGATIVE_INFINITY
  }
}
