import { ConnectionEndedError } from '../errors.ts'
import type { Connection, ConnectionEnd, Meta, TrackOptions } from '../types.ts'
import type { Handle } from './connection-table.ts'
import type { Track } from './own-entries.ts'
import { TrackSet } from './track-set.ts'

/** What a connection needs of the table that it lies in. */
export interface ConnectionHost {
  /** Inbound traffic: extends the connection's life. False when it has expired. */
  heard(connection: LocalConnection): boolean
  track(connection: LocalConnection, topic: string, meta: Meta | undefined, key: string): string
  update(connection: LocalConnection, topicOrRef: string, meta: Meta | ((meta: Meta) => Meta), key: string | undefined): string
  untrack(connection: LocalConnection, topicOrRef: string | undefined, key: string | undefined): number
  end(connection: LocalConnection, how: ConnectionEnd): void
}

export interface LocalConnectionInit {
  readonly host: ConnectionHost
  readonly id: string
  readonly handle: Handle
  readonly user: string
  readonly session: string
  readonly number: number
  readonly adopts: boolean
}

/** A connection that ends on this replica. */
export class LocalConnection implements Connection {
  readonly id: string
  readonly handle: Handle
  readonly user: string
  readonly session: string
  /** Counts the connections of this process; stands in its entries. */
  readonly number: number
  /** Its session was given by the client, so other replicas may have entries of it. */
  readonly adopts: boolean
  readonly tracks = new TrackSet()
  userTrack: Track | null = null
  /** One of its entries goes after another owner's: it takes the next epoch at its next inbound frame. */
  outranked = false
  ended: ConnectionEnd | null = null
  release: (() => void) | null = null
  readonly #host: ConnectionHost
  #controller: AbortController | null = null

  constructor(init: LocalConnectionInit) {
    this.#host = init.host
    this.id = init.id
    this.handle = init.handle
    this.user = init.user
    this.session = init.session
    this.number = init.number
    this.adopts = init.adopts
  }

  get open(): boolean {
    return this.ended === null
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.ended !== null && !this.#controller.signal.aborted) {
      this.#controller.abort(new ConnectionEndedError(this.user, this.ended))
    }
    return this.#controller.signal
  }

  track(topic: string, meta?: Meta, options: TrackOptions = {}): string {
    return this.#host.track(this, topic, meta, options.key ?? this.user)
  }

  update(topicOrRef: string, meta: Meta | ((meta: Meta) => Meta), options: TrackOptions = {}): string {
    return this.#host.update(this, topicOrRef, meta, options.key)
  }

  untrack(topicOrRef?: string, options: TrackOptions = {}): number {
    return this.#host.untrack(this, topicOrRef, options.key)
  }

  heartbeat(): boolean {
    return this.#host.heard(this)
  }

  close(): void {
    this.finish('closed')
  }

  lost(): void {
    this.finish('lost')
  }

  /** Ends once, whoever says so first. */
  finish(how: ConnectionEnd): void {
    if (this.ended === null) {
      this.#host.end(this, how)
    }
  }

  /** Called by the host when all else is done. */
  abort(): void {
    this.release?.()
    this.release = null
    if (this.#controller !== null && this.ended !== null) {
      this.#controller.abort(new ConnectionEndedError(this.user, this.ended))
    }
  }

  /** The entry of `track` is gone, or another connection's now. */
  forget(track: Track): void {
    this.tracks.delete(track)
    if (this.userTrack === track) {
      this.userTrack = null
    }
  }

  /** @throws ConnectionEndedError */
  checkOpen(): void {
    if (this.ended !== null) {
      throw new ConnectionEndedError(this.user, this.ended)
    }
  }
}
