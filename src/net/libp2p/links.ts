import type { Connection, Logger } from '@libp2p/interface'
import type { ReplicaId } from '../../crdt/dot.ts'
import type { Environment } from '../../tracker/environment.ts'
import type { Message } from '../../tracker/messages.ts'
import type { LinkLoss, TransportListener } from '../../tracker/transport.ts'
import { decodeMessage, encodeMessage, InvalidFrameError } from '../codec.ts'
import type { Admission } from './admission.ts'
import { LinkError, NotAdmittedError } from './errors.ts'
import { encodeFrame } from './framing.ts'
import { type LaneName, Link, type LinkListener, type StreamPair } from './link.ts'
import { NoticeQueue } from './notice-queue.ts'
import { filterOrigins } from './origin-filter.ts'
import type { LinkTimings } from './timings.ts'
import type { Traffic } from './traffic.ts'

export interface LinksOptions {
  readonly self: ReplicaId
  readonly environment: Environment
  readonly admission: Admission
  readonly timings: LinkTimings
  readonly traffic: Traffic
  readonly log: Logger
  /** A link with `peer` is up. */
  linked(peer: ReplicaId, connection: Connection): void
  /** The link with `peer` is gone. */
  lost(peer: ReplicaId): void
  /** See `Transport.admits`. */
  admits(origin: ReplicaId): boolean
  /** A delta was taken in, which took so long. */
  merged(ms: number): void
}

interface Settle {
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

/** A peer that sent what is no message is not linked again for so long. */
const SHUN_MS = 10_000

/**
 * The links that are up, at most one per peer, and what goes over them: messages from and to the listener of the transport.
 */
export class Links implements LinkListener {
  readonly #options: LinksOptions
  readonly #notices: NoticeQueue
  readonly #up = new Map<ReplicaId, Link>()
  readonly #opening = new Map<Link, Settle>()
  readonly #shunnedUntilMs = new Map<ReplicaId, number>()
  #listener: TransportListener | undefined
  #last: { readonly message: Message; readonly frame: Uint8Array } | undefined

  constructor(options: LinksOptions) {
    this.#options = options
    this.#notices = new NoticeQueue(error => options.log.error('the listener of the transport threw - %e', error))
  }

  get size(): number {
    return this.#up.size
  }

  get(peer: ReplicaId): Link | undefined {
    return this.#up.get(peer)
  }

  [Symbol.iterator](): IterableIterator<Link> {
    return this.#up.values()
  }

