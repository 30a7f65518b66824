import type { ReplicaRef } from '../crdt/dot.ts'
import type { OrMap } from '../crdt/or-map.ts'
import { EMPTY_HASH, hashText } from '../crdt/state-hash.ts'
import type { ClusterPort } from './cluster-port.ts'

/** The cluster of a tracker without a transport: itself. */
export function createLoneCluster(map: OrMap): ClusterPort {
  const self: ReplicaRef = map.self
  return {
    self,
    ready: Promise.resolve(),
    partial: false,
    isolated: false,
    start: () => Promise.resolve(),
    changed: () => {},
    tick: () => {},
    paused: () => {},
    bye: () => {},
    stop: () => Promise.resolve(),
    replicas: () => [
      {
        id: self.id,
        incarnation: self.incarnation,
        status: 'up',
        phi: 0,
        head: map.record(self)?.head ?? 0,
        lagMs: 0,
        complete: true,
        silentMs: 0,
        hash: hashText(map.record(self)?.hash ?? EMPTY_HASH),
        agrees: null
      }
    ],
    forget: () => false,
    isHidden: () => false,
    isForgotten: () => false,
    stats: () => ({})
  }
}
