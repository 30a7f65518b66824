import type { Entry } from '../../crdt/entry.ts'
import type { Origin } from './origin.ts'
import type { Held, Slot } from './presence-index.ts'
import { Queue } from './queue.ts'
import { MarkReason } from './reasons.ts'

interface Moved {
  readonly slot: Slot
  readonly dueMs: number
}

/** Entries that are gone, and still shown for a while, because their identity is about to be told of again. */
export class Holds {
  readonly #moveHoldMs: number
  readonly #nowMs: () => number
  /** In order of their ends, which is the order of their beginnings, as all are equally long. */
  readonly #moved = new Queue<Moved>()
  #pausedMs = 0

  constructor(moveHoldMs: number, nowMs: () => number) {
    this.#moveHoldMs = moveHoldMs
    this.#nowMs = nowMs
  }

  /**
   * Holds a removed entry when there is a reason to: its session moved, and the new owner's entry is on its way; or its origin is incomplete, and the removal
   * may be half of an update (C24).
   */
  begin(slot: Slot, origin: Origin, entry: Entry, reason: number, complete: boolean): void {
    const moved = reason === MarkReason.moved
    if (!moved && complete) {
      return
    }
    slot.held = { origin, entry, dueMs: moved ? this.#nowMs() - this.#pausedMs + this.#moveHoldMs : Infinity }
    origin.heldSlots.add(slot)
    if (moved) {
      this.#moved.push({ slot, dueMs: slot.held.dueMs })
    }
  }

  end(slot: Slot): void {
    slot.held?.origin.heldSlots.delete(slot)
    slot.held = null
  }

  /** Ends the holds of an origin that `which` says; returns their slots. */
  endOf(origin: Origin, which: (held: Held) => boolean): Slot[] {
    const ended = [...origin.heldSlots].filter(slot => slot.held !== null && which(slot.held))
    for (const slot of ended) {
      this.end(slot)
    }
    return ended
  }

  /** The slots of moved sessions whose new entry did not come in time, one by one; they are still held. */
  *due(): IterableIterator<Slot> {
    const nowMs = this.#nowMs() - this.#pausedMs
    for (let next = this.#moved.peek(); next !== undefined && next.dueMs <= nowMs; next = this.#moved.peek()) {
      this.#moved.shift()
      if (next.slot.held?.dueMs === next.dueMs) {
        yield next.slot
      }
    }
  }

  paused(byMs: number): void {
    this.#pausedMs += byMs
  }
}
