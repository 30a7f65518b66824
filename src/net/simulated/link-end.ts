import type { Message } from '../../tracker/messages.ts'
import type { LinkLoss } from '../../tracker/transport.ts'
import { Frame, isBeat } from './frame.ts'
import { encodeFrame } from './framing.ts'
import { Lane } from './lane.ts'
import { SilenceWatch } from './silence-watch.ts'
import type { SimulatedTransport } from './simulated-transport.ts'
import type { Wire } from './wire.ts'

/** Heartbeats that may wait for a receiver that stands still. */
const MAX_BEATS = 64

/**
 * One of the two ends of a link. What is sent waits in the network and in the receiver's input; past `sendBufferBytes` nothing more is taken
 * until half of it was read.
 */
export class LinkEnd {
  readonly transport: SimulatedTransport
  readonly #peerEnd: { end: LinkEnd | undefined }
  readonly #out: Wire
  readonly #back: Wire
  readonly #bulk = new Lane()
  readonly #beats = new Lane()
  readonly #silence: SilenceWatch
  readonly openedAtMs: number
  #open = true
  #vanishedAtMs: number | undefined
  #bulkBytes = 0
  #bulkFrames = 0
  #beatFrames = 0
  #full = false

  private constructor(transport: SimulatedTransport, other: SimulatedTransport, peerEnd: { end: LinkEnd | undefined }) {
    this.transport = transport
    this.#peerEnd = peerEnd
    this.#out = transport.network.wire(transport.address, other.address)
    this.#back = transport.network.wire(other.address, transport.address)
    this.openedAtMs = transport.network.environment.monotonicMs()
    this.#silence = new SilenceWatch({
      environment: transport.network.environment,
      timeoutMs: transport.network.linkTimeoutMs,
      silentSinceMs: () => this.#silentSinceMs(),
      onTimeout: () => {
        this.#lose('error')
        this.#tellClosed()
      }
    })
  }

  /** Both ends of a new link. */
  static pair(one: SimulatedTransport, two: SimulatedTransport): [LinkEnd, LinkEnd] {
    const ofOne: { end: LinkEnd | undefined } = { end: undefined }
    const ofTwo: { end: LinkEnd | undefined } = { end: undefined }
    const ends: [LinkEnd, LinkEnd] = [new LinkEnd(one, two, ofOne), new LinkEnd(two, one, ofTwo)]
    ofOne.end = ends[1]
    ofTwo.end = ends[0]
    one.network.opened(ends[0])
    one.network.opened(ends[1])
    return ends
  }

  get other(): LinkEnd {
    return this.#peerEnd.end as LinkEnd
  }

  get open(): boolean {
    return this.#open
  }

  /** Frames sent, other than heartbeats, that were not read yet. */
  get unread(): number {
    return this.other.#open ? this.#bulkFrames : 0
  }

  /** Bytes that wait, other than heartbeats'. */
  get queuedBytes(): number {
    return this.#bulkBytes
  }

  lane(beat: boolean): Lane {
    return beat ? this.#beats : this.#bulk
  }

  /** The first word on the link: nothing that is sent on it arrives before. */
  announce(established: () => void): void {
    let first = true
    this.#both(() => {
      if (first) {
        first = false
        this.other.transport.host.input(established)
      }
    })
  }

  /** False when the end is closed or does not drain. A message that is too big throws: that is a fault of its sender, to be seen in tests. */
  send(message: Message): boolean {
    const beat = isBeat(message.type)
    if (!this.#open || (beat && this.#beatFrames >= MAX_BEATS)) {
      return false
    }
    if (!beat && this.#bulkBytes >= this.transport.network.sendBufferBytes) {
      this.#full = true
      return false
    }
    const frame = new Frame(this, message.type, encodeFrame(message, this.transport.self, this.transport.maxFrameBytes))
    if (beat) {
      this.#beatFrames++
    } else {
      this.#bulkBytes += frame.size
      this.#bulkFrames++
    }
    this.transport.network.sent(this, frame)
    this.#out.frame(frame)
    this.#silence.sent()
    return true
  }

  settled(frame: Frame): void {
    if (frame.isBeat) {
      this.#beatFrames--
      return
    }
    this.#bulkBytes -= frame.size
    this.#bulkFrames--
    if (this.#full && this.#bulkBytes <= this.transport.network.sendBufferBytes / 2) {
      this.#full = false
      this.#back.control(() => this.transport.drained(this))
    }
  }

  /** A frame of the other end is here. */
  take(frame: Frame): void {
    if (this.#open) {
      this.transport.host.input(() => this.#read(frame))
    } else if (this.#vanishedAtMs !== undefined && this.transport.network.listening(this.transport.address) !== undefined) {
      this.#tellClosed()
    }
  }

  takeByHand(frame: Frame): boolean {
    const end = this.#open ? this : this.transport.network.listening(this.transport.address)?.end(frame.from.transport.self)
    end?.take(frame)
    return end !== undefined
  }

  /** Closes this end; the other is told when what was sent before has arrived. */
  close(): void {
    if (this.#open) {
      this.#shut()
      this.#tellClosed()
    }
  }

  /** The process of this end is gone. `silent`: with its machine, so that nobody is told. */
  die(silent: boolean): void {
    if (silent) {
      this.#vanishedAtMs = this.transport.network.environment.monotonicMs()
      this.#shut()
    } else {
      this.close()
    }
  }

  /** Both ends lose the link now, and what was on its way. */
  break(): void {
    for (const end of [this, this.other]) {
      end.#lose('error')
    }
  }

  #read(frame: Frame): void {
    frame.settle()
    if (this.transport.end(frame.from.transport.self) !== this) {
      return
    }
    let message: Message
    try {
      message = frame.message
    } catch (error) {
      this.transport.invalid(this, error as Error)
      return
    }
    this.transport.network.delivered(frame, this, message)
    this.transport.received(this, message)
  }

  #tellClosed(): void {
    let lanes = 2
    this.#both(() => {
      if (--lanes === 0) {
        this.other.#lose('closed')
      }
    })
  }

  /** On both lanes, in order with what is sent. */
  #both(arrived: () => void): void {
    for (const lane of [this.#bulk, this.#beats]) {
      const index = lane.take()
      this.#out.control(() => lane.arrived(index, arrived))
    }
  }

  #lose(loss: LinkLoss): void {
    this.transport.host.input(() => {
      if (this.#open) {
        this.#shut()
        this.transport.lost(this, loss)
      }
    })
  }

  #shut(): void {
    this.#open = false
    this.#silence.end()
  }

  #silentSinceMs(): number | undefined {
    const times = [this.#out.cutSinceMs, this.#back.cutSinceMs, this.other.#vanishedAtMs].filter(ms => ms !== undefined)
    return times.length === 0 ? undefined : Math.min(...times)
  }
}
