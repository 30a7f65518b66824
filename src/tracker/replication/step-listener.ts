import type { ReplicaId, ReplicaRef } from '../../crdt/dot.ts'
import type { Entry } from '../../crdt/entry.ts'
import type { MergeResult } from '../../crdt/or-map.ts'
import type { ClusterListener } from '../cluster-port.ts'
import type { Certainty, LeaveReason, TrackerEventDetails, TrackerEventName } from '../types.ts'

/** Passes on what the listener is told, and says `settled` at the end of a step only when something was. */
export class StepListener implements ClusterListener {
  readonly #listener: ClusterListener
  #told = false

  constructor(listener: ClusterListener) {
    this.#listener = listener
  }

  merged(ref: ReplicaRef, result: MergeResult, cause: 'delta' | 'transfer'): void {
    this.#told = true
    this.#listener.merged(ref, result, cause)
  }

  certainty(id: ReplicaId, state: Certainty): void {
    this.#told = true
    this.#listener.certainty(id, state)
  }

  hide(ref: ReplicaRef, reason: 'node-left' | 'node-failed'): void {
    this.#told = true
    this.#listener.hide(ref, reason)
  }

  show(ref: ReplicaRef): void {
    this.#told = true
    this.#listener.show(ref)
  }

  drop(ref: ReplicaRef, reason: LeaveReason): void {
    this.#told = true
    this.#listener.drop(ref, reason)
  }

  reincarnated(self: ReplicaRef, moved: readonly { before: Entry; after: Entry }[]): void {
    this.#told = true
    this.#listener.reincarnated(self, moved)
  }

  emit<N extends TrackerEventName>(name: N, detail: TrackerEventDetails[N]): void {
    this.#told = true
    this.#listener.emit(name, detail)
  }

  settled(): void {
    if (this.#told) {
      this.#told = false
      this.#listener.settled()
    }
  }
}
