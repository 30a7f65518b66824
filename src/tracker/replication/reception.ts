import type { PullRequest } from '../../crdt/delta-interval.ts'
import { type ReplicaRef, sameRef } from '../../crdt/dot.ts'
import type { Bye, Hello, Stale } from '../messages.ts'
import type { AntiEntropy } from './anti-entropy.ts'
import type { Core } from './core.ts'
import type { Greeting } from './greeting.ts'
import type { Peer } from './peers.ts'

/** Two of one id are reported at most once in so long. */
const DUPLICATE_NOTICE_MS = 60_000

/** Who is heard on a stream: hello, goodbye, and why not. */
export class Reception {
  readonly #core: Core
  readonly #greeting: Greeting
  readonly #antiEntropy: AntiEntropy

  constructor(core: Core, greeting: Greeting, antiEntropy: AntiEntropy) {
    this.#core = core
    this.#greeting = greeting
    this.#antiEntropy = antiEntropy
  }

  /** @returns what is asked for in it; undefined when it is not accepted */
  hello(peer: Peer, hello: Hello): readonly PullRequest[] | undefined {
    const { options, membership, environment, reach } = this.#core
    if (hello.replica.id !== peer.id || hello.cluster !== options.cluster) {
      this.violation(peer, hello.replica.id === peer.id ? `cluster ${hello.cluster}` : `hello of ${hello.replica.id}`)
      return undefined
    }
    const result = membership.greet(hello.replica, hello.graceMs, environment.monotonicMs())
    if (result === 'full') {
      this.#core.transport.disconnect(peer.id, `limits.replicas (${options.limits.replicas}) is reached`)
      return undefined
    }
    if (!('ref' in result)) {
      this.reject(peer, hello.replica)
      return undefined
    }
    peer.restart(hello.replica, hello.digest)
    peer.unreached = new Set(hello.unreached)
    peer.answered(environment.monotonicMs())
    reach.changed()
    return this.#greeting.answer(peer, hello)
  }

  /** What the accepted hello told: what is missing of it is fetched. */
  takeDigest(peer: Peer): void {
    const wasAsked = this.#greeting.wasAskedForAll(peer)
    if (this.#greeting.isPending) {
      return
    }
    for (const entry of [...peer.digest.values()]) {
      this.#antiEntropy.consider(peer, entry, wasAsked ? 'asked' : 'now')
    }
    this.#core.sources.told(peer.id)
    if (wasAsked) {
      this.#fetchFromAll()
    }
  }

  /** The stream that was asked for everything is gone, or silent: the others are asked. */
  giveUpNewcomer(nowMs: number): void {
    const { peers } = this.#core
    if (this.#greeting.giveUp(id => peers.get(id) === undefined, nowMs)) {
      this.#fetchFromAll()
    }
  }

  #fetchFromAll(): void {
    for (const peer of this.#core.peers.greeted()) {
      this.#antiEntropy.fetchFrom(peer)
    }
  }

  stale(peer: Peer, stale: Stale): void {
    if (stale.rejected.id !== this.#core.map.self.id) {
      this.#passOn(peer, stale)
      return
    }
    if (sameRef(stale.rejected, this.#core.map.self) && stale.known >= stale.rejected.incarnation) {
      peer.opinion = 'rejects'
    }
    if (this.#core.own.stale(stale)) {
      this.#greeting.send(peer)
    }
  }

  /** A notice for one who does not hear its sender: towards it, by the way on which it is heard, which has no circles. */
  #passOn(peer: Peer, stale: Stale): void {
    const { membership, reach, transport } = this.#core
    const member = membership.current(stale.rejected)
    const next = member?.linked ? member.ref.id : reach.relayOf(stale.rejected.id)
    if (member !== undefined && member.status !== 'down' && next !== undefined && next !== peer.id && !stale.tooFarAhead) {
      transport.send(next, { ...stale, beats: false })
    }
  }

  /** INV-32: whoever is not taken is told why; one of whom nothing is known, that its hello is missing. */
  reject(peer: Peer, rejected: ReplicaRef): void {
    const { membership, environment, transport, counters, listener } = this.#core
    const nowMs = environment.monotonicMs()
    const rejection = membership.reject(rejected, nowMs) ?? { known: 0, beats: false, tooFarAhead: false }
    counters.add('staleRejected')
    transport.send(peer.id, { type: 'stale', rejected, ...rejection })
    const member = membership.members.get(peer.id)
    if (rejection.beats && member !== undefined && nowMs - member.duplicateNoticeMs >= DUPLICATE_NOTICE_MS) {
      member.duplicateNoticeMs = nowMs
      counters.add('duplicateReplicas')
      listener.emit('replica:duplicate', { ...member.ref })
    }
  }

  /** Counts only on its owner's stream, and for the incarnation that said hello there. */
  bye(peer: Peer, { replica, head, announce }: Bye): void {
    const { membership, sources, environment, reach } = this.#core
    const member = peer.ref !== null && sameRef(peer.ref, replica) ? membership.current(replica) : undefined
    if (member === undefined) {
      return
    }
    const nowMs = environment.monotonicMs()
    membership.standing.leave(member, head, nowMs)
    peer.ref = null
    reach.changed()
    if (announce) {
      membership.remove(member, 'left', nowMs)
    } else {
      sources.lost(peer.id)
      sources.need(replica, head)
    }
  }

  /** What no honest peer does: counted, and the end of the link. */
  violation(peer: Peer, reason: string): void {
    this.#core.counters.add('invalid')
    this.#core.transport.disconnect(peer.id, reason)
  }
}
