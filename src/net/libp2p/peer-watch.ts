import type { Connection, IdentifyResult, Libp2pEvents, Logger, PeerId, PeerInfo, PeerUpdate } from '@libp2p/interface'
import type { Multiaddr } from '@multiformats/multiaddr'
import type { ReplicaId } from '../../crdt/dot.ts'
import { PROTOCOL_ID } from '../codec.ts'
import { isLoopback, usableAddresses } from './addresses.ts'
import type { Admission } from './admission.ts'
import type { RollcallComponents } from './components.ts'

export interface PeerWatchOptions {
  readonly admission: Admission
  readonly log: Logger
  /** Peers that were found, and are not connected, count as well. */
  readonly discovery: boolean
  connected(connection: Connection): void
  /** An admitted peer is said to be at `addresses`. */
  learn(peer: ReplicaId, addresses: readonly string[]): void
}

/** Listens to what the node tells of others: connections, and addresses that identify, mDNS or any other discovery has found. */
export class PeerWatch {
  readonly #components: RollcallComponents
  readonly #options: PeerWatchOptions
  readonly #listeners: { readonly [K in keyof Libp2pEvents]?: (event: Libp2pEvents[K]) => void }
  #watching = false

  constructor(components: RollcallComponents, options: PeerWatchOptions) {
    this.#components = components
    this.#options = options
    this.#listeners = {
      'connection:open': this.#guarded((connection: Connection) => options.connected(connection)),
      'peer:identify': this.#guarded(({ peerId, protocols, signedPeerRecord, listenAddrs }: IdentifyResult) =>
        this.#heardOf(peerId, protocols.includes(PROTOCOL_ID) ? (signedPeerRecord?.addresses ?? listenAddrs) : [])
      ),
      ...(options.discovery && {
        'peer:discovery': this.#guarded(({ id, multiaddrs }: PeerInfo) => this.#heardOf(id, multiaddrs)),
        'peer:update': this.#guarded(({ peer, previous }: PeerUpdate) => {
          const mayBeReplica = peer.protocols.length === 0 || peer.protocols.includes(PROTOCOL_ID)
          this.#heardOf(peer.id, previous !== undefined && mayBeReplica ? peer.addresses.map(one => one.multiaddr) : [])
        })
      })
    }
  }

  start(): void {
    this.#watching = true
    for (const [name, listener] of Object.entries(this.#listeners)) {
      this.#components.events.addEventListener(name as keyof Libp2pEvents, listener as (event: CustomEvent) => void)
    }
  }

  stop(): void {
    this.#watching = false
    for (const [name, listener] of Object.entries(this.#listeners)) {
      this.#components.events.removeEventListener(name as keyof Libp2pEvents, listener as (event: CustomEvent) => void)
    }
  }

  /** Learns the members that the node's peer store kept from an earlier life. Never rejects. */
  async recall(): Promise<void> {
    try {
      for (const { id, addresses, protocols } of await this.#components.peerStore.all()) {
        this.#heardOf(id, protocols.includes(PROTOCOL_ID) ? addresses.map(one => one.multiaddr) : [])
      }
    } catch (error) {
      this.#options.log.error('could not read the peer store - %e', error)
    }
  }

  #heardOf(peer: PeerId, addresses: readonly Multiaddr[]): void {
    const { admission } = this.#options
    const id = peer.toString()
    const usable = usableAddresses(id, admission.closed ? addresses : addresses.filter(isLoopback))
    if (usable.length > 0 && !peer.equals(this.#components.peerId)) {
      void admission.ask(id).then(admitted => {
        if (admitted && this.#watching) {
          this.#options.learn(id, usable)
        }
      })
    }
  }

  /** A listener that throws would end the process. */
  #guarded<T>(listen: (detail: T) => void): (event: { detail: T }) => void {
    return ({ detail }) => {
      try {
        listen(detail)
      } catch (error) {
        this.#options.log.error('while listening to the node - %e', error)
      }
    }
  }
}
