import type { ReplicaId } from '../../crdt/dot.ts'
import type { Message } from '../../tracker/messages.ts'
import { decodeMessage, encodeMessage } from '../codec.ts'

/**
 * The bytes of a message: a simulated link carries what a real one would.
 *
 * @throws InvalidFrameError for a message of more than `maxBytes`: who sends it did not keep to the transport's `maxFrameBytes`
 */
export function encodeFrame(message: Message, sender: ReplicaId, maxBytes: number): Uint8Array {
  return encodeMessage(message, { sender, limits: { frameBytes: maxBytes } })
}

/** @throws InvalidFrameError for bytes that are no message */
export function decodeFrame(bytes: Uint8Array, sender: ReplicaId): Message {
  return decodeMessage(bytes, { sender })
}
