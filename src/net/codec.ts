/**
 * The wire format between replicas: one message, one frame. See docs/protocol.md.
 *
 * A frame is the MessagePack array `[kind, payload]`; the payload is columns of integers and blocks of text. Frames stand alone:
 * nothing is kept between two of them, so a lost or a hostile one changes nothing for the next.
 */
import type { ReplicaId } from '../crdt/dot.ts'
import { type Message, type MessageType, PROTOCOL_VERSION } from '../tracker/messages.ts'
import { openFrame, sealFrame } from './codec/container.ts'
import { readDelta, writeDelta } from './codec/delta.ts'
import { readDigest, writeDigest } from './codec/digest.ts'
import { type FrameLimits, resolveFrameLimits } from './codec/frame-limits.ts'
import { readHeartbeat, writeHeartbeat } from './codec/heartbeat.ts'
import { readHello, writeHello } from './codec/hello.ts'
import { InvalidFrameError } from './codec/invalid-frame-error.ts'
import { readBye, readStale, writeBye, writeStale } from './codec/notices.ts'
import { createPayloadReader, createPayloadWriter, type PayloadReader, type PayloadWriter } from './codec/payload.ts'
import { readPull, writePull } from './codec/pull.ts'

export { DEFAULT_FRAME_LIMITS, type FrameLimits } from './codec/frame-limits.ts'
export { InvalidFrameError } from './codec/invalid-frame-error.ts'

/** Streams that carry all messages but heartbeats and `stale`. The first number changes when frames can no longer be told apart. */
export const PROTOCOL_ID = '/rollcall/1.0.0'

/** Streams of heartbeats and `stale`, which state must not hold back. */
export const HEARTBEAT_PROTOCOL_ID = '/rollcall/heartbeat/1.0.0'

export interface EncodeOptions {
  /** The id under which the receiver knows the sender. It is then not written out in the frame, and the decoder needs it too. */
  readonly sender?: ReplicaId
  readonly limits?: Partial<FrameLimits>
}

export interface DecodeOptions {
  /** The proven id of the peer whose stream the frame came on. */
  readonly sender?: ReplicaId
  readonly limits?: Partial<FrameLimits>
}

interface Format<T extends Message> {
  readonly tag: number
  readonly write: (payload: PayloadWriter, message: T) => void
  readonly read: (payload: PayloadReader) => T
}

/** Tags are append-only: none is ever used for another message. */
const FORMATS: { readonly [T in MessageType]: Format<Extract<Message, { type: T }>> } = {
  hello: { tag: 0, write: writeHello, read: readHello },
  heartbeat: { tag: 1, write: writeHeartbeat, read: readHeartbeat },
  digest: { tag: 2, write: writeDigest, read: readDigest },
  pull: { tag: 3, write: writePull, read: readPull },
  delta: { tag: 4, write: writeDelta, read: readDelta },
  bye: { tag: 5, write: writeBye, read: readBye },
  stale: { tag: 6, write: writeStale, read: readStale }
}
const BY_TAG = new Map(Object.values(FORMATS).map(format => [format.tag, format as Format<Message>]))
const BY_TYPE = new Map(Object.entries(FORMATS).map(([type, format]) => [type, format as Format<Message>]))

/** A frame's kind is version · 16 + tag. */
const TAGS_PER_VERSION = 16

/**
 * One message as a frame. The same message gives the same bytes.
 *
 * @throws InvalidFrameError for a field of the wrong type or range, text with lone surrogates, and anything past a limit
 */
export function encodeMessage(message: Message, options: EncodeOptions = {}): Uint8Array {
  const format = BY_TYPE.get(message?.type)
  if (format === undefined) {
    throw new InvalidFrameError('type', message?.type, Object.keys(FORMATS).join(', '))
  }
  const limits = resolveFrameLimits(options.limits)
  const payload = createPayloadWriter(options.sender, limits)
  format.write(payload, message)
  return sealFrame({ kind: PROTOCOL_VERSION * TAGS_PER_VERSION + format.tag, payload: payload.writer.bytes }, limits.frameBytes)
}

/**
 * The message of a frame, every field checked. Time and memory grow with the frame's size and the limits, whatever it claims.
 *
 * @throws InvalidFrameError, and no other error, for bytes that are no frame of a version that is spoken here
 */
export function decodeMessage(bytes: Uint8Array, options: DecodeOptions = {}): Message {
  const limits = resolveFrameLimits(options.limits)
  const { kind, payload } = openFrame(bytes, limits.frameBytes)
  const version = Math.floor(kind / TAGS_PER_VERSION)
  if (version !== PROTOCOL_VERSION) {
    throw new InvalidFrameError('version', version, String(PROTOCOL_VERSION))
  }
  const format = BY_TAG.get(kind % TAGS_PER_VERSION)
  if (format === undefined) {
    throw new InvalidFrameError('tag', kind % TAGS_PER_VERSION, `a message of version ${version}, ${[...BY_TAG.keys()].join(', ')}`)
  }
  const reading = createPayloadReader(payload, options.sender, limits)
  const message = format.read(reading)
  reading.reader.end()
  return message
}
