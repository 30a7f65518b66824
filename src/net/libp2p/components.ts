import type {
  ComponentLogger,
  Connection,
  ConnectionProtector,
  Libp2pEvents,
  Metrics,
  PeerId,
  PeerStore,
  TypedEventTarget
} from '@libp2p/interface'
import type { AddressManager, ConnectionManager, Registrar } from '@libp2p/interface-internal'

/** What the service asks of its libp2p node. */
export interface RollcallComponents {
  readonly peerId: PeerId
  readonly registrar: Registrar
  readonly connectionManager: ConnectionManager
  readonly addressManager: AddressManager
  readonly peerStore: PeerStore
  readonly events: TypedEventTarget<Libp2pEvents>
  readonly logger: ComponentLogger
  readonly metrics?: Metrics
  /** With a pre-shared key in place, whoever is connected knows it. */
  readonly connectionProtector?: ConnectionProtector
}

/** Streams that come and go by themselves, and say nothing about whether somebody uses the connection. */
const INCIDENTAL_PROTOCOLS = ['/ipfs/id/1.0.0', '/ipfs/id/push/1.0.0', '/ipfs/ping/1.0.0']

/** Nobody has a stream of any weight on it. */
export function isUnused(connection: Connection): boolean {
  return connection.streams.every(({ protocol }) => protocol === '' || INCIDENTAL_PROTOCOLS.includes(protocol))
}

/** Closes the connection, unless somebody uses it: the node may serve more than presence. Never rejects. */
export async function closeIfUnused(connection: Connection, timeoutMs: number): Promise<void> {
  if (connection.status !== 'open' || !isUnused(connection)) {
    return
  }
  try {
    await connection.close({ signal: AbortSignal.timeout(timeoutMs) })
  } catch (error) {
    connection.abort(error instanceof Error ? error : new Error(String(error)))
  }
}
