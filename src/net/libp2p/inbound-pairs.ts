import type { Connection, Stream } from '@libp2p/interface'
import type { ReplicaId } from '../../crdt/dot.ts'
import { LinkError } from './errors.ts'
import type { LaneName, StreamPair } from './link.ts'

interface Half {
  readonly connection: Connection
  readonly lane: LaneName
  readonly stream: Stream
  ticks: number
}

/**
 * Streams that peers opened and whose twin has not come yet: at most one per peer, of which nothing is read. A newer stream takes the
 * place of an older one that it does not fit.
 */
export class InboundPairs {
  readonly #halves = new Map<ReplicaId, Half>()

  get size(): number {
    return this.#halves.size
  }

  /** The pair that `stream` makes whole, or undefined when its twin is still to come. */
  add(connection: Connection, lane: LaneName, stream: Stream): StreamPair | undefined {
    const peer = connection.remotePeer.toString()
    const other = this.#halves.get(peer)
    if (stream.status !== 'open') {
      return undefined
    }
    this.#halves.delete(peer)
    if (other !== undefined && other.connection === connection && other.lane !== lane && other.stream.status === 'open') {
      return lane === 'state'
        ? { connection, state: stream, heartbeat: other.stream }
        : { connection, state: other.stream, heartbeat: stream }
    }
    other?.stream.abort(new LinkError('ERR_LINK_REPLACED', 'a newer stream came before the twin of this one'))
    this.#halves.set(peer, { connection, lane, stream, ticks: 0 })
    return undefined
  }

  /** Resets those that waited longer than `ticks`. */
  tick(ticks: number): void {
    for (const [peer, half] of this.#halves) {
      if (half.stream.status !== 'open') {
        this.#halves.delete(peer)
      } else if (++half.ticks > ticks) {
        this.#halves.delete(peer)
        half.stream.abort(new LinkError('ERR_LINK_TIMEOUT', `the stream's twin did not come within ${ticks} ticks`))
      }
    }
  }

  clear(): void {
    for (const half of this.#halves.values()) {
      half.stream.abort(new LinkError('ERR_LINK_CLOSED', 'the transport stops'))
    }
    this.#halves.clear()
  }
}
