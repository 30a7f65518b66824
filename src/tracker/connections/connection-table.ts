import { checkDuration, checkFinite, checkInteger, checkPositive } from '../checks.ts'
import { BLOCK_SLOTS, BlockBounds, blockOf, NEVER } from './block-bounds.ts'
import { generationOf, type Handle, MAX_GENERATION, MAX_SLOTS, makeHandle, slotOf } from './connection-handle.ts'

export { decodeConnectionId, encodeConnectionId, type Handle } from './connection-handle.ts'

export interface ConnectionTableOptions {
  /** A connection that was not heard of for so long has expired. More than 0, at most 2^31 (24.8 days). */
  readonly ttlMs: number
  /**
   * Slots to begin with; a full table doubles, and copies what it holds. Default 1,024. Memory that was never used is
   * not backed by the system, so the largest number of connections to expect is a good value: nothing is ever copied.
   */
  readonly initialCapacity?: number
  /** How often one slot is given out before it is retired. Default and most: 2^27 − 1. Smaller ones are for tests. */
  readonly maxGeneration?: number
}

/** How much one call of `sweep` may do; without a bound it does all. It always does at least one step. */
export interface SweepBudget {
  /** Return after so many expiries. */
  readonly maxExpired?: number
  /** Asked after every 64 expiries and after every block of 4,096 slots: true ends the slice. */
  readonly outOfTime?: () => boolean
}

const EXPIRIES_PER_TIME_CHECK = 64
const MAX_TTL_MS = 2 ** 31
/** How far a new base lies back, so that what has expired keeps its deadline for a while. */
const KEPT_PAST_MS = 2 ** 30
/** Set in the generation of a slot that holds no connection; the other bits are the generation that comes next. */
const FREE = 0x80000000
/** The latest deadline that can be held, 49.7 days past the base. A free slot has NEVER. */
const LATEST = NEVER - 1
const NO_SLOT = 0xffffffff

/**
 * Who is connected: per connection its user, and the time at which it expires unless heard of before.
 *
 * A heartbeat is one array write: no timer, no queue, nothing allocated. Expiry is a *block scan* instead: deadlines
 * lie in slot order, and each block of 4,096 slots keeps a lower bound of its earliest one. A sweep skips the blocks
 * whose bound is not due and rescans the others, which makes their bounds exact again. For a million connections an
 * idle sweep reads 245 bounds, and a block is rescanned about once per `ttlMs`.
 *
 * 12 bytes per slot, in two arrays: `words` has [generation, deadline] of each slot side by side, so that a heartbeat
 * touches one cache line; `links` has the user, or of a free slot the next free one.
 *
 * INV-61: a handle touches only the connection it was made for.
 * INV-62: no connection expires early. Deadlines are whole milliseconds past a base, rounded up: none expires more
 * than 1 ms late either, plus the fraction of `ttlMs`. The base moves before they outgrow 32 bits, about once in 37 days.
 * INV-63: each connection ends exactly once, by a `disconnect` that returned true or by one call of `expired`.
 */
export class ConnectionTable {
  readonly #ttlTicks: number
  readonly #maxGeneration: number
  readonly #bounds: BlockBounds
  #words: Uint32Array
  #links: Uint32Array
  #capacity: number
  /** Slots that were ever given out. All others are fresh, and nothing looks at them. */
  #used = 0
  #free = NO_SLOT
  #size = 0
  #baseMs = 0
  /** The block that a sweep is in, or −1; where it goes on; and the block's bound when it is done. */
  #scanBlock = -1
  #scanSlot = 0
  #scanBound = NEVER

  constructor(options: ConnectionTableOptions) {
    const { ttlMs, initialCapacity = 1_024, maxGeneration = MAX_GENERATION } = options
    checkPositive('ttlMs', ttlMs, MAX_TTL_MS)
    checkInteger('initialCapacity', initialCapacity, 1, MAX_SLOTS)
    checkInteger('maxGeneration', maxGeneration, 1, MAX_GENERATION)
    this.#ttlTicks = Math.ceil(ttlMs)
    this.#maxGeneration = maxGeneration
    this.#capacity = initialCapacity
    this.#words = new Uint32Array(2 * initialCapacity)
    this.#links = new Uint32Array(initialCapacity)
    this.#bounds = new BlockBounds(initialCapacity)
  }

