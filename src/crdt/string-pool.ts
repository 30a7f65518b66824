const FIRST_SLOTS = 256
const MAX_SLOTS = 16_384
/** Longer texts are not kept: the pool would hold on to too much. */
const MAX_LENGTH = 512
/** At most this many code units decide the slot. */
const SAMPLES = 32

/**
 * Gives equal texts one copy. Texts that are decoded frame by frame recur as new strings; what is held for long takes the
 * copy of the pool.
 *
 * A table of one text per slot, where the newest wins: it holds at most 16,384 texts of at most 512 characters, so it cannot
 * leak, and a text that is common enough to matter is found nearly always. Counting references would cost a map entry per
 * distinct text instead, as much as the text itself, for keys that occur once.
 */
export class StringPool {
  #slots: (string | undefined)[] = emptySlots(FIRST_SLOTS)
  #size = 0

  /** How many texts are held. */
  get size(): number {
    return this.#size
  }

  /** The pool's copy of `text`. */
  intern(text: string): string {
    if (text.length > MAX_LENGTH || text.length === 0) {
      return text
    }
    const slot = slotOf(text) & (this.#slots.length - 1)
    const held = this.#slots[slot]
    if (held === text) {
      return held
    }
    this.#slots[slot] = text
    if (held === undefined) {
      this.#size++
      if (this.#size > this.#slots.length / 2 && this.#slots.length < MAX_SLOTS) {
        this.#grow()
      }
    }
    return text
  }

  clear(): void {
    if (this.#size > 0) {
      this.#slots = emptySlots(FIRST_SLOTS)
      this.#size = 0
    }
  }

  #grow(): void {
    const old = this.#slots
    const slots = emptySlots(old.length * 4)
    this.#size = 0
    for (const text of old) {
      if (text !== undefined) {
        const slot = slotOf(text) & (slots.length - 1)
        this.#size += slots[slot] === undefined ? 1 : 0
        slots[slot] = text
      }
    }
    this.#slots = slots
  }
}

function emptySlots(count: number): (string | undefined)[] {
  return new Array<string | undefined>(count).fill(undefined)
}

function slotOf(text: string): number {
  const step = text.length <= SAMPLES ? 1 : Math.ceil(text.length / SAMPLES)
  let hash = text.length
  for (let i = text.length - 1; i >= 0; i -= step) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  }
  return hash ^ (hash >>> 15)
}
