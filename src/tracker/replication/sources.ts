import type { PullRequest } from '../../crdt/delta-interval.ts'
import { type ReplicaId, type ReplicaRef, refKey } from '../../crdt/dot.ts'
import type { OrMap } from '../../crdt/or-map.ts'
import type { Environment } from '../environment.ts'
import type { DigestEntry } from '../messages.ts'
import type { Transport } from '../transport.ts'
import type { Counters } from './counters.ts'
import { inParts } from './fitting.ts'
import type { Peer, Peers } from './peers.ts'

/** A source that has given nothing for so long is replaced, from the cursor. */
const STALL_MS = 2_000
/** The share of a frame that one pull takes at most. */
const PULL_SHARE = 0.5

/** Where the missing events of one origin come from. */
interface Source {
  readonly ref: ReplicaRef
  peer: ReplicaId
  /** Done when the record is complete up to here. */
  target: number
  progressMs: number
  askedMs: number
  /** Peers that failed, since the last progress. */
  readonly failed: Set<ReplicaId>
}

export interface SourcesInit {
  readonly map: OrMap
  readonly peers: Peers
  readonly transport: Transport
  readonly environment: Environment
  readonly counters: Counters
}

/**
 * What is being fetched. INV-41: per origin one source and one cursor; the owner itself where there is a stream to it, else a relay that
 * says it is complete, one whose log reaches us first. A source that is gone or gives nothing for two seconds is replaced.
 */
export class Sources {
  readonly #init: SourcesInit
  readonly #sources = new Map<string, Source>()
  /** To be asked at the end of the step: one pull per peer. */
  readonly #asks = new Map<ReplicaId, Map<string, PullRequest>>()

  constructor(init: SourcesInit) {
    this.#init = init
  }

  get size(): number {
    return this.#sources.size
  }

  has(ref: ReplicaRef): boolean {
    return this.#sources.has(refKey(ref))
  }

  /** Whether what `peer` sends of `ref` was asked for. */
  isFrom(ref: ReplicaRef, peer: ReplicaId): boolean {
    return this.#sources.get(refKey(ref))?.peer === peer
  }

  /** Whether the record is not complete up to `head`. */
  lacks(ref: ReplicaRef, head: number): boolean {
    const record = this.#init.map.record(ref)
    return record === undefined ? head > 0 : !record.complete || record.head < head
  }

  /** `head` is known to exist: it is fetched, from `prefer` if that can be, unless it is being fetched already. */
  need(ref: ReplicaRef, head: number, prefer?: ReplicaId): void {
    if (!this.lacks(ref, head)) {
      return
    }
    const source = this.#sources.get(refKey(ref))
    if (source !== undefined) {
      source.target = Math.max(source.target, head)
      return
    }
    const peer = this.#choose(ref, new Set(), prefer)
    if (peer !== undefined) {
      this.#start(ref, peer.id, head)
      this.#ask(ref, peer)
    }
  }

  /** It was asked for already, in a hello, whatever there is: how far that is the peer's own hello will tell. */
  expect(ref: ReplicaRef, peer: ReplicaId, head: number): void {
    if (!this.#sources.has(refKey(ref))) {
      this.#start(ref, peer, head)
    }
    this.#asks.get(peer)?.delete(refKey(ref))
  }

