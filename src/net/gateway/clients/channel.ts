import type { WatchMode } from '../feeds/feeds.ts'
import type { Watcher } from '../feeds/watcher.ts'
import type { JoinRequest } from '../protocol/join-request.ts'
import type { Frame } from '../protocol/wire.ts'
import type { GatewayAction } from '../rights/hooks.ts'
import type { SystemSession } from '../types.ts'

type Payload = Readonly<Record<string, unknown>>

/** The socket of a channel. */
export interface ChannelSocket {
  readonly takes: boolean
  send(frame: Frame): void
  sendParts(parts: readonly Buffer[]): void
}

/** A right that the client has: what it was asked for with, when it is asked for again, and until when it holds though nobody answers. */
export interface Standing {
  readonly payload: Payload
  readonly askMs: number
  readonly endMs: number
}

/** More pushes of one channel than these do not wait for their turn. */
const MAX_WAITING_PUSHES = 256

/** One join of one socket to one topic. Its pushes are dealt with one after the other, whatever the hooks take. */
export class Channel implements Watcher {
  readonly topic: string
  readonly joinRef: string
  readonly request: JoinRequest
  readonly payload: Payload
  /** Of the frame that it was joined by. */
  readonly length: number
  readonly standing = new Map<GatewayAction, Standing>()
  readonly #socket: ChannelSocket
  state: 'joining' | 'joined' | 'left' = 'joining'
  watching: WatchMode | null = null
  system: SystemSession | null = null
  #waiting = 0
  #turn: Promise<unknown> = Promise.resolve()

  constructor(socket: ChannelSocket, topic: string, joinRef: string, request: JoinRequest, payload: Payload, length: number) {
    this.#socket = socket
    this.topic = topic
    this.joinRef = joinRef
    this.request = request
    this.payload = payload
    this.length = length
  }

  get takes(): boolean {
    return this.#socket.takes
  }

  get isOver(): boolean {
    return this.state === 'left'
  }

  send(frame: Frame): void {
    this.#socket.send(frame)
  }

  sendParts(parts: readonly Buffer[]): void {
    this.#socket.sendParts(parts)
  }

  /** False when too many wait already. `run` must not reject. */
  inTurn(run: () => Promise<void>): boolean {
    if (this.#waiting >= MAX_WAITING_PUSHES) {
      return false
    }
    this.#waiting++
    this.#turn = this.#turn.then(run).finally(() => {
      this.#waiting--
    })
    return true
  }
}
