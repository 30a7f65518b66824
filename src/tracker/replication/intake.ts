import type { DeltaInterval } from '../../crdt/delta-interval.ts'
import type { MergeResult } from '../../crdt/or-map.ts'
import type { Member } from '../membership/member.ts'
import type { Delta } from '../messages.ts'
import type { Core } from './core.ts'
import type { Peer } from './peers.ts'

/** Relayed answers per origin that wait for the owner to announce their head. */
const MAX_WAITING = 4

interface Waiting {
  readonly interval: DeltaInterval
  readonly peer: Peer
}

/** Takes what peers send into the map: who may say what, in which order, and what is to be done when it does not fit. */
export class Intake {
  readonly #core: Core
  /** Relayed intervals that are ahead of what the owner announced on its own stream. */
  readonly #waiting = new WeakMap<Member, Waiting[]>()

  constructor(core: Core) {
    this.#core = core
  }

  received(peer: Peer, { intervals, answer }: Delta): void {
    const { environment } = this.#core
    if (answer) {
      peer.answered(environment.monotonicMs())
    }
    for (const interval of intervals) {
      if (!this.#take(peer, interval, answer)) {
        return
      }
    }
  }

  /** The owner has announced more: what waited for it is taken. */
  announced(member: Member): void {
    const waiting = this.#waiting.get(member)
    if (waiting === undefined) {
      return
    }
    this.#waiting.delete(member)
    for (const { peer, interval } of waiting) {
      this.#take(peer, interval, true)
    }
  }

  /** False when the peer broke a rule and is cut off. */
  #take(peer: Peer, interval: DeltaInterval, answer: boolean): boolean {
    const { counters, map, options, transport } = this.#core
    if (interval.replica.id === map.self.id) {
      this.#aboutUs(interval)
      return true
    }
    const member = this.#origin(peer, interval)
    if (member === undefined || !this.#isAllowed(peer, member, interval, answer)) {
      return true
    }
    const record = map.record(member.ref)
    const head = record?.head ?? 0
    if ((record?.count ?? 0) > options.limits.entriesPerReplica) {
      return this.#tooMany(peer, member)
    }
    let result: MergeResult
    try {
      result = map.merge(interval)
    } catch (error) {
      counters.add('invalid')
      transport.disconnect(peer.id, error instanceof Error ? error.message : String(error))
      return false
    }
    if (result.outcome === 'gap') {
      this.#gap(peer, member, interval, answer)
    } else {
      this.#merged(peer, member, interval, result, answer)
      this.#forward(peer, member, head, answer)
    }
    return true
  }

  /** One replica must not fill this one's memory; its own stream is closed for it, a relay's is not. */
  #tooMany(peer: Peer, member: Member): boolean {
    const { counters, options, transport } = this.#core
    counters.add('invalid')
    if (peer.id !== member.ref.id) {
      return true
    }
    transport.disconnect(peer.id, `limits.entriesPerReplica (${options.limits.entriesPerReplica}) is exceeded`)
    return false
  }

  /** INV-43: an interval about this replica is never merged. That it is ahead of us is a claim. */
  #aboutUs({ replica, asOf }: DeltaInterval): void {
    const { counters, map, own, digests } = this.#core
    counters.add('ownIntervals')
    const isOurs = replica.incarnation === map.self.incarnation
    if (isOurs ? asOf > digests.ownHead() : replica.incarnation > map.self.incarnation) {
      own.claim(replica.incarnation)
    }
  }

  /** Whose record this is: only of members, in their current incarnation. INV-34. */
  #origin(peer: Peer, { replica, asOf }: DeltaInterval): Member | undefined {
    const { membership, counters } = this.#core
    const member = membership.members.get(replica.id)
    const isLeaving = member?.left === true && peer.id !== replica.id && asOf <= (member.byeHead ?? 0)
    if (member === undefined || member.ref.incarnation !== replica.incarnation || (member.left && !isLeaving)) {
      counters.add(membership.isForgotten(replica) || member !== undefined ? 'staleRejected' : 'unknownRejected')
      return undefined
    }
    return member
  }

  #isAllowed(peer: Peer, member: Member, interval: DeltaInterval, answer: boolean): boolean {
    const { sources, counters } = this.#core
    if (peer.id === member.ref.id) {
      member.announced = Math.max(member.announced, interval.asOf)
      this.announced(member)
      return true
    }
    if (interval.to < interval.asOf && !sources.isFrom(member.ref, peer.id)) {
      counters.add('unrequestedSlices')
      return false
    }
    // INV-42: while there is a stream to the owner, relays are believed only up to what it announced.
    if (member.linked && interval.asOf > member.announced) {
      counters.add('unannounced')
      if (answer) {
        this.#wait(peer, member, interval)
      }
      return false
    }
    return true
  }

  #wait(peer: Peer, member: Member, interval: DeltaInterval): void {
    const waiting = this.#waiting.get(member) ?? []
    if (waiting.length < MAX_WAITING) {
      waiting.push({ peer, interval })
      this.#waiting.set(member, waiting)
    }
  }

  #merged(peer: Peer, member: Member, interval: DeltaInterval, result: MergeResult, answer: boolean): void {
    const { counters, listener, sources, lags, outbox, returns } = this.#core
    outbox.knows(peer, interval)
    if (result.outcome === 'old') {
      counters.add('duplicates')
    } else {
      counters.add('merged')
      listener.merged(member.ref, result, answer ? 'transfer' : 'delta')
    }
    sources.progressed(member.ref, result.advanced)
    lags.progressed(member.ref)
    returns.check(member)
  }

  /** Nothing was changed; one pull asks for what is missing. */
  #gap(peer: Peer, member: Member, interval: DeltaInterval, answer: boolean): void {
    const { sources, counters } = this.#core
    counters.add('gaps')
    if (answer && sources.isFrom(member.ref, peer.id)) {
      sources.again(member.ref, peer.roundTripMs)
    } else {
      sources.need(member.ref, interval.asOf, peer.id)
    }
  }

  /** Those who have no stream to the origin hear of its new events through us; a whole state goes to those who ask for it. */
  #forward(from: Peer, member: Member, before: number, answer: boolean): void {
    const { peers, outbox, map } = this.#core
    const record = map.record(member.ref)
    if (record?.complete !== true || record.head === before) {
      return
    }
    for (const peer of peers.greeted()) {
      const isKnown = !answer || peer.point(member.ref) !== undefined
      if (isKnown && peer !== from && peer.id !== member.ref.id && peer.unreached.has(member.ref.id)) {
        outbox.push(peer, member.ref, before)
      }
    }
  }
}
