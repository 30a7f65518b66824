import type { Message, MessageType } from '../../tracker/messages.ts'
import { decodeFrame } from './framing.ts'
import type { LinkEnd } from './link-end.ts'

/** Heartbeats, and the answer to a stale one, have a lane of their own: state never holds them back. */
export const isBeat = (type: MessageType): boolean => type === 'heartbeat' || type === 'stale'

/** An encoded message on its way from one end of a link to the other. */
export class Frame {
  readonly from: LinkEnd
  readonly type: MessageType
  readonly bytes: Uint8Array
  readonly #index: number
  #settled = false

  constructor(from: LinkEnd, type: MessageType, bytes: Uint8Array) {
    this.from = from
    this.type = type
    this.bytes = bytes
    this.#index = from.lane(this.isBeat).take()
  }

  get isBeat(): boolean {
    return isBeat(this.type)
  }

  get size(): number {
    return this.bytes.length
  }

  /** Decoded anew: nobody can change what is on its way. */
  get message(): Message {
    return decodeFrame(this.bytes, this.from.transport.self)
  }

  arriveInOrder(): void {
    this.from.lane(this.isBeat).arrived(this.#index, () => this.arrive())
  }

  /** Whatever came before. */
  arrive(): void {
    this.from.other.take(this)
  }

  /** Also over a later link between the two, when the one that it was sent on is gone. False when there is none. */
  arriveByHand(): boolean {
    return this.from.other.takeByHand(this)
  }

  /** A copy, after the frame itself or before. */
  arriveAgain(): void {
    this.from.other.take(this)
  }

  /** Those behind it do not wait for it. */
  leaveOrder(): void {
    this.from.lane(this.isBeat).skip(this.#index)
  }

  /** The receiver has read it, or it will never be read: the sender has room again. */
  settle(): void {
    if (!this.#settled) {
      this.#settled = true
      this.from.settled(this)
    }
  }

  breakLink(): void {
    this.from.break()
  }
}
