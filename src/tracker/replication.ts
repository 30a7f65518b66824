import type { PullRequest } from '../crdt/delta-interval.ts'
import { type ReplicaId, type ReplicaRef, sameRef } from '../crdt/dot.ts'
import type { Bye, Delta, Digest, Heartbeat, Hello, Message, Pull, Stale } from './messages.ts'
import { AntiEntropy } from './replication/anti-entropy.ts'
import type { Core } from './replication/core.ts'
import { Greeting } from './replication/greeting.ts'
import { Heartbeats } from './replication/heartbeats.ts'
import { Intake } from './replication/intake.ts'
import type { Peer } from './replication/peers.ts'
import type { LinkLoss, TransportListener } from './transport.ts'

/** A link that was closed without a goodbye, and is not opened again within so long, makes its replica suspect. */
const HINT_MS = 500
/** Two of one id are reported at most once in so long. */
const DUPLICATE_NOTICE_MS = 60_000

/**
 * The gossip state machine: streams and messages come in, each is one step. Decides who is heard; what a message means is in the files
 * of `replication/`.
 */
export class Replication implements TransportListener {
  readonly greeting: Greeting
  readonly heartbeats: Heartbeats
  readonly antiEntropy: AntiEntropy
  readonly #intake: Intake
  readonly #core: Core
  readonly #step: (run: () => void) => void

  constructor(core: Core, step: (run: () => void) => void) {
    this.#core = core
    this.#step = step
    this.greeting = new Greeting(core)
    this.heartbeats = new Heartbeats(core)
    this.antiEntropy = new AntiEntropy(core)
    this.#intake = new Intake(core)
  }

  start(): void {
    this.heartbeats.start()
    this.antiEntropy.start()
  }

