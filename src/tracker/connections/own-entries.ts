import { type Entry, type EntryContent, EntryState, type Over } from '../../crdt/entry.ts'
import type { OrMap } from '../../crdt/or-map.ts'
import { USERS_TOPIC } from '../names.ts'
import { nextEpoch, rank, replaces } from '../presence/hand-over.ts'
import type { Slot } from '../presence/presence-index.ts'
import type { PresenceView } from '../presence/presence-view.ts'
import { Queue } from '../presence/queue.ts'
import { MarkReason } from '../presence/reasons.ts'
import type { LocalConnection } from './local-connection.ts'

/** An entry names at most so many owners that it replaces: more than two at once needs two partitions. */
const MAX_OVER = 8

/** One entry of ours, and the connection that it belongs to. */
export interface Track {
  readonly connection: LocalConnection
  readonly topic: string
  readonly key: string
  entry: Entry
  /** Its place in the connection's TrackSet, or −1. */
  place: number
  /** Monotonic ms, pauses taken off, at which its grace ends; Infinity while it is live. */
  dueMs: number
  /** Another owner's entry goes before it and does not name it. */
  outranked: boolean
}

export interface OwnEntriesInit {
  readonly map: OrMap
  readonly view: PresenceView
  readonly graceMs: number
  readonly nowMs: () => number
  readonly wallClockMs: () => number
}

/** Our own part of the map: the only place where this replica makes events. */
export class OwnEntries {
  readonly #map: OrMap
  readonly #view: PresenceView
  readonly #graceMs: number
  readonly #nowMs: () => number
  readonly #wallClockMs: () => number
  readonly #tracks = new Map<number, Track>()
  /** In order of their ends: all graces are equally long. */
  readonly #due = new Queue<Track>()
  #pausedMs = 0
  #rivals: Slot[] = []

  constructor(init: OwnEntriesInit) {
    this.#map = init.map
    this.#view = init.view
    this.#graceMs = init.graceMs
    this.#nowMs = init.nowMs
    this.#wallClockMs = init.wallClockMs
    this.#view.onRival = slot => this.#rivals.push(slot)
  }

  get size(): number {
    return this.#tracks.size
  }

  find(counter: number): Track | undefined {
    return this.#tracks.get(counter)
  }

  /** Entries in their grace. */
  get pending(): number {
    return this.#due.size
  }

  /**
   * Makes an entry for (topic, key) of the connection's session. What is shown of that session, whoever owns it, is adopted: its revision and joinedAt
   * go on, so that the same meta has the same ref, and nobody sees an event.
   */
  track(connection: LocalConnection, topic: string, key: string, meta: string): Track {
    const slot = connection.adopts ? this.#view.index.find(topic)?.find(key, connection.session) : undefined
    const adopted = slot?.shown ?? undefined
    const entry = this.#make(slot, {
      topic,
      key,
      user: connection.user,
      session: connection.session,
      connection: connection.number,
      meta,
      joinedAt: adopted?.joinedAt ?? Math.max(0, Math.floor(this.#wallClockMs())),
      revision: adopted === undefined ? 0 : adopted.revision + Number(adopted.meta !== meta),
      epoch: slot === undefined ? 1 : nextEpoch(slot),
      over: slot === undefined ? [] : this.#over(slot)
    })
    const track: Track = { connection, topic, key, entry, place: -1, dueMs: Infinity, outranked: false }
    this.#tracks.set(entry.counter, track)
    return track
  }

