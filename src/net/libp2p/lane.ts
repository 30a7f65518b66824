import type { Stream, StreamCloseEvent, StreamMessageEvent } from '@libp2p/interface'
import type { LinkLoss } from '../../tracker/transport.ts'
import { FramingError, LinkError } from './errors.ts'
import { FrameDecoder } from './framing.ts'

/** What a lane tells its owner. Never called after `ended`, and `ended` once. */
export interface LaneListener {
  frame(payload: Uint8Array): void
  /** After `send` gave false: it takes frames again. */
  drained(): void
  /** The stream is gone; `closed` by the other side or with the connection, `error` by a rule of ours. */
  ended(loss: LinkLoss, error: Error | undefined): void
}

export interface LaneLimits {
  readonly maxFrameBytes: number
  /** Frames are taken while so many bytes wait for the stream to drain. 0: one frame at a time. */
  readonly backlogBytes: number
  /** A frame that has begun must be whole after so many ticks. */
  readonly frameTicks: number
  /** A stream that takes no more bytes must drain within so many ticks. */
  readonly drainTicks: number
}

/**
 * One libp2p stream as a lane of frames, both ways.
 *
 * Deadlines are counted in ticks of this process, not in time: a process that stood still (SIGSTOP, a long pause) has made one tick, and
 * reads what is queued before it judges anybody.
 */
export class Lane {
  readonly #stream: Stream
  readonly #listener: LaneListener
  readonly #limits: LaneLimits
  readonly #decoder: FrameDecoder
  #ended = false
  #starved = false
  #received = 0
  #receivedAtTick = 0
  #frames = 0
  #framesAtTick = 0
  #partialTicks = 0
  #stuckTicks = 0
  #drains = 0
  #drainsAtTick = 0

  constructor(stream: Stream, listener: LaneListener, limits: LaneLimits) {
    this.#stream = stream
    this.#listener = listener
    this.#limits = limits
    this.#decoder = new FrameDecoder(limits.maxFrameBytes)
  }

  /** Bytes that wait in the stream for the other side or the socket. */
  get waitingBytes(): number {
    return this.#stream.writeBufferLength
  }

  /** Begins to read. What came before is read first. */
  start(): void {
    const stream = this.#stream
    stream.addEventListener('close', this.#onClose)
    stream.addEventListener('end', this.#onEnd)
    stream.addEventListener('drain', this.#onDrain)
    stream.addEventListener('message', this.#onMessage)
    if (stream.status !== 'open') {
      this.#end('closed', undefined)
    } else if (stream.readableEnded) {
      this.#onEnd()
    }
  }

  /** Whether a frame of so many bytes would be taken now. Once it was not, `drained` follows. */
  takes(bytes: number): boolean {
    const stream = this.#stream
    if (this.#ended || stream.writeStatus !== 'writable') {
      return false
    }
    const { backlogBytes } = this.#limits
    if (stream.writableNeedsDrain && (backlogBytes === 0 || stream.writeBufferLength + bytes > backlogBytes)) {
      this.#starved = true
      return false
    }
    return true
  }

  /** False when nothing was taken: the lane has ended, or has to drain first. The bytes belong to the stream from now on. Never throws. */
  send(frame: Uint8Array): boolean {
    if (!this.takes(frame.byteLength)) {
      return false
    }
    try {
      this.#stream.send(frame)
      return true
    } catch (error) {
      // The stream has aborted itself, or is about to: its 'close' event says the rest.
      queueMicrotask(() => this.#end('closed', asError(error)))
      return false
    }
  }

  /** Whether bytes have come since the last tick; ends the lane when a deadline has passed. */
  tick(): boolean {
    const heard = this.#received !== this.#receivedAtTick
    this.#receivedAtTick = this.#received
    this.#partialTicks = this.#decoder.pendingBytes > 0 && this.#frames === this.#framesAtTick ? this.#partialTicks + 1 : 0
    this.#framesAtTick = this.#frames
    this.#stuckTicks = this.#stream.writableNeedsDrain && this.#drains === this.#drainsAtTick ? this.#stuckTicks + 1 : 0
    this.#drainsAtTick = this.#drains
    if (this.#partialTicks > this.#limits.frameTicks) {
      this.#end('error', new FramingError('ERR_FRAME_TIMEOUT', `a frame was not whole after ${this.#limits.frameTicks} ticks`))
    } else if (this.#stuckTicks > this.#limits.drainTicks) {
      this.#end('error', new LinkError('ERR_LINK_STUCK', `the peer has read nothing for ${this.#limits.drainTicks} ticks`))
    }
    return heard
  }

  /** Ends our side once what was sent is handed over, then resets what is left. No call to the listener is made from now on. */
  async close(signal: AbortSignal): Promise<void> {
    this.#detach()
    try {
      await this.#stream.close({ signal })
    } catch {
      // Not drained in time, or the stream was gone: the reset below is the answer to both.
    }
    this.#reset(new LinkError('ERR_LINK_CLOSED', 'the link was closed'))
  }

  /** Resets the stream. No call to the listener is made from now on. */
  abort(error: Error): void {
    this.#detach()
    this.#reset(error)
  }

  readonly #onMessage = (event: StreamMessageEvent): void => {
    const { data } = event
    this.#received += data.byteLength
    try {
      for (const chunk of data instanceof Uint8Array ? [data] : data) {
        this.#decoder.push(chunk)
        for (let frame = this.#next(); frame !== undefined; frame = this.#next()) {
          this.#frames++
          this.#listener.frame(frame)
        }
      }
    } catch (error) {
      this.#end('error', asError(error))
    }
  }

  /** A listener that ends the lane ends the reading, within a chunk as well. */
  #next(): Uint8Array | undefined {
    return this.#ended ? undefined : this.#decoder.next()
  }

  readonly #onDrain = (): void => {
    this.#drains++
    // libp2p sends what waits in a microtask of its own, queued before this one; only then is it known whether there is room.
    queueMicrotask(() => {
      if (this.#starved && !this.#ended && !this.#stream.writableNeedsDrain) {
        this.#starved = false
        this.#listener.drained()
      }
    })
  }

  readonly #onEnd = (): void => this.#end('closed', undefined)

  readonly #onClose = (event: StreamCloseEvent): void => this.#end('closed', event.error)

  #end(loss: LinkLoss, error: Error | undefined): void {
    if (!this.#ended) {
      this.#detach()
      this.#reset(error ?? new LinkError('ERR_LINK_CLOSED', 'the other side closed the stream'))
      this.#listener.ended(loss, error)
    }
  }

  #detach(): void {
    this.#ended = true
    const stream = this.#stream
    stream.removeEventListener('close', this.#onClose)
    stream.removeEventListener('end', this.#onEnd)
    stream.removeEventListener('drain', this.#onDrain)
    stream.removeEventListener('message', this.#onMessage)
  }

  #reset(error: Error): void {
    try {
      this.#stream.abort(error)
    } catch {
      // A muxer whose connection is gone may throw while it says so; the stream is closed all the same.
    }
  }
}

const asError = (reason: unknown): Error => (reason instanceof Error ? reason : new Error(String(reason)))
