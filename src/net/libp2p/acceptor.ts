import type { Connection, Stream } from '@libp2p/interface'
import { HEARTBEAT_PROTOCOL_ID, PROTOCOL_ID } from '../codec.ts'
import type { RollcallComponents } from './components.ts'
import { LinkError, NotAdmittedError } from './errors.ts'
import { InboundPairs } from './inbound-pairs.ts'
import type { LaneName, StreamPair } from './link.ts'

export interface AcceptorPort {
  admits(connection: Connection): Promise<boolean>
  /** Links may be opened to us on this connection; else the peer can only ask for one. */
  accepts(connection: Connection): boolean
  paired(pair: StreamPair): void
  /** The peer has no link with us, and it is for us to open it. */
  asked(connection: Connection): void
  refused(connection: Connection): void
}

/** Per connection and protocol. One of each is used; a link that is replaced needs two for a moment. */
const INBOUND_STREAMS_MAX = 4

/**
 * Takes the streams that peers open.
 *
 * INV-71: of a stranger's stream not a byte is read.
 */
export class Acceptor {
  readonly #components: RollcallComponents
  readonly #port: AcceptorPort
  readonly #pairs = new InboundPairs()
  readonly #handled: string[] = []

  constructor(components: RollcallComponents, port: AcceptorPort) {
    this.#components = components
    this.#port = port
  }

  /** Streams that wait for their twin. */
  get waiting(): number {
    return this.#pairs.size
  }

  /** Rejects when another service of the node has these protocols; `stop` undoes what was done. */
  async start(): Promise<void> {
    await this.#handle(PROTOCOL_ID, 'state')
    await this.#handle(HEARTBEAT_PROTOCOL_ID, 'heartbeat')
  }

  async stop(): Promise<void> {
    this.#pairs.clear()
    for (const protocol of this.#handled.splice(0)) {
      await this.#components.registrar.unhandle(protocol)
    }
  }

  tick(pairTicks: number): void {
    this.#pairs.tick(pairTicks)
  }

  async #handle(protocol: string, lane: LaneName): Promise<void> {
    await this.#components.registrar.handle(protocol, (stream, connection) => this.#accept(lane, stream, connection), {
      maxInboundStreams: INBOUND_STREAMS_MAX,
      maxOutboundStreams: INBOUND_STREAMS_MAX
    })
    this.#handled.push(protocol)
  }

  /** A rejection makes libp2p reset the stream. */
  async #accept(lane: LaneName, stream: Stream, connection: Connection): Promise<void> {
    if (!(await this.#port.admits(connection))) {
      this.#port.refused(connection)
      throw new NotAdmittedError(connection.remotePeer.toString())
    }
    if (this.#port.accepts(connection)) {
      const pair = this.#pairs.add(connection, lane, stream)
      if (pair !== undefined) {
        this.#port.paired(pair)
      }
      return
    }
    if (lane === 'heartbeat') {
      throw new LinkError('ERR_LINK_CLOSED', 'the smaller id opens links, the larger asks for one on the state protocol')
    }
    await stream.close({ signal: AbortSignal.timeout(1_000) })
    this.#port.asked(connection)
  }
}
