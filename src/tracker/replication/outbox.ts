import type { DeltaInterval, PullRequest } from '../../crdt/delta-interval.ts'
import { type ReplicaRef, refKey } from '../../crdt/dot.ts'
import { entryBytes, INTERVAL_BYTES, MARK_BYTES } from '../../crdt/encoded-size.ts'
import type { OrMap } from '../../crdt/or-map.ts'
import type { Delta } from '../messages.ts'
import type { Transport } from '../transport.ts'
import type { Counters } from './counters.ts'
import type { Peer, Peers, Point } from './peers.ts'
import type { Timers } from './timers.ts'

/** What a frame takes besides its intervals, generously, in bytes. */
const FRAME_BYTES = 1_024
/** A frame with less room than this is full. */
const LEAST_ROOM_BYTES = 4_096
/** More intervals are not put into one frame. */
const MAX_INTERVALS = 256

export interface OutboxInit {
  readonly map: OrMap
  readonly peers: Peers
  readonly transport: Transport
  readonly timers: Timers
  readonly counters: Counters
  /** Whether our record of `ref` may be served at all. */
  readonly mayServe: (ref: ReplicaRef) => boolean
}

/**
 * Sends state, frame by frame. INV-39: nothing is queued: per peer and origin one point says what was sent last, and what
 * comes next is cut from the map when the peer can take it. One frame per peer and turn of the event loop: a long transfer holds
 * up neither heartbeats nor the other peers.
 */
export class Outbox {
  readonly #init: OutboxInit
  readonly #frameBytes: number
  #scheduled = false
  /** The last push, shared by all peers that stand at the same point. */
  #shared: { readonly key: string; readonly head: number; readonly message: Delta } | undefined

  constructor(init: OutboxInit) {
    this.#init = init
    this.#frameBytes = init.transport.maxFrameBytes - FRAME_BYTES
  }

  /** The peer asks for what comes after where it stands. */
  answer(peer: Peer, { replica, head, cursor }: PullRequest): void {
    // No point is kept of what is not there: whoever asks for invented refs costs nothing.
    if (!this.#init.mayServe(replica) || this.#init.map.record(replica) === undefined) {
      return
    }
    const point = peer.setPoint(replica, head, cursor)
    point.answer = true
    peer.due.add(point)
  }

  /** The record of `ref` has events after `from` that the peer may not know. */
  push(peer: Peer, ref: ReplicaRef, from: number): void {
    const point = peer.point(ref) ?? peer.setPoint(ref, this.#headInDigest(peer, ref) ?? from, null)
    peer.due.add(point)
  }

  /** What the peer has just sent of a third replica it knows: it is not sent back. */
  knows(peer: Peer, { replica, to, asOf }: DeltaInterval): void {
    if (to === asOf && replica.id !== peer.id && to > (peer.point(replica)?.head ?? 0)) {
      peer.setPoint(replica, to, null)
    }
  }

  /** One frame to each peer that can take one; the rest in the turns that follow. At the end of a step. */
  pump(): void {
    let more = false
    for (const peer of this.#init.peers.greeted()) {
      if (!peer.blocked && peer.due.size > 0) {
        this.#send(peer)
        more ||= peer.due.size > 0 && !peer.blocked
      }
    }
    if (more && !this.#scheduled) {
      this.#scheduled = true
      // The end of that step pumps again.
      this.#init.timers.schedule(0, () => {
        this.#scheduled = false
      })
    }
  }

  /** All that is due, now, until the peers are full: before we say goodbye. */
  drainAll(): void {
    for (const peer of this.#init.peers.greeted()) {
      while (!peer.blocked && peer.due.size > 0) {
        this.#send(peer)
      }
    }
  }

  #headInDigest(peer: Peer, ref: ReplicaRef): number | undefined {
    const entry = peer.digest.get(refKey(ref))
    return entry === undefined || entry.hash === null ? undefined : entry.head
  }

  #send(peer: Peer): void {
    const frame = this.#cut(peer)
    if (frame === undefined) {
      return
    }
    if (!this.#init.transport.send(peer.id, frame.message)) {
      peer.blocked = true
      return
    }
    this.#count(frame.message)
    for (let i = 0; i < frame.points.length; i++) {
      this.#advance(peer, frame.points[i] as Point, frame.message.intervals[i] as DeltaInterval)
    }
  }

  /** The next frame: the first point that is due decides whether it is an answer, and those like it share it. */
  #cut(peer: Peer): { message: Delta; points: Point[] } | undefined {
    const points: Point[] = []
    const intervals: DeltaInterval[] = []
    let room = this.#frameBytes
    let answer: boolean | undefined
    for (const point of [...peer.due]) {
      if (answer !== undefined && point.answer !== answer) {
        continue
      }
      const shared = this.#sharedPush(peer, point)
      if (shared !== undefined) {
        return { message: shared, points: [point] }
      }
      const interval = this.#next(point, room)
      if (interval === undefined) {
        point.answer = false
        peer.due.delete(point)
        continue
      }
      const bytes = sizeOf(interval)
      if (intervals.length > 0 && bytes > room) {
        break
      }
      answer = point.answer
      points.push(point)
      intervals.push(interval)
      room -= bytes
      if (room < LEAST_ROOM_BYTES || intervals.length >= MAX_INTERVALS) {
        break
      }
    }
    if (answer === undefined) {
      return undefined
    }
    const message: Delta = { type: 'delta', intervals, answer }
    this.#share(points, message)
    return { message, points }
  }

  #next({ ref, head, cursor }: Point, bytes: number): DeltaInterval | undefined {
    const { map, mayServe } = this.#init
    return mayServe(ref) ? map.serve({ replica: ref, shard: map.shard, head, cursor }, { bytes }) : undefined
  }

  #share([point]: readonly Point[], message: Delta): void {
    const [interval] = message.intervals
    if (point !== undefined && interval !== undefined && message.intervals.length === 1 && !message.answer && point.cursor === null) {
      this.#shared = { key: refKey(point.ref), head: point.head, message }
    }
  }

  #sharedPush(peer: Peer, point: Point): Delta | undefined {
    const shared = this.#shared
    if (shared === undefined || point.answer || point.cursor !== null || point.head !== shared.head || peer.due.size !== 1) {
      return undefined
    }
    const [interval] = shared.message.intervals
    const isCurrent = shared.key === refKey(point.ref) && this.#init.map.record(point.ref)?.head === interval?.asOf
    return isCurrent ? shared.message : undefined
  }

  #advance(peer: Peer, point: Point, { to, asOf }: DeltaInterval): void {
    if (to === asOf) {
      point.head = Math.max(point.head, to)
      point.cursor = null
    } else {
      point.cursor = { to, asOf }
    }
    // Behind the others, so that each origin gets its turn.
    peer.due.delete(point)
    if (point.cursor !== null || point.head < (this.#init.map.record(point.ref)?.head ?? 0)) {
      peer.due.add(point)
    } else {
      point.answer = false
    }
  }

  #count({ answer, intervals }: Delta): void {
    const { counters } = this.#init
    counters.add(answer ? 'answers' : 'pushes')
    for (const { from, to, asOf, since } of intervals) {
      if (to < asOf) {
        counters.add('slices')
      }
      if (from === 0 && since > 0) {
        counters.add('fullStates')
      }
    }
  }
}

/** An upper bound of the encoded bytes of an interval. */
function sizeOf({ adds, marks }: DeltaInterval): number {
  return adds.reduce((sum, entry) => sum + entryBytes(entry), INTERVAL_BYTES + marks.length * MARK_BYTES)
}
