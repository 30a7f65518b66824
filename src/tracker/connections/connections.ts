import type { OrMap } from '../../crdt/or-map.ts'
import type { Environment } from '../environment.ts'
import { ConnectionEndedError, NotAcceptingError } from '../errors.ts'
import { checkName, USERS_TOPIC } from '../names.ts'
import type { ResolvedOptions } from '../options.ts'
import { encodeMeta, type MetaDecoder } from '../presence/meta.ts'
import type { PresenceView } from '../presence/presence-view.ts'
import { MarkReason } from '../presence/reasons.ts'
import type { ConnectionEnd, ConnectOptions, Meta } from '../types.ts'
import { ConnectionTable, decodeConnectionId, encodeConnectionId } from './connection-table.ts'
import { checkLimit } from './limits.ts'
import { type ConnectionHost, LocalConnection } from './local-connection.ts'
import { OwnEntries } from './own-entries.ts'
import { Sessions } from './session.ts'
import { Tracking } from './tracking.ts'
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
  readonly #options: ResolvedOptions
  readonly #environment: Environment
  readonly #step: <T>(run: () => T) => T
  readonly #sessions: Sessions
  readonly #table: ConnectionTable
  readonly #users = new UserTable()
  readonly #bySlot: (LocalConnection | undefined)[] = []
  readonly #tag: string
  readonly #tracking: Tracking
  #count = 0
  #sweeping = false
  /** `open`, or why no connection is taken. */
  state: 'open' | 'draining' | 'stopped' | 'not started' = 'not started'

  constructor(init: ConnectionsInit) {
    this.#view = init.view
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
    this.#tracking = new Tracking({
      own: this.own,
      index: init.view.index,
      metas: init.metas,
      limits: init.options.limits,
      metaSchema: init.options.metaSchema,
      step: init.step,
      heard: connection => this.heard(connection)
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
    checkLimit(limits, 'connections', this.#table.size)
    const index = this.#users.find(user)
    checkLimit(limits, 'connectionsPerUser', index === undefined ? 0 : this.#users.count(index))
    checkLimit(limits, 'entriesPerReplica', this.own.size)
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

  track(connection: LocalConnection, topic: string, meta: Meta | undefined, key: string): string {
    return this.#tracking.track(connection, topic, meta, key)
  }

  update(connection: LocalConnection, topicOrRef: string, meta: Meta | ((meta: Meta) => Meta), key: string | undefined): string {
    return this.#tracking.update(connection, topicOrRef, meta, key)
  }

  untrack(connection: LocalConnection, topicOrRef: string | undefined, key: string | undefined): number {
    return this.#tracking.untrack(connection, topicOrRef, key)
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
