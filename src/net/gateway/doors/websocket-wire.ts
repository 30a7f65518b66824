import type { WebSocket } from 'ws'
import type { Frame, Wire, WireListener } from '../protocol/wire.ts'

const GOODBYE_MS = 2_000
const TEXT = { binary: false } as const
const FIRST = { binary: false, fin: false } as const
/** Below it one message is copied together; above it the parts are sent as they are, as fragments of one. */
const COPY_BYTES = 4_096

/** A client by WebSocket. */
export class WebSocketWire implements Wire {
  readonly #socket: WebSocket
  /** Pings that somebody waits for, oldest first: an answer to a later one answers the earlier ones too. */
  readonly #pings: { readonly id: number; readonly answered: () => void }[] = []
  #pinged = 0
  #ponged = 0

  constructor(socket: WebSocket) {
    this.#socket = socket
  }

  listen(listener: WireListener): void {
    const socket = this.#socket
    socket.on('message', (data: Buffer, isBinary: boolean) => {
      if (isBinary) {
        listener.binary(data)
      } else {
        listener.message(data.toString())
      }
    })
    socket.on('pong', (data: Buffer) => {
      if (this.#pong(Number(data.toString()))) {
        listener.heard()
      } else {
        listener.pinged()
      }
    })
    socket.on('ping', () => listener.pinged())
    socket.once('close', () => listener.closed())
    socket.on('error', error => {
      const { code } = error as { readonly code?: string }
      // Any other is of the network: `close` follows.
      if (code?.startsWith('WS_ERR_')) {
        listener.closed(code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH' ? 'too large' : 'malformed')
      }
    })
  }

  get bufferedBytes(): number {
    return this.#socket.bufferedAmount
  }

  send(frame: Frame): void {
    this.#socket.send(frame.bytes, TEXT)
  }

  sendParts(parts: readonly Buffer[]): void {
    const bytes = parts.reduce((sum, part) => sum + part.length, 0)
    if (bytes <= COPY_BYTES) {
      this.#socket.send(Buffer.concat(parts, bytes), TEXT)
      return
    }
    parts.forEach((part, index) => {
      this.#socket.send(part, index === parts.length - 1 ? TEXT : FIRST)
    })
  }

  ping(answered?: () => void): void {
    if (this.#socket.readyState === this.#socket.OPEN) {
      const id = ++this.#pinged
      if (answered !== undefined) {
        this.#pings.push({ id, answered })
      }
      this.#socket.ping(String(id))
    }
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  close(code: number, reason: string): void {
    const socket = this.#socket
    // A paused socket would never see the answer.
    socket.resume()
    socket.close(code, reason)
    const timer = setTimeout(() => socket.terminate(), GOODBYE_MS)
    socket.once('close', () => clearTimeout(timer))
  }

  /** False when nobody asked. */
  #pong(id: number): boolean {
    if (!(id > this.#ponged && id <= this.#pinged)) {
      return false
    }
    this.#ponged = id
    while ((this.#pings[0]?.id ?? Infinity) <= id) {
      this.#pings.shift()?.answered()
    }
    return true
  }
}
