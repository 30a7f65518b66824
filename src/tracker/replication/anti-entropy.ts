import { type ReplicaRef, sameRef } from '../../crdt/dot.ts'
import { sameHash } from '../../crdt/state-hash.ts'
import type { Member } from '../membership/member.ts'
import type { Digest, DigestEntry } from '../messages.ts'
import type { Core } from './core.ts'
import { inParts } from './fitting.ts'
import type { Peer } from './peers.ts'

/** So much is a gossip round earlier or later than its period says, as a fraction. */
const JITTER = 0.2
/** A comparison that changed nothing is repeated only every so many rounds, while both hashes stay. */
const SAME_ROUNDS = 10
/** The share of a frame that the entries of one digest take at most. */
const ENTRIES_SHARE = 0.5

/**
 * Repairs whatever was missed: once a period the digest hashes are compared with those of one random peer, and only when they differ
 * digests travel, and then what is missing.
 */
export class AntiEntropy {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  start(): void {
    const { timers, options } = this.#core
    timers.repeat(options.gossip.periodMs, JITTER, () => this.round())
  }

  round(): void {
    const { peers, digests, environment, reach } = this.#core
    reach.round(environment.monotonicMs())
    const ours = digests.hash()
    const differing = [...peers.greeted()].filter(peer => peer.digestHash !== null && peer.digestHash !== ours && !peer.blocked)
    const peer = differing[environment.random.below(Math.max(1, differing.length))]
    if (peer !== undefined && this.#isWorthwhile(peer, ours)) {
      this.#send(peer, true)
    }
  }

  received(peer: Peer, digest: Digest): void {
    const { environment, membership, reach } = this.#core
    const unreached = digest.unreached.filter(id => id !== peer.id)
    peer.unreached = new Set(unreached)
    if (digest.entries.length > 0) {
      if (!digest.reply) {
        peer.answered(environment.monotonicMs())
      }
      peer.noteDigest(digest.entries)
      reach.changed()
      for (const entry of digest.entries) {
        this.consider(peer, entry, 'later')
      }
    }
    if (digest.reply && membership.members.has(peer.id)) {
      this.#send(peer, false)
    }
  }

  /**
   * What a peer holds of one origin.
   *
   * @param fetch what is missing: `now`, as nothing can be under way before a hello; `later`, when it has not come by itself; `asked`: it was asked for
   * already, with everything else
   */
  consider(peer: Peer, entry: DigestEntry, fetch: 'now' | 'later' | 'asked'): void {
    const { map, membership, transport, repair, lags, sources, environment, counters } = this.#core
    const nowMs = environment.monotonicMs()
    const { replica, head, hash } = entry
    if (replica.id === map.self.id) {
      this.#aboutUs(peer, entry)
      return
    }
    if (replica.id !== peer.id && transport.admits?.(replica.id) === false) {
      counters.add('notAdmitted')
      return
    }
    const member = membership.hearOf(replica, entry.graceMs, peer.id, nowMs)
    if (member === undefined) {
      this.#disagree(peer, replica)
      return
    }
    if (replica.id === peer.id) {
      repair.announced(member, head, hash, false, nowMs)
      this.#core.returns.announced(member)
    } else if (!member.linked) {
      this.#compareRelays(member, entry)
    }
    // INV-42: how far a replica is, is its own to say while there is a stream to it.
    const credible = member.linked && replica.id !== peer.id ? Math.min(head, member.announced) : head
    if (fetch === 'later') {
      lags.note(replica, credible, peer.roundTripMs)
    } else if (fetch === 'asked' && hash !== null) {
      sources.expect(replica, peer.id, credible)
    } else {
      sources.need(replica, credible, hash === null ? undefined : peer.id)
    }
  }

  /** What is missing of what the peer holds, by the last that it said. */
  fetchFrom(peer: Peer): void {
    for (const entry of [...peer.digest.values()]) {
      if (entry.replica.id !== this.#core.map.self.id) {
        this.consider(peer, entry, 'now')
      }
    }
  }

  #aboutUs(peer: Peer, { replica, head }: DigestEntry): void {
    const { map, own, digests } = this.#core
    if (sameRef(replica, map.self)) {
      peer.opinion = 'accepts'
      if (head > digests.ownHead()) {
        own.claim(replica.incarnation)
      }
    } else if (replica.incarnation > map.self.incarnation) {
      own.claim(replica.incarnation)
    }
  }

  /**
   * What is said of `claimed` changes nothing here; but the replica itself should know of it, and answers by living on above it. One that has a
   * stream to us and another incarnation is told of the higher one. One that was dropped here, and that others hear, is told by way of them.
   */
  #disagree(peer: Peer, claimed: ReplicaRef): void {
    const { membership, transport } = this.#core
    const member = membership.members.get(claimed.id)
    const notice = { type: 'stale', beats: false, tooFarAhead: false } as const
    if (member?.linked && claimed.incarnation > member.ref.incarnation) {
      transport.send(claimed.id, { ...notice, rejected: member.ref, known: claimed.incarnation })
    } else if (member === undefined && claimed.id !== peer.id && membership.graveyard.has(claimed)) {
      // With the highest that is buried: one above the claimed alone might be rejected again.
      transport.send(peer.id, { ...notice, rejected: claimed, known: membership.graveyard.incarnation(claimed.id) })
    }
  }

  /** Nobody here can say who is right; but that they differ is known. */
  #compareRelays(member: Member, { head, hash }: DigestEntry): void {
    const record = this.#core.map.record(member.ref)
    if (record?.complete && record.head === head && hash !== null && !sameHash(record.hash, hash)) {
      this.#core.counters.add('relayConflicts')
    }
  }

  #isWorthwhile(peer: Peer, ours: number): boolean {
    const theirs = peer.digestHash ?? -1
    const { compared } = peer
    const isSame = compared.ours === ours && compared.theirs === theirs
    peer.compared = { ours, theirs, times: isSame ? compared.times + 1 : 0 }
    return peer.compared.times < 3 || peer.compared.times % SAME_ROUNDS === 0
  }

  #send(peer: Peer, reply: boolean): void {
    const { digests, transport, environment, counters } = this.#core
    const parts = inParts(digests.entries(), entry => entry.replica.id, ENTRIES_SHARE * transport.maxFrameBytes)
    for (const [i, entries] of parts.entries()) {
      const isLast = i === parts.length - 1
      if (!transport.send(peer.id, { type: 'digest', entries, unreached: peer.toldUnreached, reply: reply && isLast })) {
        peer.blocked = true
        return
      }
    }
    counters.add('digests')
    if (reply) {
      peer.asked(environment.monotonicMs())
    }
  }
}
