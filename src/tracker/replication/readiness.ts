import type { ReplicaId, ReplicaRef } from '../../crdt/dot.ts'
import type { Core } from './core.ts'

/** Streams that are open so long after start count. */
const FIRST_STREAMS_MS = 1_000

/**
 * When this replica is ready: every origin named in the digests of the streams that were open one second after start is complete. Those
 * who start together do not wait for each other: an origin without events is complete.
 */
export class Readiness {
  readonly ready: Promise<void>
  readonly #core: Core
  readonly #resolve: () => void
  #state: 'gathering' | 'waiting' | 'done' = 'gathering'
  #partial = false
  /** Streams whose hello has not come yet. */
  readonly #silent = new Set<ReplicaId>()
  readonly #wanted: { readonly ref: ReplicaRef; readonly head: number }[] = []

  constructor(core: Core) {
    this.#core = core
    const { promise, resolve } = Promise.withResolvers<void>()
    this.ready = promise
    this.#resolve = resolve
  }

  /** Ready without every origin. */
  get partial(): boolean {
    return this.#partial
  }

  start(): void {
    const { timers, options, peers } = this.#core
    const { readyTimeoutMs } = options
    timers.schedule(Math.min(FIRST_STREAMS_MS, readyTimeoutMs), () => {
      this.#state = 'waiting'
      for (const peer of peers.all()) {
        this.#silent.add(peer.id)
      }
      this.check()
    })
    timers.schedule(readyTimeoutMs, () => this.#finish(true))
  }

  /** At the end of each step. */
  check(): void {
    if (this.#state !== 'waiting') {
      return
    }
    const { peers, map, membership, sources } = this.#core
    for (const id of this.#silent) {
      const peer = peers.get(id)
      if (peer === undefined || peer.ref !== null) {
        this.#silent.delete(id)
        for (const { replica, head } of peer?.digest.values() ?? []) {
          if (replica.id !== map.self.id) {
            this.#wanted.push({ ref: replica, head })
          }
        }
      }
    }
    const isMissing = ({ ref, head }: { ref: ReplicaRef; head: number }): boolean =>
      membership.current(ref) !== undefined && sources.lacks(ref, head)
    if (this.#silent.size === 0 && !this.#wanted.some(isMissing)) {
      this.#finish(false)
    }
  }

  /** Nobody waits for a replica that stops. */
  stop(): void {
    this.#finish(true)
  }

  #finish(partial: boolean): void {
    if (this.#state !== 'done') {
      this.#partial = partial
      this.#state = 'done'
      this.#wanted.length = 0
      this.#resolve()
    }
  }
}
