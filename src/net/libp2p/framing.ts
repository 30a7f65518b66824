import { FramingError } from './errors.ts'

/** A length is a varint of at most so many bytes: frames have less than 2 MiB. */
const LENGTH_BYTES_MAX = 3

/** The payload with its length in front: LEB128, lowest seven bits first. One copy; the payload may be changed afterwards. */
export function encodeFrame(payload: Uint8Array): Uint8Array {
  const length = payload.byteLength
  const head = length < 0x80 ? 1 : length < 0x4000 ? 2 : LENGTH_BYTES_MAX
  const frame = new Uint8Array(head + length)
  let rest = length
  for (let i = 0; i < head - 1; i++) {
    frame[i] = (rest & 0x7f) | 0x80
    rest >>>= 7
  }
  frame[head - 1] = rest
  frame.set(payload, head)
  return frame
}

/**
 * Cuts a stream of bytes into frames.
 *
 * INV-70: a length is a claim, not a fact. Never is more memory held than twice the bytes that have arrived of the frame in progress, and
 * a length above the limit, or one that does not end within three bytes, is refused at once.
 */
export class FrameDecoder {
  readonly #maxFrameBytes: number
  #buffer: Uint8Array = EMPTY
  #start = 0
  #end = 0
  /** The buffer is ours to append to; else it is a view of what the stream handed over. */
  #owned = false

  /** @param maxFrameBytes The longest payload that is taken, less than 2 MiB. */
  constructor(maxFrameBytes: number) {
    this.#maxFrameBytes = maxFrameBytes
  }

  /** Bytes of a frame that has begun and is not whole. Meaningful when `next` gave undefined. */
  get pendingBytes(): number {
    return this.#end - this.#start
  }

  /** Memory held for it. */
  get heldBytes(): number {
    return this.pendingBytes === 0 ? 0 : this.#buffer.byteLength
  }

  /** More bytes of the stream. Call `next` until it gives undefined before the chunk's memory is used for anything else. */
  push(chunk: Uint8Array): void {
    const pending = this.pendingBytes
    if (pending === 0) {
      this.#adopt(chunk, 0, chunk.byteLength, false)
      return
    }
    const needed = pending + chunk.byteLength
    if (!this.#owned || this.#end + chunk.byteLength > this.#buffer.byteLength) {
      this.#copyPending(2 * needed)
    }
    this.#buffer.set(chunk, this.#end)
    this.#end += chunk.byteLength
  }

  /**
   * The next whole payload, or undefined when more bytes are needed. It shares memory with nothing that is written later.
   *
   * @throws FramingError ERR_FRAME_LENGTH; the decoder is of no use afterwards.
   */
  next(): Uint8Array | undefined {
    const buffer = this.#buffer
    let length = 0
    let at = this.#start
    for (let i = 0; ; i++) {
      if (at === this.#end) {
        return this.#wait()
      }
      const byte = buffer[at++] as number
      length |= (byte & 0x7f) << (7 * i)
      if (byte < 0x80) {
        if (byte === 0 && i > 0) {
          throw new FramingError('ERR_FRAME_LENGTH', `a frame's length is padded to ${i + 1} bytes, allowed is the shortest form`)
        }
        break
      }
      if (i === LENGTH_BYTES_MAX - 1) {
        throw new FramingError('ERR_FRAME_LENGTH', `a frame's length does not end within ${LENGTH_BYTES_MAX} bytes`)
      }
    }
    if (length > this.#maxFrameBytes) {
      throw new FramingError('ERR_FRAME_LENGTH', `a frame of ${length} bytes is announced, allowed are ${this.#maxFrameBytes}`)
    }
    if (this.#end - at < length) {
      return this.#wait()
    }
    this.#start = at + length
    return buffer.subarray(at, at + length)
  }

  /** What is left is kept until more comes: as a copy, or 3 bytes would hold on to the whole chunk they came in. */
  #wait(): undefined {
    const pending = this.pendingBytes
    if (pending === 0) {
      this.#adopt(EMPTY, 0, 0, false)
    } else if (!this.#owned) {
      this.#copyPending(pending)
    }
    return undefined
  }

  #copyPending(capacity: number): void {
    const pending = this.pendingBytes
    const copy = new Uint8Array(capacity)
    copy.set(this.#buffer.subarray(this.#start, this.#end))
    this.#adopt(copy, 0, pending, true)
  }

  #adopt(buffer: Uint8Array, start: number, end: number, owned: boolean): void {
    this.#buffer = buffer
    this.#start = start
    this.#end = end
    this.#owned = owned
  }
}

const EMPTY = new Uint8Array(0)
