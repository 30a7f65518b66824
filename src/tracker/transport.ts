import type { ReplicaId } from '../crdt/dot.ts'
import type { Message } from './messages.ts'

/** Why a link is gone. A refusal is proof that nobody listens there; the others are hints only. */
export type LinkLoss = 'closed' | 'refused' | 'error'

/** What a transport tells its one listener. Never called from inside `send`, `start` or `stop`. */
export interface TransportListener {
  /** Frames can be sent to `peer`, whose id is proven. Called once until `disconnected`. Hello goes first, on both sides. */
  connected(peer: ReplicaId): void
  /** No frame of `peer` comes after this. Also called with `refused` for a dial that was refused, without `connected` before. */
  disconnected(peer: ReplicaId, loss: LinkLoss): void
  /** A decoded, validated message. In order per peer for each of the two lanes (heartbeats; all else). */
  received(peer: ReplicaId, message: Message): void
  /** After `send` gave false for back-pressure: the peer takes frames again. */
  drained(peer: ReplicaId): void
  /** A frame that is no message. It changed nothing; the transport closes the link when it sees fit. */
  invalid(peer: ReplicaId, error: Error): void
}

/**
 * The port to the other replicas. Ordered and reliable while a link lasts, like a stream; a link may be lost at any time, and
 * what was sent on it may or may not have arrived.
 */
export interface Transport {
  /** This replica's id as its peers prove it. */
  readonly self: ReplicaId
  start(listener: TransportListener): Promise<void>
  /** Ends every link. Frames sent before are flushed for a short while. Safe to call twice, and before start. */
  stop(): Promise<void>
  /**
   * False when `peer` has no link or does not drain: then nothing was sent or kept. Heartbeats and `stale` travel in a lane
   * of their own, and are never held back by state. Never throws.
   */
  send(peer: ReplicaId, message: Message): boolean
  /**
   * Whether state of `id` may be taken from others: origins of relayed state pass the same admission as peers. Absent: all.
   */
  admits?(id: ReplicaId): boolean
  /** Ends the link to `peer` (admission, misbehaviour); it may be dialled again later. */
  disconnect(peer: ReplicaId, reason: string): void
  /** The largest encoded message in bytes. */
  readonly maxFrameBytes: number
}