  isShunned(peer: ReplicaId): boolean {
    return (this.#shunnedUntilMs.get(peer) ?? Number.NEGATIVE_INFINITY) > this.#options.environment.monotonicMs()
  }

  start(listener: TransportListener): void {
    this.#listener = listener
  }

  /** Makes a link of streams that we opened; resolves when it is up. */
  establish(pair: StreamPair, signal: AbortSignal): Promise<void> {
    const link = new Link(pair, true, this, this.#options.timings)
    const onAbort = (): void => link.abort(signal.reason, 'error')
    signal.addEventListener('abort', onAbort)
    return new Promise<void>((resolve, reject) => {
      this.#opening.set(link, { resolve, reject })
      link.start()
    }).finally(() => signal.removeEventListener('abort', onAbort))
  }

  /** Makes a link of streams that the peer opened. */
  accept(pair: StreamPair): void {
    new Link(pair, false, this, this.#options.timings).start()
  }

  /** See `Transport.send`. */
  send(peer: ReplicaId, message: Message): boolean {
    const link = this.#up.get(peer)
    const lane = laneOf(message)
    // A peer that takes nothing is not worth the encoding.
    if (link === undefined || !link.takes(lane, 0)) {
      return false
    }
    const frame = this.#encode(message)
    if (frame === undefined) {
      return true
    }
    const taken = link.send(lane, frame)
    if (taken) {
      const count = this.#options.traffic.sent[message.type]
      count.messages++
      count.bytes += frame.byteLength
    }
    return taken
  }

  end(peer: ReplicaId, error: Error, loss: LinkLoss): void {
    this.#up.get(peer)?.abandon(error, loss)
  }

  tick(): void {
    for (const link of [...this.#up.values()]) {
      link.tick()
    }
    this.#review()
  }

  /** Hands over what was sent, as far as it drains before `signal` aborts, and ends all links. The listener hears no more. */
  async close(signal: AbortSignal): Promise<void> {
    this.#listener = undefined
    this.#notices.clear()
    const error = new LinkError('ERR_LINK_CLOSED', 'the transport stops')
    for (const link of [...this.#opening.keys()]) {
      link.abort(error, 'closed')
    }
    const up = [...this.#up.values()]
    this.#up.clear()
    await Promise.all(up.map(link => link.close(signal)))
  }

  up(link: Link): void {
    const { peer } = link
    this.#up.get(peer)?.abort(new LinkError('ERR_LINK_REPLACED', 'the peer has a newer link'), 'closed')
    this.#up.set(peer, link)
    this.#options.traffic.linksOpened++
    this.#options.log('link with %s is up', peer)
    this.#notices.push(() => this.#listener?.connected(peer))
    this.#settle(link)?.resolve()
    this.#options.linked(peer, link.connection)
  }

  frame(link: Link, lane: LaneName, payload: Uint8Array): void {
    const { peer } = link
    let message: Message
    try {
      message = decodeMessage(payload, { sender: peer })
      checkSender(message, peer, lane)
    } catch (error) {
      this.#invalid(peer, error as Error)
      link.abort(error as Error, 'error')
      return
    }
    const count = this.#options.traffic.received[message.type]
    count.messages++
    count.bytes += payload.byteLength
    const { admission } = this.#options
    const admitted = admission.everyone ? message : filterOrigins(message, peer, origin => this.#options.admits(origin))
    if (admitted !== undefined) {
      this.#give(link, admitted)
    }
  }

  drained(link: Link): void {
    this.#notices.push(() => this.#up.get(link.peer) === link && this.#listener?.drained(link.peer))
  }

  ended(link: Link, loss: LinkLoss, error: Error | undefined): void {
    const { peer } = link
    this.#options.log('link with %s ended: %s - %e', peer, loss, error)
    if (error?.name === 'FramingError') {
      this.#invalid(peer, error)
    }
    this.#settle(link)?.reject(error ?? new LinkError('ERR_LINK_CLOSED', 'the peer closed the link before it was up'))
    if (this.#up.get(peer) === link) {
      this.#up.delete(peer)
      this.#options.traffic.linksLost++
      this.#notices.push(() => this.#listener?.disconnected(peer, loss))
      this.#options.lost(peer)
    }
  }

  /** A dial of `peer` was refused. */
  refused(peer: ReplicaId): void {
    this.#notices.push(() => !this.#up.has(peer) && this.#listener?.disconnected(peer, 'refused'))
  }

  #give(link: Link, message: Message): void {
    if (message.type === 'heartbeat') {
      link.announced = { incarnation: message.replica.incarnation, head: message.head }
    }
    const { environment, merged } = this.#options
    const startMs = environment.monotonicMs()
    this.#notices.give(() => this.#listener?.received(link.peer, message))
    if (message.type === 'delta') {
      merged(environment.monotonicMs() - startMs)
    }
  }

  /** A broadcast is encoded once: it comes as the same object for each peer. */
  #encode(message: Message): Uint8Array | undefined {
    if (this.#last?.message === message) {
      return this.#last.frame
    }
    try {
      const frame = encodeFrame(encodeMessage(message, { sender: this.#options.self }))
      this.#last = { message, frame }
      return frame
    } catch (error) {
      // To say false would make the sender wait for a drain that never comes.
      this.#options.traffic.unsendable++
      this.#options.log.error('a %s could not be encoded and was not sent - %e', message.type, error)
      return undefined
    }
  }

  #invalid(peer: ReplicaId, error: Error): void {
    this.#options.traffic.invalid++
    this.#options.log.error('%s sent what is no message - %e', peer, error)
    this.#shunnedUntilMs.set(peer, this.#options.environment.monotonicMs() + SHUN_MS)
    if (this.#up.has(peer)) {
      this.#notices.push(() => this.#listener?.invalid(peer, error))
    }
  }

  /** Holds links against the admission rule as it is now. */
  #review(): void {
    for (const peer of this.#shunnedUntilMs.keys()) {
      if (!this.isShunned(peer)) {
        this.#shunnedUntilMs.delete(peer)
      }
    }
    for (const peer of [...this.#up.keys()]) {
      if (this.#options.admission.verdict(peer) === false) {
        this.end(peer, new NotAdmittedError(peer), 'error')
      }
    }
  }

  #settle(link: Link): Settle | undefined {
    const settle = this.#opening.get(link)
    this.#opening.delete(link)
    return settle
  }
}

function laneOf(message: Message): LaneName {
  return message.type === 'heartbeat' || message.type === 'stale' ? 'heartbeat' : 'state'
}

/** The stream proves who speaks; a message may not say otherwise, nor overtake others on the wrong lane. */
function checkSender(message: Message, peer: ReplicaId, lane: LaneName): void {
  if (laneOf(message) !== lane) {
    throw new InvalidFrameError('type', message.type, `a message of the ${lane} lane`)
  }
  const speaker = message.type === 'hello' || message.type === 'heartbeat' || message.type === 'bye' ? message.replica.id : peer
  if (speaker !== peer) {
    throw new InvalidFrameError('replica.id', speaker, `the proven id of the sender, ${peer}`)
  }
}