  #make(slot: Slot | undefined, content: EntryContent): Entry {
    const own = slot === undefined ? undefined : this.#ownIn(slot)
    const before = own?.entry
    let entry: Entry | undefined
    if (own !== undefined && before !== undefined) {
      entry = this.#map.update(before.counter, content, MarkReason.updated)
      this.#tracks.delete(before.counter)
      own.connection.forget(own)
      own.dueMs = Infinity
    }
    entry ??= this.#map.add(content)
    this.#view.putOwn(entry, before)
    return entry
  }

  #ownIn(slot: Slot): Track | undefined {
    let own: Track | undefined
    slot.each((origin, entry) => {
      if (origin.self) {
        own = this.#tracks.get(entry.counter)
      }
    })
    return own
  }

  #over(slot: Slot): Over[] {
    const over: Over[] = []
    slot.each((origin, _entry) => {
      const record = origin.self ? undefined : this.#map.record(origin.ref)
      if (record !== undefined && over.length < MAX_OVER && !over.some(known => known.replica === origin.ref)) {
        over.push({ replica: origin.ref, head: record.head })
      }
    })
    return over
  }

  /** A new meta, in one event; false when it is the same. An entry that was outranked goes first again. */
  update(track: Track, meta: string): boolean {
    if (track.entry.meta === meta && !track.outranked) {
      return false
    }
    const slot = this.#view.index.find(track.topic)?.find(track.key, track.entry.session) as Slot
    const { counter: _counter, state: _state, hashHigh: _high, hashLow: _low, ...content } = track.entry
    const before = track.entry
    const entry = this.#map.update(
      before.counter,
      {
        ...content,
        meta,
        revision: before.revision + Number(before.meta !== meta),
        epoch: track.outranked ? nextEpoch(slot) : before.epoch,
        over: this.#over(slot)
      },
      MarkReason.updated
    ) as Entry
    this.#tracks.delete(before.counter)
    this.#tracks.set(entry.counter, track)
    track.entry = entry
    track.outranked = false
    this.#view.putOwn(entry, before)
    return true
  }

  /**
   * The connection is lost: the entry stays listed for the grace. Without one, an entry whose session is on another replica by now is told to have
   * moved, which holds it everywhere until that replica's entry comes.
   */
  linger(track: Track, takenOver = false): void {
    if (this.#graceMs === 0) {
      this.#remove(track, takenOver ? MarkReason.moved : MarkReason.expired)
    } else {
      this.#move(track, EntryState.lingering, MarkReason.expired)
    }
  }

  /**
   * A clean end: the entry leaves at once. Where its session may have entries elsewhere, it stays for the grace as `closed`, so that an older one of an
   * owner who is down or late does not come to be shown in its place.
   */
  end(track: Track, reason: MarkReason): void {
    if (this.#graceMs === 0 || !track.connection.adopts) {
      this.#remove(track, reason)
    } else {
      this.#move(track, EntryState.closed, reason)
    }
  }

  #move(track: Track, state: typeof EntryState.lingering | typeof EntryState.closed, reason: MarkReason): void {
    const before = this.#map.mark(track.entry.counter, state, reason)
    if (before !== undefined) {
      track.entry = this.#map.get(this.#map.self, before.counter) as Entry
      this.#view.markOwn(before, track.entry, reason)
    }
    track.dueMs = this.#nowMs() - this.#pausedMs + this.#graceMs
    this.#due.push(track)
  }

  /**
   * Its grace is over: it is removed. One that was closed stays while others have entries of its identity that are not: of a replica that died just before,
   * they would be shown in its place until that death is noticed. For one that is closed too it does not wait: two would wait for each other. One that
   * only expired says nothing of its session, which may be connected elsewhere by now: closed, it would hide that connection.
   */
  #expire(track: Track): void {
    let waits = false
    if (track.entry.state === EntryState.closed) {
      this.#view.index
        .find(track.topic)
        ?.find(track.key, track.entry.session)
        ?.each((origin, entry) => {
          waits ||= !origin.self && entry.state !== EntryState.closed
        })
    }
    if (waits) {
      this.#move(track, EntryState.closed, MarkReason.expired)
    } else {
      this.#remove(track, MarkReason.expired)
    }
  }

  #remove(track: Track, reason: MarkReason): void {
    this.#tracks.delete(track.entry.counter)
    track.dueMs = Infinity
    track.connection.forget(track)
    const before = this.#map.mark(track.entry.counter, EntryState.removed, reason)
    if (before !== undefined) {
      this.#view.markOwn(before, undefined, reason)
    }
  }

  /** Removes what has passed its grace; false when it ran out of time before the end. */
  tick(outOfTime: () => boolean): boolean {
    const nowMs = this.#nowMs() - this.#pausedMs
    for (let track = this.#due.peek(); track !== undefined; track = this.#due.peek()) {
      if (track.dueMs !== Infinity && track.dueMs > nowMs) {
        break
      }
      if (outOfTime()) {
        return false
      }
      this.#due.shift()
      if (track.dueMs !== Infinity) {
        this.#expire(track)
      }
    }
    return true
  }

  paused(byMs: number): void {
    this.#pausedMs += byMs
  }

  /** Looks at the identities of ours for which others have entries too; true when that made events. */
  settleRivals(): boolean {
    const rivals = this.#rivals
    this.#rivals = []
    let changed = false
    for (const slot of rivals) {
      const own = this.#ownIn(slot)
      if (own !== undefined) {
        changed = this.#settleRival(slot, own) || changed
      }
    }
    return changed
  }

  #settleRival(slot: Slot, own: Track): boolean {
    const self = this.#view.origins.self
    let replaced = false
    let outranked = false
    slot.each((origin, entry) => {
      if (!origin.self) {
        replaced ||= replaces(entry, self, own.entry.counter)
        outranked ||= rank(entry, origin, own.entry, self) > 0
      }
    })
    if (replaced) {
      this.#remove(own, MarkReason.moved)
      if (own.topic === USERS_TOPIC) {
        own.connection.finish('taken-over')
      }
      return true
    }
    if (outranked && own.dueMs === Infinity) {
      own.outranked = true
      own.connection.outranked = true
    }
    return false
  }

  /** Our record began again: every track follows its entry to the new dot. */
  reincarnated(moved: readonly { before: Entry; after: Entry }[]): void {
    const tracks = moved.map(({ before }) => this.#tracks.get(before.counter))
    this.#tracks.clear()
    moved.forEach(({ after }, i) => {
      const track = tracks[i]
      if (track !== undefined) {
        track.entry = after
        this.#tracks.set(after.counter, track)
      }
    })
  }
}