  /** The hello has come: what there is nothing more of is done. */
  told(peer: ReplicaId): void {
    for (const source of [...this.#sources.values()]) {
      if (source.peer === peer) {
        this.progressed(source.ref, false)
      }
    }
  }

  /** The record is to be loaded again: whatever is under way does not count. */
  reload(ref: ReplicaRef, head: number): void {
    this.#sources.delete(refKey(ref))
    const peer = this.#choose(ref, new Set())
    if (peer !== undefined) {
      this.#start(ref, peer.id, head)
      this.#ask(ref, peer)
    }
  }

  /** The answer did not fit where we stand: it is asked for again, from there, unless what comes now was sent before we last asked. */
  again(ref: ReplicaRef, roundTripMs: number): void {
    const source = this.#sources.get(refKey(ref))
    const peer = source && this.#init.peers.get(source.peer)
    const nowMs = this.#init.environment.monotonicMs()
    if (source !== undefined && peer?.ref && nowMs - source.askedMs > 2 * roundTripMs) {
      source.askedMs = nowMs
      this.#ask(ref, peer)
    }
  }

  /** Something of `ref` has come. @param advanced whether it was news: who repeats what is known does not go on */
  progressed(ref: ReplicaRef, advanced: boolean): void {
    const source = this.#sources.get(refKey(ref))
    if (source === undefined) {
      return
    }
    if (!this.lacks(ref, source.target)) {
      this.#sources.delete(refKey(ref))
    } else if (advanced) {
      source.progressMs = this.#init.environment.monotonicMs()
      source.failed.clear()
    }
  }

  forget(ref: ReplicaRef): void {
    this.#sources.delete(refKey(ref))
    for (const requests of this.#asks.values()) {
      requests.delete(refKey(ref))
    }
  }

  /** The stream to `peer` is gone: what came from it comes from another. */
  lost(peer: ReplicaId): void {
    this.#asks.delete(peer)
    for (const source of [...this.#sources.values()]) {
      if (source.peer === peer) {
        this.#replace(source)
      }
    }
  }

  tick(nowMs: number): void {
    for (const source of [...this.#sources.values()]) {
      if (nowMs - source.progressMs >= STALL_MS) {
        this.#init.counters.add('stalls', this.lacks(source.ref, source.target) ? 1 : 0)
        this.#replace(source)
      }
    }
  }

  paused(byMs: number): void {
    for (const source of this.#sources.values()) {
      source.progressMs += byMs
    }
  }

  /** Sends what is to be asked. What a peer does not take now is asked when it has drained, or of another when it has stalled. */
  sendAsks(): void {
    for (const [id, requests] of this.#asks) {
      const peer = this.#init.peers.get(id)
      if (!peer?.ref || requests.size === 0) {
        this.#asks.delete(id)
      } else if (!peer.blocked) {
        this.#pull(peer, requests)
      }
    }
  }

  #pull(peer: Peer, asked: Map<string, PullRequest>): void {
    const { transport, environment, counters } = this.#init
    for (const requests of inParts([...asked.values()], request => request.replica.id, PULL_SHARE * transport.maxFrameBytes)) {
      if (!transport.send(peer.id, { type: 'pull', requests })) {
        peer.blocked = true
        return
      }
      counters.add('pulls')
      counters.add('requests', requests.length)
      peer.asked(environment.monotonicMs())
      for (const { replica } of requests) {
        asked.delete(refKey(replica))
      }
    }
  }

  #start(ref: ReplicaRef, peer: ReplicaId, target: number): void {
    const nowMs = this.#init.environment.monotonicMs()
    this.#sources.set(refKey(ref), { ref, peer, target, progressMs: nowMs, askedMs: nowMs, failed: new Set() })
  }

  #ask(ref: ReplicaRef, peer: Peer): void {
    let requests = this.#asks.get(peer.id)
    if (requests === undefined) {
      requests = new Map()
      this.#asks.set(peer.id, requests)
    }
    requests.set(refKey(ref), this.#init.map.request(ref))
  }

  #replace(source: Source): void {
    const { ref, target, failed } = source
    if (!this.lacks(ref, target)) {
      this.#sources.delete(refKey(ref))
      return
    }
    failed.add(source.peer)
    const peer = this.#choose(ref, failed)
    if (peer === undefined) {
      // Whoever next says that it has more is asked afresh.
      this.#sources.delete(refKey(ref))
      return
    }
    source.peer = peer.id
    source.progressMs = this.#init.environment.monotonicMs()
    source.askedMs = source.progressMs
    this.#ask(ref, peer)
  }

  #choose(ref: ReplicaRef, failed: ReadonlySet<ReplicaId>, prefer?: ReplicaId): Peer | undefined {
    const { peers, map, environment } = this.#init
    const owner = peers.get(ref.id)
    if (owner?.ref && owner.ref.incarnation === ref.incarnation && !failed.has(owner.id)) {
      return owner
    }
    const head = map.record(ref)?.head ?? 0
    const able = [...peers.greeted()].filter(peer => peer.id !== ref.id && !failed.has(peer.id))
    const preferred = able.find(peer => peer.id === prefer)
    const holding = able.filter(peer => peer.digest.has(refKey(ref)))
    const entry = (peer: Peer): DigestEntry | undefined => peer.digest.get(refKey(ref))
    const useful = holding.filter(peer => entry(peer)?.hash !== null && (entry(peer)?.head ?? 0) > head)
    const reaching = useful.filter(peer => (entry(peer)?.floor ?? 0) <= head)
    // A digest may be old: who held it then may have more by now.
    const best = [reaching, useful, holding].find(group => group.length > 0)
    return preferred ?? best?.[environment.random.below(best.length)]
  }
}
