import { MAX_VARINT } from './byte-writer.ts'
import { checkInteger } from './checks.ts'
import { InvalidFrameError } from './invalid-frame-error.ts'

// A leading U+FEFF is a character of a name, not a byte order mark.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Reads forward over bytes that nobody trusts. Every method throws InvalidFrameError, and none allocates what is not there. */
export class ByteReader {
  readonly #bytes: Uint8Array
  #position = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  get remaining(): number {
    return this.#bytes.length - this.#position
  }

  byte(field: string): number {
    const byte = this.#bytes[this.#position]
    if (byte === undefined) {
      throw new InvalidFrameError(field, undefined, 'a byte, but the frame ends')
    }
    this.#position++
    return byte
  }

  /** A varint from `min` to `max`. */
  integer(field: string, max: number, min = 0): number {
    const value = this.varint(field)
    checkInteger(field, value, max, min)
    return value
  }

  /** A varint of at most 2^53, in its shortest form. */
  varint(field: string): number {
    let byte = this.byte(field)
    if (byte < 128) {
      return byte
    }
    let value = byte - 128
    let scale = 128
    for (let i = 1; i < 7; i++) {
      byte = this.byte(field)
      if (byte < 128) {
        if (byte === 0) {
          throw new InvalidFrameError(field, 0, 'a varint in its shortest form')
        }
        return value + byte * scale
      }
      value += (byte - 128) * scale
      scale *= 128
    }
    byte = this.byte(field)
    // The eighth byte starts at bit 49: 16 of it is 2^53, more is not exact in a double.
    if (byte === 0 || byte > 16 || (byte === 16 && value !== 0)) {
      throw new InvalidFrameError(field, value + byte * scale, `a varint of at most ${MAX_VARINT} in its shortest form`)
    }
    return value + byte * scale
  }

  /** An integer in `count` bytes (at most 7), least significant first. */
  littleEndian(count: number, field: string): number {
    let value = 0
    let scale = 1
    for (let i = 0; i < count; i++) {
      value += this.byte(field) * scale
      scale *= 256
    }
    return value
  }

  /** A view of the next `count` bytes. */
  raw(count: number, field: string): Uint8Array {
    if (count > this.remaining) {
      throw new InvalidFrameError(field, count, `at most ${this.remaining} bytes, all that the frame has left`)
    }
    const start = this.#position
    this.#position += count
    return this.#bytes.subarray(start, this.#position)
  }

  /** @throws InvalidFrameError when bytes are left over */
  end(): void {
    if (this.remaining !== 0) {
      throw new InvalidFrameError('payload', this.remaining, 'no byte after the last field')
    }
  }
}

/** @throws InvalidFrameError for bytes that are not UTF-8 */
export function textOf(bytes: Uint8Array, field: string): string {
  if (bytes.length < 24) {
    const ascii = shortAscii(bytes)
    if (ascii !== undefined) {
      return ascii
    }
  }
  try {
    return decoder.decode(bytes)
  } catch {
    throw new InvalidFrameError(field, bytes, 'UTF-8')
  }
}

/** A call of TextDecoder costs more than a short name does. */
function shortAscii(bytes: Uint8Array): string | undefined {
  let text = ''
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] as number
    if (byte > 127) {
      return undefined
    }
    text += String.fromCharCode(byte)
  }
  return text
}
