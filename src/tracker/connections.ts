import type { OrMap } from '../crdt/or-map.ts'
import { ConnectionTable, decodeConnectionId, encodeConnectionId } from './connection-table.ts'
import type { Environment } from './environment.ts'
import { AlreadyTrackedError, ConnectionEndedError, LimitError, NotAcceptingError, NotTrackedError } from './errors.ts'
import { type ConnectionHost, LocalConnection } from './local-connection.ts'
import { encodeMeta, type MetaDecoder } from './meta.ts'
import { checkName, USERS_TOPIC } from './names.ts'
import type { ResolvedOptions } from './options.ts'
import { OwnEntries, type Track } from './own-entries.ts'
import type { PresenceView } from './presence-view.ts'
import { MarkReason } from './reasons.ts'
import { refOf } from './ref.ts'
import { Sessions } from './session.ts'
import type { ConnectionEnd, ConnectOptions, Meta } from './types.ts'
import { UserTable } from './user-table.ts'

/** A sweep returns to the event loop after so long, in ms. */
const SLICE_MS = 4

export interface ConnectionsInit {
  readonly map: OrMap
  readonly view: PresenceView
  readonly metas: MetaDecoder
  readonly options: ResolvedOptions
  readonly environment: Environment
  /** Runs a change of state; what it changed is told and sent when the outermost one ends. */
  readonly step: <T>(run: () => T) => T
}

/** The connections that end here, and what they track. */
export class Connections implements ConnectionHost {
  readonly own: OwnEntries
  readonly #view: PresenceView
  readonly #metas: MetaDecoder
  readonly #options: ResolvedOptions
  readonly #environment: Environment
  readonly #step: <T>(run: () => T) => T
  readonly #sessions: Sessions
  readonly #table: ConnectionTable
  readonly #users = new UserTable()
  readonly #bySlot: (LocalConnection | undefined)[] = []
  readonly #tag: string
  #count = 0
  #sweeping = false
  /** `open`, or why no connection is taken. */
  state: 'open' | 'draining' | 'stopped' | 'not started' = 'not started'

  constructor(init: ConnectionsInit) {
    this.#view = init.view
    this.#metas = init.metas
    this.#options = init.options
    this.#environment = init.environment
    this.#step = init.step
    this.#sessions = new Sessions(init.options.cluster, init.options.secret, init.environment.random.fork('sessions'))
    this.#tag = init.environment.random.fork('connection ids').nextUint32().toString(36)
    this.#table = new ConnectionTable({ ttlMs: init.options.ttlMs })
    this.own = new OwnEntries({
      map: init.map,
      view: init.view,
      graceMs: init.options.graceMs,
      nowMs: () => init.environment.monotonicMs(),
      wallClockMs: () => init.environment.wallClockMs()
    })
  }

  get size(): number {
    return this.#table.size
  }

  connect(user: string, options: ConnectOptions): LocalConnection {
    this.#checkConnect(user, options)
    const meta = encodeMeta(options.meta, this.#options.limits.metaBytes)
    return this.#step(() => {
      const index = this.#users.acquire(user)
      const handle = this.#table.connect(index, this.#environment.monotonicMs())
      const connection = new LocalConnection({
        host: this,
        id: encodeConnectionId(handle, this.#tag),
        handle,
        user,
        session: options.session === undefined ? this.#sessions.next() : this.#sessions.hash(user, options.session),
        number: ++this.#count,
        adopts: options.session !== undefined
      })
      this.#bySlot[this.#table.slot(handle)] = connection
      this.#takeOver(connection)
      connection.userTrack = this.own.track(connection, USERS_TOPIC, user, meta)
      if (options.signal !== undefined) {
        this.#follow(connection, options.signal)
      }
      return connection
    })
  }

