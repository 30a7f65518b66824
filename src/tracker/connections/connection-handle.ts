/**
 * A connection as one number: the slot it lives in, and how often that slot was given out before it. A safe
 * integer, never 0. It stays unique for the life of its table: a slot whose generations are used up is retired.
 */
export type Handle = number

/** A table holds at most so many connections: slots take 26 of a handle's 53 bits. */
export const MAX_SLOTS = 2 ** 26
/** A slot is given out at most so many times: generations take the other 27 bits, and start at 1. */
export const MAX_GENERATION = 2 ** 27 - 1

const SLOT_MASK = MAX_SLOTS - 1
const PER_SLOT = 1 / MAX_SLOTS
const RADIX = 36
/** The largest safe integer has 11 digits in base 36. */
const MAX_DIGITS = 11

/** `slot` is below MAX_SLOTS, `generation` is 1 … MAX_GENERATION. */
export function makeHandle(slot: number, generation: number): Handle {
  return generation * MAX_SLOTS + slot
}

/** The dense index of a handle's slot: for side arrays. Also of a handle that has ended. */
export function slotOf(handle: Handle): number {
  return handle & SLOT_MASK
}

/** 1 … MAX_GENERATION. */
export function generationOf(handle: Handle): number {
  return Math.floor(handle * PER_SLOT)
}

/**
 * The text id of a connection: its handle in base 36, and the tag after a dot. Who holds the id finds the
 * connection by arithmetic, without a Map of ids.
 *
 * Handles repeat from one life of a process to the next, and are easy to guess. A tag that is new in each life
 * (the incarnation, or something secret) keeps an id of the last life from naming a connection of this one.
 */
export function encodeConnectionId(handle: Handle, tag = ''): string {
  const digits = handle.toString(RADIX)
  return tag === '' ? digits : `${digits}.${tag}`
}

/**
 * The handle of an id, or 0 when `text` is none or has another tag. Strict: one handle has one text (lower case, no
 * leading zero, nothing past the largest safe integer). Whether the connection still lives is for its table to say.
 */
export function decodeConnectionId(text: string, tag = ''): Handle {
  const digits = tag === '' ? text.length : text.length - tag.length - 1
  if (digits < 1 || digits > MAX_DIGITS || text.charCodeAt(0) === 0x30) {
    return 0
  }
  if (tag !== '' && (text.charCodeAt(digits) !== 0x2e || !text.endsWith(tag))) {
    return 0
  }
  let value = 0
  for (let at = 0; at < digits; at++) {
    const digit = digitOf(text.charCodeAt(at))
    if (digit < 0) {
      return 0
    }
    value = value * RADIX + digit
  }
  return value >= MAX_SLOTS && value <= Number.MAX_SAFE_INTEGER ? value : 0
}

function digitOf(code: number): number {
  if (code >= 0x30 && code <= 0x39) {
    return code - 0x30
  }
  return code >= 0x61 && code <= 0x7a ? code - 0x61 + 10 : -1
}
