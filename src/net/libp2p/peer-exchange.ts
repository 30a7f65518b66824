import type { Connection, Logger, Stream, StreamCloseEvent, StreamMessageEvent } from '@libp2p/interface'
import { PeerRecord, RecordEnvelope } from '@libp2p/peer-record'
import { setMaxListeners } from 'main-event'
import type { ReplicaId } from '../../crdt/dot.ts'
import type { Random } from '../../tracker/environment.ts'
import { usableAddresses } from './addresses.ts'
import type { RollcallComponents } from './components.ts'
import { FramingError, NotAdmittedError } from './errors.ts'
import { encodeFrame, FrameDecoder } from './framing.ts'

/** Request: nothing. Answer: one frame per peer that the answerer is linked with, a signed peer record, then the end of the stream. */
export const PEERS_PROTOCOL_ID = '/rollcall/peers/1.0.0'

export interface PeerExchangePort {
  admits(connection: Connection): Promise<boolean>
  /** Connections that carry a link. */
  linked(): Iterable<Connection>
  isLinked(peer: ReplicaId): boolean
  admitsOrigin(peer: ReplicaId): Promise<boolean>
  learn(peer: ReplicaId, addresses: readonly string[]): void
  readonly random: Random
  readonly log: Logger
}

/** A new peer is asked so long after its link came up: identify has most often told by then where it is, and where its other peers are. */
export const EXCHANGE_SOON_MS = 250
/** One random peer is asked every so many ticks. */
const EVERY_TICKS = 30
/** For so many ticks after a link came up it is more often: who is new may be known to others by then. */
const NEWS_TICKS = 15
const NEWS_EVERY_TICKS = 3

const RECORDS_MAX = 256
const RECORD_BYTES_MAX = 2_048
const TIMEOUT_MS = 5_000

/**
 * Members learn of each other from members. Addresses travel as the libp2p peer records that their owners signed, so that nobody can send
 * others to an address in somebody else's name; an answer is bounded, and nothing of it is kept before its signature was checked.
 */
export class PeerExchange {
  readonly #components: RollcallComponents
  readonly #port: PeerExchangePort
  #handles = false
  #ticks = 0
  #newsUntilTick = 0

  constructor(components: RollcallComponents, port: PeerExchangePort) {
    this.#components = components
    this.#port = port
  }

  async start(): Promise<void> {
    await this.#components.registrar.handle(PEERS_PROTOCOL_ID, (stream, connection) => this.#answer(stream, connection), {
      maxInboundStreams: 2,
      maxOutboundStreams: 2
    })
    this.#handles = true
  }

  async stop(): Promise<void> {
    if (!this.#handles) {
      return
    }
    this.#handles = false
    await this.#components.registrar.unhandle(PEERS_PROTOCOL_ID)
  }

  /** A link is up on `connection`, since `EXCHANGE_SOON_MS`. */
  linked(connection: Connection): void {
    this.#newsUntilTick = this.#ticks + NEWS_TICKS
    this.#askAbout(connection)
  }

  tick(): void {
    const connections = [...this.#port.linked()]
    const everyTicks = this.#ticks < this.#newsUntilTick ? NEWS_EVERY_TICKS : EVERY_TICKS
    if (++this.#ticks % everyTicks === 0 && connections.length > 0) {
      this.#askAbout(connections[this.#port.random.below(connections.length)] as Connection)
    }
  }

  #askAbout(connection: Connection): void {
    this.#ask(connection).catch(error => this.#port.log('%p did not say whom it knows - %e', connection.remotePeer, error))
  }

  /** Asks the peer at the other end whom it is linked with, and learns those that we are not. */
  async #ask(connection: Connection): Promise<void> {
    const signal = timeout()
    const stream = await connection.newStream(PEERS_PROTOCOL_ID, { signal })
    try {
      await stream.close({ signal })
      for (const record of await readFrames(stream, signal)) {
        await this.#learn(record)
      }
    } finally {
      stream.abort(new FramingError('ERR_FRAME_TIMEOUT', 'the answer was read, or was not worth reading'))
    }
  }

  async #learn(record: Uint8Array): Promise<void> {
    const envelope = await RecordEnvelope.openAndCertify(record, PeerRecord.DOMAIN)
    const { peerId, multiaddrs } = PeerRecord.createFromProtobuf(envelope.payload)
    const peer = peerId.toString()
    if (!envelope.publicKey.toCID().equals(peerId.toCID())) {
      throw new NotAdmittedError(peer)
    }
    if (!this.#port.isLinked(peer) && (await this.#port.admitsOrigin(peer))) {
      this.#port.learn(peer, usableAddresses(peer, multiaddrs))
    }
  }

  async #answer(stream: Stream, connection: Connection): Promise<void> {
    if (!(await this.#port.admits(connection))) {
      throw new NotAdmittedError(connection.remotePeer.toString())
    }
    const signal = timeout()
    let records = 0
    for (const { remotePeer } of this.#port.linked()) {
      const record = remotePeer.equals(connection.remotePeer) ? undefined : await this.#record(remotePeer)
      if (record !== undefined && record.byteLength <= RECORD_BYTES_MAX && records++ < RECORDS_MAX) {
        stream.send(encodeFrame(record))
      }
    }
    await stream.close({ signal })
  }

  async #record(peer: Connection['remotePeer']): Promise<Uint8Array | undefined> {
    try {
      return (await this.#components.peerStore.get(peer)).peerRecordEnvelope
    } catch {
      // Not identified yet, or forgotten by the store.
      return undefined
    }
  }
}

/** All frames up to the end of the stream, within the limits of an answer. */
function readFrames(stream: Stream, signal: AbortSignal): Promise<Uint8Array[]> {
  const decoder = new FrameDecoder(RECORD_BYTES_MAX)
  const frames: Uint8Array[] = []
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array[]>()
  const onMessage = ({ data }: StreamMessageEvent): void => {
    try {
      for (const chunk of data instanceof Uint8Array ? [data] : data) {
        decoder.push(chunk)
        for (let frame = decoder.next(); frame !== undefined; frame = decoder.next()) {
          if (frames.push(frame) > RECORDS_MAX) {
            throw new FramingError('ERR_FRAME_UNEXPECTED', `more than ${RECORDS_MAX} peer records`)
          }
        }
      }
    } catch (error) {
      reject(error)
    }
  }
  const onEnd = (): void => resolve(frames)
  const onClose = (event: StreamCloseEvent): void => (event.error === undefined ? resolve(frames) : reject(event.error))
  const onAbort = (): void => reject(signal.reason)
  stream.addEventListener('message', onMessage)
  stream.addEventListener('end', onEnd)
  stream.addEventListener('close', onClose)
  signal.addEventListener('abort', onAbort)
  if (stream.readableEnded || stream.status !== 'open') {
    onEnd()
  }
  return promise.finally(() => {
    stream.removeEventListener('message', onMessage)
    stream.removeEventListener('end', onEnd)
    stream.removeEventListener('close', onClose)
    signal.removeEventListener('abort', onAbort)
  })
}

function timeout(): AbortSignal {
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  setMaxListeners(0, signal)
  return signal
}
