import type { ReplicaId } from '../../crdt/dot.ts'
import type { Message } from '../../tracker/messages.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** The bytes of a message: what a simulated link carries is what a real one would. */
export function encodeFrame(message: Message, _sender: ReplicaId): Uint8Array {
  return encoder.encode(JSON.stringify(message))
}

/** @throws InvalidFrameError for bytes that are no message */
export function decodeFrame(bytes: Uint8Array, _sender: ReplicaId): Message {
  return JSON.parse(decoder.decode(bytes)) as Message
}
