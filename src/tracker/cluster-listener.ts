import type { ClusterListener } from './cluster-port.ts'
import type { Life } from './life.ts'

export interface ClusterListenerInit {
  readonly life: Pick<Life, 'map' | 'view' | 'log' | 'connections' | 'step'>
  /** Runs a change of state that is a part of a step of the cluster's. */
  readonly take: (change: () => void) => void
  readonly emit: ClusterListener['emit']
}

/** Brings what the cluster tells into the presence view, the log and our own entries. */
export function createClusterListener({ life, take, emit }: ClusterListenerInit): ClusterListener {
  return {
    merged: (ref, result, cause) => take(() => life.view.merged(ref, result, cause)),
    certainty: (id, state) => take(() => life.view.setCertainty(id, state)),
    hide: (ref, reason) => take(() => life.view.setHidden(ref, true, life.map.entries(ref), reason)),
    show: ref => take(() => life.view.setHidden(ref, false, life.map.entries(ref), 'unseen')),
    drop: (ref, reason) =>
      take(() => {
        const origin = life.view.origins.find(ref)
        life.view.drop(ref, life.map.entries(ref), reason)
        if (origin !== undefined) {
          life.log.forget(origin)
        }
      }),
    reincarnated: (self, moved) =>
      take(() => {
        const old = life.view.origins.self
        life.view.reincarnated(self, moved)
        life.connections.own.reincarnated(moved)
        life.log.forget(old)
      }),
    emit,
    settled: () => life.step(() => {})
  }
}