  /** Connections that have not ended, expired ones that no sweep has reported yet included. */
  get size(): number {
    return this.#size
  }

  /**
   * Opens a connection of a user (an integer below 2^32) that expires at `nowMs + ttlMs`.
   *
   * @throws RangeError when `nowMs` is no finite number, or 2^26 connections are open.
   */
  connect(userIndex: number, nowMs: number): Handle {
    checkInteger('userIndex', userIndex, 0, 2 ** 32 - 1)
    const deadline = this.#deadlineAt(nowMs)
    const slot = this.#takeSlot()
    const generation = this.#words[2 * slot]! & ~FREE || 1
    this.#words[2 * slot] = generation
    this.#words[2 * slot + 1] = deadline
    this.#links[slot] = userIndex
    this.#size++
    this.#bounds.lower(slot, deadline)
    // A scan that is past this slot replaces the bound of its block when it ends.
    if (blockOf(slot) === this.#scanBlock && deadline < this.#scanBound) {
      this.#scanBound = deadline
    }
    return makeHandle(slot, generation)
  }

  /**
   * The connection was heard of: it now expires at `nowMs + ttlMs`, and never sooner than before. False, and nothing
   * changes, when it has ended, is unknown, or has expired: also before a sweep has reported it.
   */
  heartbeat(handle: Handle, nowMs: number): boolean {
    const slot = slotOf(handle)
    const words = this.#words
    const elapsed = nowMs - this.#baseMs
    if (slot >= this.#used || words[2 * slot] !== generationOf(handle) || !(words[2 * slot + 1]! > elapsed)) {
      return false
    }
    const deadline = Math.ceil(elapsed) + this.#ttlTicks
    if (deadline > LATEST) {
      words[2 * slot + 1] = this.#deadlineAt(nowMs)
    } else if (deadline > words[2 * slot + 1]!) {
      words[2 * slot + 1] = deadline
    }
    return true
  }

  /** Ends a connection, expired or not; false when it had ended before or is unknown. */
  disconnect(handle: Handle): boolean {
    if (!this.#holds(handle)) {
      return false
    }
    this.#close(slotOf(handle))
    return true
  }

  /** Neither ended nor expired. */
  isOpen(handle: Handle, nowMs: number): boolean {
    return this.#holds(handle) && this.#words[2 * slotOf(handle) + 1]! > nowMs - this.#baseMs
  }

  /** The user's index, or −1 when the connection has ended or is unknown. */
  user(handle: Handle): number {
    return this.#holds(handle) ? this.#links[slotOf(handle)]! : -1
  }

  /** A dense index for side arrays: below the largest number of connections that were ever open at one time. */
  slot(handle: Handle): number {
    return slotOf(handle)
  }

  /**
   * Ends what has expired at `nowMs`, and tells `expired` of each after it is closed. The callback may call anything
   * here, and what it opens is not due. When it throws, nothing is lost: the next sweep goes on behind.
   *
   * @returns true when nothing due is left; false when the budget ended the slice, with or without a rest.
   */
  sweep(nowMs: number, budget: SweepBudget, expired: (handle: Handle, user: number) => void): boolean {
    const { maxExpired = Infinity, outOfTime } = budget
    let count = 0
    while (this.#scanBlock >= 0 || this.#startDueBlock(nowMs)) {
      for (let slot = this.#nextExpired(nowMs); slot >= 0; slot = this.#nextExpired(nowMs)) {
        const handle = makeHandle(slot, this.#words[2 * slot]!)
        const user = this.#links[slot]!
        this.#close(slot)
        expired(handle, user)
        count++
        if (count >= maxExpired || (count % EXPIRIES_PER_TIME_CHECK === 0 && outOfTime?.() === true)) {
          return false
        }
      }
      if (outOfTime?.() === true) {
        return !this.#startDueBlock(nowMs)
      }
    }
    return true
  }

  /** This process stood still: every deadline moves later by `byMs` (0 or more). O(1). */
  extendAll(byMs: number): void {
    checkDuration('byMs', byMs)
    // INV-62: a whole base keeps the sums exact, and rounding up is never early.
    this.#baseMs += Math.ceil(byMs)
  }

  /** Nothing expires before this: a lower bound, Infinity when nobody is connected. O(blocks): 245 for a million. */
  nextDeadlineMs(): number {
    return this.#size === 0 ? Infinity : this.#baseMs + this.#bounds.first()
  }

  #holds(handle: Handle): boolean {
    const slot = slotOf(handle)
    return slot < this.#used && this.#words[2 * slot] === generationOf(handle)
  }

