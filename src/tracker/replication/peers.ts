import type { Cursor } from '../../crdt/delta-interval.ts'
import { type ReplicaId, type ReplicaRef, refKey } from '../../crdt/dot.ts'
import type { DigestEntry } from '../messages.ts'

/** A round trip is taken to last so long until one was measured, in ms. */
const FIRST_ROUND_TRIP_MS = 100
const MAX_ROUND_TRIP_MS = 1_000

/**
 * What a peer knows of one origin once all that was sent has arrived. All that is kept per peer and origin: whatever comes
 * next starts from here, so that a slow peer costs a point and no queue.
 */
export interface Point {
  readonly ref: ReplicaRef
  head: number
  cursor: Cursor | null
  /** The peer asked for what comes next, or is to be told of a whole state: not just new events. */
  answer: boolean
}

/** One stream to another replica. */
export class Peer {
  readonly id: ReplicaId
  /** The incarnation whose hello was accepted on this stream; null before. Nothing else is taken from it. */
  ref: ReplicaRef | null = null
  /** It did not drain: nothing but heartbeats is sent until it does. */
  blocked = false
  /** Our hello was handed to the transport. */
  helloSent = false
  lastHelloMs = Number.NEGATIVE_INFINITY
  /** Our own head as that hello told it: the peer asks for what it lacks of it, and is sent what comes after. */
  helloHead = 0
  /** What it said it holds up or suspect, by ref. */
  readonly digest = new Map<string, DigestEntry>()
  digestHash: number | null = null
  /** Whether the hash of its last heartbeat was ours when it came; null before the first. */
  sameDigest: boolean | null = null
  /** Both held the same when both had this hash. */
  #agreedHash: number | undefined
  /** The hashes, ours and its, of the last comparison, and how often they were the same. */
  compared = { ours: -1, theirs: -1, times: 0 }
  /** It has no stream to these: it is told their counters, and their events. */
  unreached: ReadonlySet<ReplicaId> = new Set()
  /** What we told it of the same kind. */
  toldUnreached: readonly ReplicaId[] = []
  readonly points = new Map<string, Point>()
  /** Points with something to send, in the order in which they get their turns. */
  readonly due = new Set<Point>()
  /** What it last said of our present incarnation. */
  opinion: 'none' | 'accepts' | 'rejects' = 'none'
  #roundTripMs = FIRST_ROUND_TRIP_MS
  #askedMs: number | undefined

  constructor(id: ReplicaId) {
    this.id = id
  }

  get roundTripMs(): number {
    return this.#roundTripMs
  }

  /** A question went out whose answer follows at once. */
  asked(nowMs: number): void {
    this.#askedMs ??= nowMs
  }

  answered(nowMs: number): void {
    if (this.#askedMs !== undefined) {
      const sampleMs = Math.min(MAX_ROUND_TRIP_MS, Math.max(1, nowMs - this.#askedMs))
      this.#roundTripMs += (sampleMs - this.#roundTripMs) / 4
      this.#askedMs = undefined
    }
  }

  point(ref: ReplicaRef): Point | undefined {
    return this.points.get(refKey(ref))
  }

  setPoint(ref: ReplicaRef, head: number, cursor: Cursor | null): Point {
    const key = refKey(ref)
    let point = this.points.get(key)
    if (point === undefined) {
      point = { ref, head, cursor, answer: false }
      this.points.set(key, point)
    } else {
      point.head = head
      point.cursor = cursor
    }
    return point
  }

  forget(key: string): void {
    const point = this.points.get(key)
    if (point !== undefined) {
      this.due.delete(point)
      this.points.delete(key)
    }
    this.digest.delete(key)
  }

  /** The stream begins anew: only what its hello says is known of it. */
  restart(ref: ReplicaRef, digest: readonly DigestEntry[]): void {
    this.ref = ref
    this.points.clear()
    this.due.clear()
    this.digest.clear()
    this.noteDigest(digest)
  }

  /** One that begins with the sender itself is whole, unless it is continued; others add to it. */
  noteDigest(entries: readonly DigestEntry[]): void {
    this.#agreedHash = undefined
    const first = entries[0]
    if (first !== undefined && first.replica.id === this.id) {
      this.digest.clear()
    }
    this.#add(entries)
  }

  /**
   * Its digest hash is ours: it holds what we hold, though it never said so.
   *
   * @returns whether that was not known yet
   */
  agrees(hash: number, ours: () => readonly DigestEntry[]): boolean {
    if (this.#agreedHash === hash) {
      return false
    }
    this.#agreedHash = hash
    this.digest.clear()
    this.#add(ours())
    return true
  }

  #add(entries: readonly DigestEntry[]): void {
    for (const entry of entries) {
      if (this.digest.size < MAX_DIGEST) {
        this.digest.set(refKey(entry.replica), entry)
      }
    }
  }
}

/** More origins than this are not noted of one peer. */
const MAX_DIGEST = 4_096

/** All streams. */
export class Peers {
  readonly #peers = new Map<ReplicaId, Peer>()

  get size(): number {
    return this.#peers.size
  }

  /** Over all peers: what is kept per peer and origin. */
  get points(): number {
    return [...this.#peers.values()].reduce((sum, peer) => sum + peer.points.size, 0)
  }

  get(id: ReplicaId): Peer | undefined {
    return this.#peers.get(id)
  }

  add(id: ReplicaId): Peer {
    const peer = new Peer(id)
    this.#peers.set(id, peer)
    return peer
  }

  delete(id: ReplicaId): void {
    this.#peers.delete(id)
  }

  all(): IterableIterator<Peer> {
    return this.#peers.values()
  }

  /** Those whose hello was accepted. */
  *greeted(): IterableIterator<Peer> {
    for (const peer of this.#peers.values()) {
      if (peer.ref !== null) {
        yield peer
      }
    }
  }

  /** Whether more peers hold our present incarnation up than reject it. */
  trustUs(): boolean {
    let balance = 0
    for (const { opinion } of this.#peers.values()) {
      balance += opinion === 'accepts' ? 1 : opinion === 'rejects' ? -1 : 0
    }
    return balance > 0
  }

  /** Nothing is kept of a ref whose record was dropped. */
  forget(ref: ReplicaRef): void {
    const key = refKey(ref)
    for (const peer of this.#peers.values()) {
      peer.forget(key)
      if (peer.ref !== null && refKey(peer.ref) === key) {
        peer.ref = null
      }
    }
  }
}
