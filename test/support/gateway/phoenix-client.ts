import { Socket, type SocketConnectOption } from 'phoenix'
import { until } from '../net/until.ts'
import { closeLater } from './close-all.ts'
import type { Json } from './json.ts'

export { closeAll } from './close-all.ts'
export { type JoinedTopic, joinTopic, type ShownMeta } from './phoenix-topic.ts'

/** A message of the server, as it came. */
export interface Frame {
  readonly joinRef: string | null
  readonly ref: string | null
  readonly topic: string
  readonly event: string
  readonly payload: Json
}

export interface ClientOptions extends Partial<Omit<SocketConnectOption, 'params'>> {
  /** The param `user`. */
  readonly user?: string
  /** The param `session`. */
  readonly session?: string
  /** More params, or other ones at each connect. */
  readonly params?: Record<string, string> | (() => Record<string, string>)
  /** Keep what came. Default true. */
  readonly keepFrames?: boolean
}

/** The npm client `phoenix`, unchanged, and what it was told. */
export interface PhoenixClient {
  readonly socket: Socket
  /** All messages, over all connections. */
  readonly frames: readonly Frame[]
  /** How often a connection opened. */
  readonly opens: number
  /** How each connection ended, in order; refused ones as well. */
  readonly closes: readonly { readonly code: number; readonly reason: string }[]
  /** Waits until it is connected. */
  connected(): Promise<void>
  /** Breaks the connection as a network would. The client connects again. */
  breakOff(): void
  /** Disconnects for good. Idempotent; `closeAll` does it. */
  close(): Promise<void>
}

/** Begins to connect to `url`, such as `ws://127.0.0.1:4000/socket`. */
export function openClient(url: string, options: ClientOptions = {}): PhoenixClient {
  const { user, session, params, keepFrames = true, ...socketOptions } = options
  const frames: Frame[] = []
  const closes: { code: number; reason: string }[] = []
  const more = typeof params === 'function' ? params : () => params
  const socket = new Socket(url, {
    transport: keepFrames ? recording(frames) : WebSocket,
    sessionStorage: new MemoryStorage(),
    ...socketOptions,
    params: () => ({ ...(user !== undefined && { user }), ...(session !== undefined && { session }), ...more() })
  })
  if (keepFrames && socketOptions.transport !== undefined) {
    // Presence.syncState changes the payload before this is told of it: what stands here of a second state is what was new in it.
    socket.onMessage(message => void frames.push(frameOf(message as WireMessage)))
  }
  let opens = 0
  socket.onOpen(() => void opens++)
  socket.onClose(({ code, reason }) => void closes.push({ code, reason }))
  socket.connect()
  const close = closeLater(() => new Promise<void>(resolve => socket.disconnect(resolve, 1000)), 'client')
  return {
    socket,
    frames,
    closes,
    close,
    get opens() {
      return opens
    },
    connected: () => until('the client is connected', () => socket.isConnected()),
    breakOff: () => (socket as unknown as { conn: WebSocket }).conn.close(4000, 'broken off by the test')
  }
}

/** A WebSocket that writes down what comes, before the client touches it. */
function recording(frames: Frame[]): typeof WebSocket {
  return class Recording extends WebSocket {
    constructor(url: string | URL, protocols?: string | string[]) {
      super(url, protocols)
      this.addEventListener('message', ({ data }) => {
        if (typeof data === 'string') {
          const [join_ref, ref, topic, event, payload] = JSON.parse(data)
          frames.push(frameOf({ join_ref, ref, topic, event, payload }))
        }
      })
    }
  }
}

interface WireMessage extends Omit<Frame, 'joinRef'> {
  readonly join_ref: string | null
}

function frameOf({ join_ref, ref, topic, event, payload }: WireMessage): Frame {
  return { joinRef: join_ref ?? null, ref: ref ?? null, topic, event, payload: structuredClone(payload) }
}

/** Where the client remembers that long polls were needed: of this client alone, unlike Node's `sessionStorage`. */
class MemoryStorage {
  readonly #items = new Map<string, string>()

  getItem(name: string): string | null {
    return this.#items.get(name) ?? null
  }

  setItem(name: string, value: string): void {
    this.#items.set(name, value)
  }

  removeItem(name: string): void {
    this.#items.delete(name)
  }
}
