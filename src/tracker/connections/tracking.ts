import { AlreadyTrackedError, NotTrackedError } from '../errors.ts'
import { checkName } from '../names.ts'
import type { ResolvedOptions } from '../options.ts'
import { encodeMeta, type MetaDecoder } from '../presence/meta.ts'
import type { PresenceIndex } from '../presence/presence-index.ts'
import { MarkReason } from '../presence/reasons.ts'
import { refOf } from '../presence/ref.ts'
import type { Meta } from '../types.ts'
import { checkLimit } from './limits.ts'
import type { LocalConnection } from './local-connection.ts'
import { type MetaSchemaOption, validateMeta } from './meta-schema.ts'
import type { OwnEntries, Track } from './own-entries.ts'

export interface TrackingInit {
  readonly own: OwnEntries
  readonly index: PresenceIndex
  readonly metas: MetaDecoder
  readonly limits: ResolvedOptions['limits']
  readonly metaSchema: MetaSchemaOption | undefined
  readonly step: <T>(run: () => T) => T
  readonly heard: (connection: LocalConnection) => boolean
}

/** What a connection says of itself: here in a topic, with this meta, no longer. All is checked before anything changes. */
export class Tracking {
  readonly #own: OwnEntries
  readonly #index: PresenceIndex
  readonly #metas: MetaDecoder
  readonly #limits: ResolvedOptions['limits']
  readonly #metaSchema: MetaSchemaOption | undefined
  readonly #step: <T>(run: () => T) => T
  readonly #heard: (connection: LocalConnection) => boolean

  constructor(init: TrackingInit) {
    this.#own = init.own
    this.#index = init.index
    this.#metas = init.metas
    this.#limits = init.limits
    this.#metaSchema = init.metaSchema
    this.#step = init.step
    this.#heard = init.heard
  }

  track(connection: LocalConnection, topic: string, meta: Meta | undefined, key: string): string {
    const limits = this.#limits
    checkName('topic', topic, limits.topicBytes)
    checkName('key', key, limits.keyBytes)
    const text = this.#encode(topic, meta)
    this.#inbound(connection)
    if (connection.tracks.find(topic, key) !== undefined) {
      throw new AlreadyTrackedError(topic, key)
    }
    checkLimit(this.#limits, 'entriesPerConnection', connection.tracks.size)
    checkLimit(this.#limits, 'entriesPerReplica', this.#own.size)
    checkLimit(this.#limits, 'entriesPerTopic', this.#index.find(topic)?.shownPresences ?? 0)
    return this.#step(() => {
      const track = this.#own.track(connection, topic, key, text)
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
    const text = this.#encode(track.topic, next)
    connection.checkOpen()
    if (track.place < 0) {
      throw new NotTrackedError(topicOrRef)
    }
    return this.#step(() => {
      this.#own.update(track, text)
      return refOf(track.entry)
    })
  }

  untrack(connection: LocalConnection, topicOrRef: string | undefined, key: string | undefined): number {
    if (connection.ended !== null || !this.#heard(connection)) {
      return 0
    }
    const tracks = topicOrRef === undefined ? [...connection.tracks.values()] : this.#find(connection, topicOrRef, key)
    return this.#step(() => {
      for (const track of tracks) {
        connection.forget(track)
        this.#own.end(track, MarkReason.left)
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

  #encode(topic: string, meta: unknown): string {
    return encodeMeta(validateMeta(this.#metaSchema, topic, meta ?? {}), this.#limits.metaBytes)
  }

  /** Inbound frames are heartbeats. A connection past its time has expired, though no sweep has seen it yet. */
  #inbound(connection: LocalConnection): void {
    connection.checkOpen()
    if (!this.#heard(connection)) {
      connection.finish('expired')
      connection.checkOpen()
    }
  }
}
