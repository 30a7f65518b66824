import type { PullRequest } from '../crdt/delta-interval.ts'
import { type ReplicaId, type ReplicaRef, sameRef } from '../crdt/dot.ts'
import type { Delta, Digest, Heartbeat, Hello, Message, Pull } from './messages.ts'
import { AntiEntropy } from './replication/anti-entropy.ts'
import type { Core } from './replication/core.ts'
import { Greeting } from './replication/greeting.ts'
import { Heartbeats } from './replication/heartbeats.ts'
import { Intake } from './replication/intake.ts'
import type { Peer } from './replication/peers.ts'
import { Reception } from './replication/reception.ts'
import type { LinkLoss, TransportListener } from './transport.ts'

/** A link that was closed without a goodbye, and is not opened again within so long, makes its replica suspect. */
const HINT_MS = 500

/**
 * The gossip state machine: streams and messages come in, each is one step. Decides who is heard; what a message means is in the files
 * of `replication/`.
 */
export class Replication implements TransportListener {
  readonly greeting: Greeting
  readonly heartbeats: Heartbeats
  readonly antiEntropy: AntiEntropy
  readonly #intake: Intake
  readonly #reception: Reception
  readonly #core: Core
  readonly #step: (run: () => void) => void

  constructor(core: Core, step: (run: () => void) => void) {
    this.#core = core
    this.#step = step
    this.greeting = new Greeting(core)
    this.heartbeats = new Heartbeats(core)
    this.antiEntropy = new AntiEntropy(core)
    this.#intake = new Intake(core)
    this.#reception = new Reception(core, this.greeting, this.antiEntropy)
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
    this.#reception.giveUpNewcomer(nowMs)
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
    this.#reception.giveUpNewcomer(nowMs)
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
        this.#reception.bye(peer, message)
        break
      case 'stale':
        this.#reception.stale(peer, message)
        break
      default:
        if (this.#alive(peer)) {
          this.#exchange(peer, message)
        } else {
          this.#core.counters.add('unknownRejected')
        }
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
    const requests = this.#reception.hello(peer, hello)
    if (requests !== undefined) {
      this.#pull(peer, requests)
      this.#reception.takeDigest(peer)
      this.#announced(hello.replica)
    }
  }

  #announced(ref: ReplicaRef): void {
    const member = this.#core.membership.current(ref)
    if (member !== undefined) {
      this.#intake.announced(member)
    }
  }

  #heartbeat(peer: Peer, heartbeat: Heartbeat): void {
    if (heartbeat.replica.id !== peer.id) {
      this.#reception.violation(peer, `heartbeat of ${heartbeat.replica.id}`)
    } else if (peer.ref !== null && sameRef(peer.ref, heartbeat.replica)) {
      this.heartbeats.received(peer, heartbeat)
      this.#announced(heartbeat.replica)
    } else {
      this.#reception.reject(peer, heartbeat.replica)
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
}
