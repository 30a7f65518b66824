import type { ComponentLogger, Metrics } from '@libp2p/interface'
import type { Tracker } from '../tracker/types.ts'

/** A running replica with its network, as the command line needs it. */
export interface ReplicaHandle {
  readonly tracker: Tracker
  readonly cluster: string
  /** Multiaddrs at which other replicas reach it. */
  readonly addresses: readonly string[]
  /** Of its libp2p node, where it has some. */
  readonly metrics?: Metrics | undefined
  readonly logger?: ComponentLogger | undefined
  /** `announce`: its presences leave at once everywhere. Otherwise peers hold them for the grace. */
  stop(options?: { readonly announce?: boolean }): Promise<void>
}