  #deadlineAt(nowMs: number): number {
    const deadline = Math.ceil(nowMs - this.#baseMs) + this.#ttlTicks
    if (deadline >= 1 && deadline <= LATEST) {
      return deadline
    }
    this.#rebase(nowMs)
    return Math.ceil(nowMs - this.#baseMs) + this.#ttlTicks
  }

  /**
   * Moves the base to 12 days before now, and every deadline with it: one pass, about 1 ms per million slots. What
   * expired earlier than that counts as expired then. What is due more than 37 days from now, which only pauses that
   * are longer than the time that went by can bring about, is due then.
   */
  #rebase(nowMs: number): void {
    checkFinite('nowMs', nowMs)
    const wholeMs = Math.floor(nowMs)
    const baseMs = Math.min(wholeMs - 1, Math.max(0, wholeMs - KEPT_PAST_MS))
    const shift = baseMs - this.#baseMs
    const moved = (tick: number): number => (tick === NEVER ? NEVER : Math.max(1, Math.min(tick - shift, LATEST)))
    for (let at = 1; at < 2 * this.#used; at += 2) {
      this.#words[at] = moved(this.#words[at]!)
    }
    this.#bounds.map(moved)
    this.#scanBound = moved(this.#scanBound)
    this.#baseMs = baseMs
  }

  #takeSlot(): number {
    const slot = this.#free
    if (slot !== NO_SLOT) {
      this.#free = this.#links[slot]!
      return slot
    }
    if (this.#used === this.#capacity) {
      this.#grow()
    }
    return this.#used++
  }

  #grow(): void {
    if (this.#capacity === MAX_SLOTS) {
      throw new RangeError(`the table has ${MAX_SLOTS} slots in use, and more are not allowed`)
    }
    this.#capacity = Math.min(2 * this.#capacity, MAX_SLOTS)
    this.#words = grown(this.#words, 2 * this.#capacity)
    this.#links = grown(this.#links, this.#capacity)
    this.#bounds.grow(this.#capacity)
  }

  #close(slot: number): void {
    const next = this.#words[2 * slot]! + 1
    this.#words[2 * slot + 1] = NEVER
    this.#size--
    if (next > this.#maxGeneration) {
      // INV-61: a generation never comes back. The slot is lost: 12 bytes per 134 million connections.
      this.#words[2 * slot] = FREE
      return
    }
    this.#words[2 * slot] = FREE | next
    this.#links[slot] = this.#free
    this.#free = slot
  }

  #startDueBlock(nowMs: number): boolean {
    this.#scanBlock = this.#bounds.nextDue(this.#elapsedTicks(nowMs))
    this.#scanSlot = this.#scanBlock * BLOCK_SLOTS
    this.#scanBound = NEVER
    return this.#scanBlock >= 0
  }

  /** The next expired slot of the block under scan, or −1 when the block is done. */
  #nextExpired(nowMs: number): number {
    const limit = this.#elapsedTicks(nowMs)
    const words = this.#words
    const end = Math.min(this.#scanBlock * BLOCK_SLOTS + BLOCK_SLOTS, this.#used)
    let bound = this.#scanBound
    for (let slot = this.#scanSlot; slot < end; slot++) {
      const deadline = words[2 * slot + 1]!
      if (deadline <= limit) {
        this.#scanSlot = slot + 1
        this.#scanBound = bound
        return slot
      }
      if (deadline < bound) {
        bound = deadline
      }
    }
    this.#bounds.set(this.#scanBlock, bound)
    this.#scanBlock = -1
    return -1
  }

  /** Deadlines up to this one have passed. Asked anew for each step: a callback may have moved the base. */
  #elapsedTicks(nowMs: number): number {
    return Math.max(0, Math.min(nowMs - this.#baseMs, LATEST)) >>> 0
  }
}

function grown(from: Uint32Array, length: number): Uint32Array {
  const to = new Uint32Array(length)
  to.set(from)
  return to
}
