import type { PullRequest } from '../../crdt/delta-interval.ts'
import { type ReplicaId, type ReplicaRef, refKey } from '../../crdt/dot.ts'
import { type Hello, PROTOCOL_VERSION } from '../messages.ts'
import type { Core } from './core.ts'
import { fittingIds } from './fitting.ts'
import type { Peer, Peers } from './peers.ts'

/** A hello is not repeated on one stream sooner than this. */
const REPEAT_MS = 500
/** The first stream's answer is waited for so long before others are asked for what they have. */
const NEWCOMER_MS = 2_000
/** The shares of a frame that the digest of a hello, and what it asks for, take at most; the rest is compared later. */
const DIGEST_SHARE = 0.4
const WANT_SHARE = 0.3

/**
 * The first frame on each stream, from both sides.
 *
 * INV-44: a newcomer asks its first stream for everything, and the others for what that one does not have once it knows; later a stream is asked for its own
 * replica and for those that have no source. So everything is there one round trip after the first stream, about once.
 */
export class Greeting {
  readonly #core: Core
  /** The peer that was asked for everything, and when. */
  #asked: { readonly peer: ReplicaId; atMs: number } | undefined

  constructor(core: Core) {
    this.#core = core
  }

  /** Whether a newcomer waits for its first stream's digest before it asks anybody else. */
  get isPending(): boolean {
    return this.#asked !== undefined
  }

  send(peer: Peer): void {
    const { map, options, transport, digests, reach, environment } = this.#core
    const nowMs = environment.monotonicMs()
    if (nowMs - peer.lastHelloMs < REPEAT_MS && peer.helloSent) {
      return
    }
    const unreached = reach.unreachedFor(peer)
    const entries = digests.entries()
    const want = this.#want(peer)
    const digest = entries.slice(
      0,
      fittingIds(
        entries.map(entry => entry.replica.id),
        DIGEST_SHARE * transport.maxFrameBytes
      )
    )
    const graceMs = Math.round(options.graceMs)
    const hello: Hello = {
      type: 'hello',
      protocolVersion: PROTOCOL_VERSION,
      cluster: options.cluster,
      replica: map.self,
      graceMs,
      digest,
      want,
      unreached
    }
    peer.helloSent = transport.send(peer.id, hello)
    if (!peer.helloSent) {
      peer.blocked = true
      return
    }
    peer.lastHelloMs = nowMs
    peer.helloHead = digests.ownHead()
    peer.toldUnreached = unreached
    peer.asked(nowMs)
    this.#asks(peer, want, nowMs)
  }

  /** We live on under another ref: it is told on all streams, whatever was said on them shortly before. */
  sendAll(): void {
    for (const peer of this.#core.peers.all()) {
      peer.lastHelloMs = Number.NEGATIVE_INFINITY
      peer.opinion = 'none'
      this.send(peer)
    }
  }

  /** After the peer's digest was taken in: whether it is the one that was asked for everything. */
  wasAskedForAll(peer: Peer): boolean {
    if (this.#asked?.peer !== peer.id) {
      return false
    }
    this.#asked = undefined
    return true
  }

  /** The stream of the one who was asked is gone, or it does not answer. @returns whether that was so */
  giveUp(isGone: (peer: ReplicaId) => boolean, nowMs: number): boolean {
    if (this.#asked === undefined || (!isGone(this.#asked.peer) && nowMs - this.#asked.atMs < NEWCOMER_MS)) {
      return false
    }
    this.#asked = undefined
    return true
  }

  /**
   * The answer to a newcomer follows our own hello at once. The peer's digest was noted before.
   *
   * @returns what it asks for otherwise
   */
  answer(peer: Peer, hello: Hello): readonly PullRequest[] {
    const { map, outbox } = this.#core
    const known = peer.digest.get(refKey(map.self))
    peer.setPoint(map.self, Math.max(peer.helloHead, known?.hash ? known.head : 0), null)
    outbox.push(peer, map.self, peer.helloHead)
    if (hello.want !== 'all') {
      return hello.want
    }
    for (const replica of this.#offered()) {
      if (replica.id !== peer.id) {
        const entry = peer.digest.get(refKey(replica))
        const head = entry === undefined || entry.hash === null ? 0 : entry.head
        outbox.answer(peer, { replica, shard: map.shard, head, cursor: null })
      }
    }
    return []
  }

  #offered(): ReplicaRef[] {
    const { map, membership } = this.#core
    const others = [...membership.members.values()].filter(member => member.status !== 'down')
    return [map.self, ...others.map(member => member.ref)]
  }

  #want(peer: Peer): 'all' | PullRequest[] {
    const { map, membership, peers, sources, transport } = this.#core
    if (membership.members.size === 0 && (this.#asked === undefined || this.#asked.peer === peer.id)) {
      return 'all'
    }
    const wanted: ReplicaRef[] = []
    for (const { ref, key, left } of membership.members.values()) {
      // What this peer was asked for before it had our hello it did not answer.
      const hasSource = sources.has(ref) ? !sources.isFrom(ref, peer.id) : ref.id !== peer.id && holds(peers, key)
      if (!left && !hasSource) {
        wanted.push(ref)
      }
    }
    const count = fittingIds(
      wanted.map(ref => ref.id),
      WANT_SHARE * transport.maxFrameBytes
    )
    return wanted.slice(0, count).map(ref => map.request(ref))
  }

  /** What was asked for in a hello has its source. */
  #asks(peer: Peer, want: 'all' | PullRequest[], nowMs: number): void {
    if (want === 'all') {
      this.#asked = { peer: peer.id, atMs: nowMs }
      return
    }
    for (const { replica } of want) {
      this.#core.sources.expect(replica, peer.id, this.#core.map.record(replica)?.head ?? 0)
    }
  }
}

const holds = (peers: Peers, key: string): boolean => [...peers.greeted()].some(peer => peer.digest.has(key))
