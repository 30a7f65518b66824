import type { ReplicaId } from '../../crdt/dot.ts'
import type { Message } from '../../tracker/messages.ts'
import { decodeMessage, encodeMessage } from '../codec.ts'

/** The bytes of a message: a simulated link carries what a real one would. */
export function encodeFrame(message: Message, sender: ReplicaId): Uint8Array {
  return encodeMessage(message, { sender })
}

/** @throws InvalidFrameError for bytes that are no message */
export function decodeFrame(bytes: Uint8Array, sender: ReplicaId): Message {
  return decodeMessage(bytes, { sender })
}
