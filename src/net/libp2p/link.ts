import type { Connection, Stream } from '@libp2p/interface'
import type { ReplicaId } from '../../crdt/dot.ts'
import type { LinkLoss } from '../../tracker/transport.ts'
import { FramingError, LinkError } from './errors.ts'
import { encodeFrame } from './framing.ts'
import { Lane } from './lane.ts'
import type { LinkTimings } from './timings.ts'

/** `state`: everything that may be large. `heartbeat`: heartbeats and `stale`, never held back by state. */
export type LaneName = 'state' | 'heartbeat'

/** The two streams of a link, on one connection. */
export interface StreamPair {
  readonly connection: Connection
  readonly state: Stream
  readonly heartbeat: Stream
}

export interface LinkListener {
  /** Once: the other side has agreed, frames may be sent. */
  up(link: Link): void
  frame(link: Link, lane: LaneName, payload: Uint8Array): void
  drained(link: Link): void
  /** Once, also for a link that never was up. No frame of the link comes after it. */
  ended(link: Link, loss: LinkLoss, error: Error | undefined): void
}

/** The longest payload of a frame. */
export const MAX_FRAME_BYTES = 65_536
/** Heartbeats are small and have to leave also while the socket is full of state: so many bytes of them may wait. */
const HEARTBEAT_BACKLOG_BYTES = 16_384
/** A link on which nothing came for longer may be half-open. */
const SUSPICIOUS_TICKS = 2
/** The first frame on the state stream, from the side that accepted it: you are admitted. */
const WELCOME = encodeFrame(new Uint8Array(0))

/**
 * What ties two replicas: a stream for state and one for heartbeats, used both ways, on one connection. The replica with the smaller id
 * opens both, the other one says welcome. When one of the two streams ends, so does the link.
 */
export class Link {
  readonly peer: ReplicaId
  readonly connection: Connection
  /** What the peer last said of its own events. */
  announced: { readonly incarnation: number; readonly head: number } | undefined
  readonly #listener: LinkListener
  readonly #timings: LinkTimings
  readonly #opener: boolean
  readonly #lanes: Readonly<Record<LaneName, Lane>>
  #state: 'opening' | 'up' | 'ended' = 'opening'
  #age = 0
  #silentTicks = 0

  /** @param opener We opened the streams, and wait to be welcomed. */
  constructor(pair: StreamPair, opener: boolean, listener: LinkListener, timings: LinkTimings) {
    this.peer = pair.connection.remotePeer.toString()
    this.connection = pair.connection
    this.#opener = opener
    this.#listener = listener
    this.#timings = timings
    this.#lanes = { state: this.#lane('state', pair.state, 0), heartbeat: this.#lane('heartbeat', pair.heartbeat, HEARTBEAT_BACKLOG_BYTES) }
  }

  get isUp(): boolean {
    return this.#state === 'up'
  }

  /** In ticks. */
  get age(): number {
    return this.#age
  }

  /** Bytes that wait for the peer or the socket, both lanes. */
  get waitingBytes(): number {
    return this.#lanes.state.waitingBytes + this.#lanes.heartbeat.waitingBytes
  }

  /** Begins to read; welcomes the peer where it opened the link. The listener may be called from within. */
  start(): void {
    if (!this.#opener && this.#lanes.state.send(WELCOME)) {
      this.#up()
    }
    for (const lane of [this.#lanes.state, this.#lanes.heartbeat]) {
      if (!this.#hasEnded) {
        lane.start()
      }
    }
  }

  /** Whether `send` would take a frame of so many bytes now. */
  takes(lane: LaneName, bytes: number): boolean {
    return this.#state === 'up' && this.#lanes[lane].takes(bytes)
  }

  /** False when the lane takes no frame now; `drained` follows when that was for back-pressure. Never throws. */
  send(lane: LaneName, frame: Uint8Array): boolean {
    return this.#state === 'up' && this.#lanes[lane].send(frame)
  }

  /** Judges progress. A peer from which nothing at all came for `silenceTicks` is taken for half-open. */
  tick(): void {
    this.#age++
    const state = this.#lanes.state.tick()
    const heartbeat = !this.#hasEnded && this.#lanes.heartbeat.tick()
    this.#silentTicks = state || heartbeat ? 0 : this.#silentTicks + 1
    if (!this.#hasEnded && this.#silentTicks > this.#timings.silenceTicks) {
      this.abandon(new LinkError('ERR_LINK_TIMEOUT', `nothing was heard for ${this.#timings.silenceTicks} ticks`), 'error')
    }
  }

  /** Hands over what was sent, as far as it drains before `signal` aborts, then ends both streams. The listener is not called. */
  async close(signal: AbortSignal): Promise<void> {
    this.#state = 'ended'
    await Promise.all([this.#lanes.heartbeat.close(signal), this.#lanes.state.close(signal)])
  }

  /** Ends the link for a reason of ours. A peer that has been silent is let go with its connection: dialling it again must not find that one. */
  abandon(error: Error, loss: LinkLoss): void {
    this.abort(error, loss)
    if (this.#silentTicks > SUSPICIOUS_TICKS) {
      this.connection.abort(error)
    }
  }

  /** Resets both streams and tells the listener. */
  abort(error: Error, loss: LinkLoss): void {
    if (!this.#hasEnded) {
      this.#state = 'ended'
      this.#lanes.state.abort(error)
      this.#lanes.heartbeat.abort(error)
      this.#listener.ended(this, loss, error)
    }
  }

  get #hasEnded(): boolean {
    return this.#state === 'ended'
  }

  #up(): void {
    this.#state = 'up'
    this.#listener.up(this)
  }

  #lane(name: LaneName, stream: Stream, backlogBytes: number): Lane {
    return new Lane(
      stream,
      {
        frame: payload => this.#frame(name, payload),
        drained: () => this.#listener.drained(this),
        ended: (loss, error) => this.#laneEnded(name, loss, error)
      },
      { maxFrameBytes: MAX_FRAME_BYTES, backlogBytes, ...this.#timings }
    )
  }

  #frame(lane: LaneName, payload: Uint8Array): void {
    if (this.#state === 'up') {
      this.#listener.frame(this, lane, payload)
    } else if (lane === 'state' && payload.byteLength === 0) {
      this.#up()
    } else {
      throw new FramingError('ERR_FRAME_UNEXPECTED', 'a frame came before the welcome')
    }
  }

  #laneEnded(name: LaneName, loss: LinkLoss, error: Error | undefined): void {
    if (!this.#hasEnded) {
      this.#state = 'ended'
      this.#lanes[name === 'state' ? 'heartbeat' : 'state'].abort(error ?? new LinkError('ERR_LINK_CLOSED', `the ${name} stream is gone`))
      this.#listener.ended(this, loss, error)
    }
  }
}
