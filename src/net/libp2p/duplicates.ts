import type { Connection } from '@libp2p/interface'
import { closeIfUnused, isUnused, type RollcallComponents } from './components.ts'

/** A connection beside the link's is closed when it was unused at so many ticks in a row. */
const UNUSED_TICKS = 2

/**
 * Closes the connections that two replicas have beside the one with their link, as when both dialled at once or a bare address led to a
 * known peer. The replica that opens the links decides which one stays, so that the two never close each other's choice.
 */
export class Duplicates {
  readonly #components: RollcallComponents
  #unused = new Map<Connection, number>()

  constructor(components: RollcallComponents) {
    this.#components = components
  }

  /** @param links The connections of links that we opened. */
  tick(links: Iterable<Connection>, timeoutMs: number): void {
    const keep = new Map([...links].map(connection => [connection.remotePeer.toString(), connection]))
    const unused = new Map<Connection, number>()
    for (const connection of this.#components.connectionManager.getConnections()) {
      const kept = keep.get(connection.remotePeer.toString())
      if (kept !== undefined && kept !== connection && connection.status === 'open' && isUnused(connection)) {
        const ticks = (this.#unused.get(connection) ?? 0) + 1
        unused.set(connection, ticks)
        if (ticks > UNUSED_TICKS) {
          void closeIfUnused(connection, timeoutMs)
        }
      }
    }
    this.#unused = unused
  }
}