  connected(id: ReplicaId): void {
    this.#step(() => {
      const { peers, reach } = this.#core
      if (id !== this.#core.map.self.id) {
        this.#lost(id)
        reach.changed()
        this.greeting.send(peers.add(id))
      }
    })
  }

  disconnected(id: ReplicaId, loss: LinkLoss): void {
    this.#step(() => {
      const { membership } = this.#core
      const member = membership.members.get(id)
      this.#lost(id)
      if (loss === 'refused' && member !== undefined && !member.linked) {
        member.refused = true
        // Relays heard it after its link was gone: it lives, and does not listen for us.
        if (member.relayedBeats < 2) {
          membership.standing.suspect(member)
        }
      }
    })
  }

  received(id: ReplicaId, message: Message): void {
    this.#step(() => {
      const peer = this.#core.peers.get(id)
      if (peer !== undefined) {
        this.#dispatch(peer, message)
      }
    })
  }

  drained(id: ReplicaId): void {
    this.#step(() => {
      const peer = this.#core.peers.get(id)
      if (peer !== undefined) {
        peer.blocked = false
        if (!peer.helloSent) {
          this.greeting.send(peer)
        }
      }
    })
  }

  invalid(_id: ReplicaId, _error: Error): void {
    this.#core.counters.add('invalid')
  }

  tick(nowMs: number): void {
    this.#core.sources.tick(nowMs)
    this.#giveUpNewcomer(nowMs)
  }

  /** The stream, if there is one, is gone: a hint that its replica is too. */
  #lost(id: ReplicaId): void {
    const { peers, membership, sources, reach, environment } = this.#core
    if (peers.get(id) === undefined) {
      return
    }
    const nowMs = environment.monotonicMs()
    const member = membership.members.get(id)
    peers.delete(id)
    sources.lost(id)
    reach.changed()
    if (member?.linked) {
      member.unlink(nowMs)
      member.hintAtMs = nowMs + HINT_MS
    }
    this.#giveUpNewcomer(nowMs)
  }

  #dispatch(peer: Peer, message: Message): void {
    switch (message.type) {
      case 'hello':
        this.#hello(peer, message)
        break
      case 'heartbeat':
        this.#heartbeat(peer, message)
        break
      case 'bye':
        this.#bye(peer, message)
        break
      case 'stale':
        this.#stale(peer, message)
        break
      default:
        if (this.#alive(peer)) {
          this.#exchange(peer, message)
        } else {
          this.#core.counters.add('unknownRejected')
        }
    }
  }

  #stale(peer: Peer, stale: Stale): void {
    if (stale.rejected.id !== this.#core.map.self.id) {
      this.#passOn(peer, stale)
      return
    }
    if (sameRef(stale.rejected, this.#core.map.self) && stale.known >= stale.rejected.incarnation) {
      peer.opinion = 'rejects'
    }
    if (this.#core.own.stale(stale)) {
      this.greeting.send(peer)
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

  #exchange(peer: Peer, message: Delta | Digest | Pull): void {
    if (message.type === 'delta') {
      this.#intake.received(peer, message)
    } else if (message.type === 'digest') {
      this.antiEntropy.received(peer, message)
    } else {
      this.#pull(peer, message.requests)
    }
  }

  /** INV-30: any frame is a sign of life of its sender, and of nobody else. False when its hello was not accepted. */
  #alive(peer: Peer): boolean {
    const { membership, environment } = this.#core
    const member = peer.ref === null ? undefined : membership.current(peer.ref)
    if (member === undefined) {
      return false
    }
    member.frame(environment.monotonicMs())
    membership.standing.rise(member, environment.monotonicMs())
    return true
  }

  #hello(peer: Peer, hello: Hello): void {
    const { options, membership, environment, reach } = this.#core
    if (hello.replica.id !== peer.id || hello.cluster !== options.cluster) {
      this.#violation(peer, hello.replica.id === peer.id ? `cluster ${hello.cluster}` : `hello of ${hello.replica.id}`)
      return
    }
    const result = membership.greet(hello.replica, hello.graceMs, environment.monotonicMs())
    if (result === 'full') {
      this.#core.transport.disconnect(peer.id, `limits.replicas (${options.limits.replicas}) is reached`)
      return
    }
    if (!('ref' in result)) {
      this.#reject(peer, hello.replica)
      return
    }
    peer.restart(hello.replica, hello.digest)
    peer.unreached = new Set(hello.unreached)
    peer.answered(environment.monotonicMs())
    reach.changed()
    this.#pull(peer, this.greeting.answer(peer, hello))
    this.#takeDigest(peer)
    this.#intake.announced(result)
  }

  #takeDigest(peer: Peer): void {
    const wasAsked = this.greeting.wasAskedForAll(peer)
    if (this.greeting.isPending) {
      return
    }
    for (const entry of [...peer.digest.values()]) {
      this.antiEntropy.consider(peer, entry, wasAsked ? 'asked' : 'now')
    }
    this.#core.sources.told(peer.id)
    if (wasAsked) {
      this.#fetchFromAll()
    }
  }

  #giveUpNewcomer(nowMs: number): void {
    const { peers } = this.#core
    if (this.greeting.giveUp(id => peers.get(id) === undefined, nowMs)) {
      this.#fetchFromAll()
    }
  }

  #fetchFromAll(): void {
    for (const peer of this.#core.peers.greeted()) {
      this.antiEntropy.fetchFrom(peer)
    }
  }

  #heartbeat(peer: Peer, heartbeat: Heartbeat): void {
    const { membership } = this.#core
    if (heartbeat.replica.id !== peer.id) {
      this.#violation(peer, `heartbeat of ${heartbeat.replica.id}`)
    } else if (peer.ref !== null && sameRef(peer.ref, heartbeat.replica)) {
      this.heartbeats.received(peer, heartbeat)
      const member = membership.current(heartbeat.replica)
      if (member !== undefined) {
        this.#intake.announced(member)
      }
    } else {
      this.#reject(peer, heartbeat.replica)
    }
  }

  /** INV-32: whoever is not taken is told why; one of whom nothing is known, that its hello is missing. */
  #reject(peer: Peer, rejected: ReplicaRef): void {
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
  #bye(peer: Peer, { replica, head, announce }: Bye): void {
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

  #pull(peer: Peer, requests: readonly PullRequest[]): void {
    const { map, outbox, own, digests } = this.#core
    for (const request of requests) {
      const { replica, head, cursor } = request
      const isOurs = replica.id === map.self.id
      const isClaim = sameRef(replica, map.self)
        ? Math.max(head, cursor?.asOf ?? 0) > digests.ownHead()
        : replica.incarnation > map.self.incarnation
      if (isOurs && isClaim) {
        own.claim(replica.incarnation)
      } else {
        outbox.answer(peer, request)
      }
    }
  }

  #violation(peer: Peer, reason: string): void {
    this.#core.counters.add('invalid')
    this.#core.transport.disconnect(peer.id, reason)
  }
}
