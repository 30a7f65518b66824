import { sameRef } from '../../crdt/dot.ts'
import type { Heartbeat, RelayedCounter } from '../messages.ts'
import type { Core } from './core.ts'
import type { Peer } from './peers.ts'

/** So much is a heartbeat earlier or later than its interval says, as a fraction. */
const JITTER = 0.1

/** That we live, where we stand, and who else lives: to every peer, every interval, in a lane of its own. */
export class Heartbeats {
  readonly #core: Core
  #counter = 0

  constructor(core: Core) {
    this.#core = core
  }

  start(): void {
    const { timers, options } = this.#core
    timers.repeat(options.gossip.heartbeatIntervalMs, JITTER, () => this.send())
  }

  send(): void {
    const { map, peers, transport, digests } = this.#core
    this.#counter++
    const common = {
      type: 'heartbeat',
      replica: map.self,
      counter: this.#counter,
      ageMs: 0,
      head: digests.ownHead(),
      hash: digests.ownHash(),
      digestHash: digests.hash()
    } as const
    for (const peer of peers.all()) {
      transport.send(peer.id, { ...common, relayed: this.#relayed(peer) })
    }
  }

  /** From a peer whose hello was accepted under this ref. */
  received(peer: Peer, heartbeat: Heartbeat): void {
    const { membership, repair, lags, digests, reach, returns, environment } = this.#core
    const nowMs = environment.monotonicMs()
    const member = membership.current(heartbeat.replica)
    // One that was overtaken, or doubled, on its way: no sign of life.
    if (member === undefined || !member.beat(heartbeat.counter, nowMs - heartbeat.ageMs)) {
      return
    }
    member.frame(nowMs)
    membership.standing.rise(member, nowMs)
    peer.digestHash = heartbeat.digestHash
    peer.sameDigest = heartbeat.digestHash === digests.hash()
    if (peer.sameDigest) {
      peer.opinion = 'accepts'
      if (peer.agrees(heartbeat.digestHash, () => digests.entries())) {
        reach.changed()
      }
    }
    repair.announced(member, heartbeat.head, heartbeat.hash, true, nowMs)
    lags.note(member.ref, heartbeat.head, peer.roundTripMs)
    returns.announced(member)
    for (const { replica, counter, ageMs } of heartbeat.relayed) {
      const relayed = membership.relayed(replica, counter, ageMs, nowMs)
      if (relayed !== undefined) {
        reach.heard(relayed, peer)
      }
    }
  }

  /** Counters of those that the peer has no stream to. */
  #relayed(peer: Peer): RelayedCounter[] {
    if (peer.unreached.size === 0) {
      return []
    }
    const { membership, environment } = this.#core
    const nowMs = environment.monotonicMs()
    const relayed: RelayedCounter[] = []
    for (const id of peer.unreached) {
      const member = membership.members.get(id)
      if (member !== undefined && member.status !== 'down' && member.counter >= 0 && !(peer.ref && sameRef(peer.ref, member.ref))) {
        relayed.push({ replica: member.ref, counter: member.counter, ageMs: Math.max(0, Math.round(nowMs - member.counterSentMs)) })
      }
    }
    return relayed
  }
}
