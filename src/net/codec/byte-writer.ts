import { utf8Length } from '../../crdt/encoded-size.ts'
import { checkInteger } from './checks.ts'
import { InvalidFrameError } from './invalid-frame-error.ts'

/** The largest number that a varint carries: a zigzag difference of two counters. */
export const MAX_VARINT = 2 ** 53

const encoder = new TextEncoder()

/** Bytes of `value` as a varint: seven bits each, least significant first. */
export function varintSize(value: number): number {
  return value < 2 ** 28
    ? value < 2 ** 14
      ? value < 2 ** 7
        ? 1
        : 2
      : value < 2 ** 21
        ? 3
        : 4
    : value < 2 ** 42
      ? value < 2 ** 35
        ? 5
        : 6
      : value < 2 ** 49
        ? 7
        : 8
}

/** A buffer that grows as it is written. */
export class ByteWriter {
  #bytes = new Uint8Array(256)
  #length = 0

  get length(): number {
    return this.#length
  }

  /** A view of what was written; valid until the next write. */
  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length)
  }

  byte(value: number): void {
    if (this.#length === this.#bytes.length) {
      this.#reserve(1)
    }
    this.#bytes[this.#length++] = value
  }

  /** An integer, 0 … 2^53, which the caller has checked. Division, not shifts: those end at 32 bits. */
  varint(value: number): void {
    let rest = value
    while (rest >= 128) {
      this.byte((rest % 128) + 128)
      rest = Math.floor(rest / 128)
    }
    this.byte(rest)
  }

  /** A varint. @throws InvalidFrameError for what is not an integer from `min` to `max` */
  integer(field: string, value: number, max: number, min = 0): void {
    checkInteger(field, value, max, min)
    this.varint(value)
  }

  /** The `count` low bytes of an integer, least significant first. */
  littleEndian(value: number, count: number): void {
    let rest = value
    for (let i = 0; i < count; i++) {
      this.byte(rest % 256)
      rest = Math.floor(rest / 256)
    }
  }

  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length)
    this.#bytes.set(bytes, this.#length)
    this.#length += bytes.length
  }

  #reserve(more: number): void {
    if (this.#length + more > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(this.#length + more, this.#bytes.length * 2))
      grown.set(this.#bytes.subarray(0, this.#length))
      this.#bytes = grown
    }
  }
}

/**
 * The number of bytes that a text has as UTF-8.
 *
 * @throws InvalidFrameError for what is no string, has a lone surrogate (it would arrive as U+FFFD: another name), or is too
 * short or too long
 */
export function checkText(text: string, field: string, minBytes: number, maxBytes: number): number {
  if (typeof text !== 'string' || text.length > maxBytes || !text.isWellFormed()) {
    throw new InvalidFrameError(field, text, `well-formed text of ${minBytes} to ${maxBytes} bytes of UTF-8`)
  }
  const bytes = utf8Length(text)
  if (bytes < minBytes || bytes > maxBytes) {
    throw new InvalidFrameError(field, text, `${minBytes} to ${maxBytes} bytes of UTF-8`)
  }
  return bytes
}

/** The UTF-8 of a checked text. */
export function utf8(text: string): Uint8Array {
  return text.length < SHORT ? (shortAscii(text) ?? encoder.encode(text)) : encoder.encode(text)
}

/** Below it, a loop is faster than a call of TextEncoder. */
const SHORT = 32

function shortAscii(text: string): Uint8Array | undefined {
  const bytes = new Uint8Array(text.length)
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code > 127) {
      return undefined
    }
    bytes[i] = code
  }
  return bytes
}