  #checkConnect(user: string, options: ConnectOptions): void {
    const { limits } = this.#options
    if (this.state !== 'open') {
      throw new NotAcceptingError(this.state)
    }
    checkName('user', user, limits.userBytes)
    if (options.session !== undefined) {
      checkName('session', options.session, 1_024)
    }
    if (options.signal?.aborted) {
      throw new ConnectionEndedError(user, 'lost')
    }
    this.#checkLimit('connections', this.#table.size)
    const index = this.#users.find(user)
    this.#checkLimit('connectionsPerUser', index === undefined ? 0 : this.#users.count(index))
    this.#checkLimit('entriesPerReplica', this.own.size)
  }

  #checkLimit(name: keyof ResolvedOptions['limits'], count: number): void {
    if (count >= this.#options.limits[name]) {
      throw new LimitError(name, this.#options.limits[name])
    }
  }

  /** The same session is connected here already: its client came back before we noticed that it had gone. */
  #takeOver(connection: LocalConnection): void {
    if (!connection.adopts) {
      return
    }
    const slot = this.#view.index.find(USERS_TOPIC)?.find(connection.user, connection.session)
    slot?.each((origin, entry) => {
      const track = origin.self ? this.own.find(entry.counter) : undefined
      if (track !== undefined && track.connection.ended === null) {
        track.connection.finish('taken-over')
      }
    })
  }

  #follow(connection: LocalConnection, signal: AbortSignal): void {
    const lost = (): void => connection.lost()
    signal.addEventListener('abort', lost, { once: true })
    connection.release = () => signal.removeEventListener('abort', lost)
  }

  find(id: string): LocalConnection | undefined {
    const handle = decodeConnectionId(id, this.#tag)
    const connection = handle === 0 ? undefined : this.#bySlot[this.#table.slot(handle)]
    return connection?.handle === handle ? connection : undefined
  }

  heartbeat(id: string): boolean {
    const connection = this.find(id)
    return connection !== undefined && this.heard(connection)
  }

  heard(connection: LocalConnection): boolean {
    if (!this.#table.heartbeat(connection.handle, this.#environment.monotonicMs())) {
      return false
    }
    if (connection.outranked) {
      this.#step(() => this.#retake(connection))
    }
    return true
  }

  #retake(connection: LocalConnection): void {
    connection.outranked = false
    for (const track of [connection.userTrack, ...connection.tracks.values()]) {
      if (track?.outranked) {
        this.own.update(track, track.entry.meta)
      }
    }
  }

  /** Inbound frames are heartbeats. A connection past its time has expired, though no sweep has seen it yet. */
  #inbound(connection: LocalConnection): void {
    connection.checkOpen()
    if (!this.heard(connection)) {
      connection.finish('expired')
      connection.checkOpen()
    }
  }

  track(connection: LocalConnection, topic: string, meta: Meta | undefined, key: string): string {
    const { limits } = this.#options
    checkName('topic', topic, limits.topicBytes)
    checkName('key', key, limits.keyBytes)
    const text = encodeMeta(meta, limits.metaBytes)
    this.#inbound(connection)
    if (connection.tracks.find(topic, key) !== undefined) {
      throw new AlreadyTrackedError(topic, key)
    }
    this.#checkLimit('entriesPerConnection', connection.tracks.size)
    this.#checkLimit('entriesPerReplica', this.own.size)
    this.#checkLimit('entriesPerTopic', this.#view.index.find(topic)?.shownPresences ?? 0)
    return this.#step(() => {
      const track = this.own.track(connection, topic, key, text)
      connection.tracks.add(track)
      return refOf(track.entry)
    })
  }

  update(connection: LocalConnection, topicOrRef: string, meta: Meta | ((meta: Meta) => Meta), key: string | undefined): string {
    this.#inbound(connection)
    const found = this.#find(connection, topicOrRef, key)
    const track = found.find(candidate => candidate.key === (key ?? connection.user)) ?? found[0]
    if (track === undefined) {
      throw new NotTrackedError(topicOrRef)
    }
    const next = typeof meta === 'function' ? meta(this.#metas.decode(track.entry.meta)) : meta
    const text = encodeMeta(next, this.#options.limits.metaBytes)
    connection.checkOpen()
    if (track.place < 0) {
      throw new NotTrackedError(topicOrRef)
    }
    return this.#step(() => {
      this.own.update(track, text)
      return refOf(track.entry)
    })
  }

  untrack(connection: LocalConnection, topicOrRef: string | undefined, key: string | undefined): number {
    if (connection.ended !== null || !this.heard(connection)) {
      return 0
    }
    const tracks = topicOrRef === undefined ? [...connection.tracks.values()] : this.#find(connection, topicOrRef, key)
    return this.#step(() => {
      for (const track of tracks) {
        connection.forget(track)
        this.own.end(track, MarkReason.left)
      }
      return tracks.length
    })
  }

  /** By topic, else by ref. */
  #find(connection: LocalConnection, topicOrRef: string, key: string | undefined): Track[] {
    if (key !== undefined) {
      const track = connection.tracks.find(topicOrRef, key)
      return track === undefined ? [] : [track]
    }
    const tracks = connection.tracks.inTopic(topicOrRef)
    return tracks.length > 0 ? tracks : connection.tracks.values().filter(track => refOf(track.entry) === topicOrRef)
  }

  /** Cleanly: its presences leave now. Otherwise they linger. The user lingers in any case, save one who was kicked. */
  end(connection: LocalConnection, how: ConnectionEnd): void {
    connection.ended = how
    this.#step(() => {
      const user = this.#table.user(connection.handle)
      if (this.#table.disconnect(connection.handle)) {
        this.#users.release(user)
      }
      this.#forget(connection)
      this.#endEntries(connection, how)
    })
    connection.abort()
  }

  #endEntries(connection: LocalConnection, how: ConnectionEnd): void {
    const clean = (how === 'closed' && this.state === 'open') || how === 'kicked'
    const reason = how === 'kicked' ? MarkReason.kicked : MarkReason.closed
    for (const track of [...connection.tracks.values()]) {
      if (clean) {
        this.own.end(track, reason)
      } else {
        this.own.linger(track, how === 'taken-over')
      }
    }
    if (connection.userTrack !== null) {
      if (how === 'kicked') {
        this.own.end(connection.userTrack, reason)
      } else {
        this.own.linger(connection.userTrack)
      }
    }
  }

  #forget(connection: LocalConnection): void {
    const slot = this.#table.slot(connection.handle)
    if (this.#bySlot[slot] === connection) {
      this.#bySlot[slot] = undefined
    }
  }

  kick(user: string): number {
    const found = new Set<LocalConnection>()
    for (const slot of this.#view.index.find(USERS_TOPIC)?.slotsOf(user) ?? []) {
      slot.each((origin, entry) => {
        const track = origin.self ? this.own.find(entry.counter) : undefined
        if (track?.connection.open) {
          found.add(track.connection)
        }
      })
    }
    this.#step(() => {
      for (const connection of found) {
        connection.finish('kicked')
      }
    })
    return found.size
  }

  endAll(how: ConnectionEnd): void {
    this.#step(() => {
      for (const connection of this.#bySlot) {
        connection?.finish(how)
      }
    })
  }

  /** Ends what has expired, in slices that leave the event loop to others in between. */
  tick(): void {
    if (this.#sweeping) {
      return
    }
    const startMs = this.#environment.monotonicMs()
    const outOfTime = (): boolean => this.#environment.monotonicMs() - startMs > SLICE_MS
    const done = this.#step(() => {
      const swept = this.#table.sweep(startMs, { outOfTime }, (handle, user) => this.#expired(handle, user))
      return this.own.tick(outOfTime) && swept
    })
    if (!done) {
      this.#sweeping = true
      this.#environment.schedule(0, () => {
        this.#sweeping = false
        if (this.state !== 'stopped') {
          this.tick()
        }
      })
    }
  }

  #expired(handle: number, user: number): void {
    this.#users.release(user)
    const connection = this.#bySlot[this.#table.slot(handle)]
    if (connection?.handle === handle) {
      connection.ended = 'expired'
      this.#forget(connection)
      this.#endEntries(connection, 'expired')
      connection.abort()
    }
  }

  paused(byMs: number): void {
    this.#table.extendAll(byMs)
    this.own.paused(byMs)
  }
}
