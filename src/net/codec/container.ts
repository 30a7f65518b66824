import { Packr, Unpackr } from 'msgpackr'
import { InvalidFrameError } from './invalid-frame-error.ts'

/** What the array `[kind, payload]` costs at most around a payload: array 1, kind 3, length of the payload 5. */
const HEAD_BYTES = 9
const PAIR = 0x92
const UINT8 = 0xcc
const UINT16 = 0xcd
const BIN8 = 0xc4
const BIN16 = 0xc5
const BIN32 = 0xc6

// No records, no shared structures, no bundled strings: nothing that one frame says is remembered for the next.
const packr = new Packr({ useRecords: false, moreTypes: false, structuredClone: false, bundleStrings: false })
const unpackr = new Unpackr({ useRecords: false, moreTypes: false, structuredClone: false, bundleStrings: false, int64AsType: 'number' })

export interface Frame {
  /** version · 16 + tag */
  readonly kind: number
  readonly payload: Uint8Array
}

/** A frame is the MessagePack array `[kind, payload]`: an unsigned integer and bytes. */
export function sealFrame(frame: Frame, maxBytes: number): Uint8Array {
  if (frame.payload.length + HEAD_BYTES > maxBytes) {
    checkSize(packedSize(frame), maxBytes)
  }
  // msgpackr hands out a view of a buffer of several kilobytes.
  return new Uint8Array(packr.pack([frame.kind, frame.payload]))
}

/**
 * Takes the container off.
 *
 * The bytes are looked at before msgpackr sees them: only an array of two, an unsigned integer of at most 16 bits and bytes that end where
 * the frame ends pass. Its extension types (records, pointers, sets, errors, bundled strings) are global and cannot be
 * switched off, some of them keep state between calls, and maps and nesting have no place here.
 *
 * @throws InvalidFrameError
 */
export function openFrame(bytes: Uint8Array, maxBytes: number): Frame {
  if (!(bytes instanceof Uint8Array)) {
    throw new InvalidFrameError('frame', bytes, 'a Uint8Array')
  }
  checkSize(bytes.length, maxBytes)
  checkShape(bytes)
  // A fresh view, because msgpackr writes a property on the one it is given.
  const [kind, payload] = unpackr.unpack(bytes.subarray()) as [number, Uint8Array]
  return { kind, payload }
}

function checkSize(size: number, maxBytes: number): void {
  if (size > maxBytes) {
    throw new InvalidFrameError('frame', `${size} bytes`, `at most ${maxBytes} bytes`)
  }
}

function checkShape(bytes: Uint8Array): void {
  if (bytes[0] !== PAIR) {
    throw new InvalidFrameError('frame', bytes[0], `a MessagePack array of two, which starts with ${PAIR}`)
  }
  const head = bytes[1]
  const bin = head === undefined || head < 128 ? 2 : head === UINT8 ? 3 : head === UINT16 ? 4 : 0
  if (bin === 0) {
    throw new InvalidFrameError('kind', head, 'an unsigned integer of at most 16 bits')
  }
  const width = bytes[bin] === BIN8 ? 1 : bytes[bin] === BIN16 ? 2 : bytes[bin] === BIN32 ? 4 : 0
  if (width === 0) {
    throw new InvalidFrameError('payload', bytes[bin], 'bytes of MessagePack type bin')
  }
  let length = 0
  for (let i = 1; i <= width; i++) {
    length = length * 256 + (bytes[bin + i] ?? 0)
  }
  const rest = bytes.length - bin - 1 - width
  if (length !== rest) {
    throw new InvalidFrameError('payload', `${length} bytes`, `${rest} bytes, all that follow`)
  }
}

function packedSize(frame: Frame): number {
  const kind = frame.kind < 128 ? 1 : frame.kind < 256 ? 2 : 3
  const length = frame.payload.length < 256 ? 2 : frame.payload.length < 65_536 ? 3 : 5
  return 1 + kind + length + frame.payload.length
}
