import { connect, type Socket } from 'node:net'

const CRLF2 = Buffer.from('\r\n\r\n')
const TEXT = 1
const CLOSE = 8
const PING = 9
const PONG = 10
const CHUNK_BYTES = 256 * 1024

/** All sockets read into it: what is read is looked at before the next one reads. */
const shared = Buffer.allocUnsafe(CHUNK_BYTES)

export interface SocketListener {
  open(): void
  /** The payload of a text frame is `bytes` from `start` to `end`. Not to be kept: the buffer is used again. */
  text(bytes: Buffer, start: number, end: number): void
  /** Read off TCP. */
  read(byteCount: number): void
  closed(why: string): void
}

/**
 * The client's side of a WebSocket with as little work as can be: thousands of them, and what they read, must not take the processor from the server under
 * measurement. It trusts the server.
 */
export class CheapSocket {
  readonly #socket: Socket
  readonly #listener: SocketListener
  #open = false
  /** Read, and not yet a whole frame. */
  #rest: Buffer | undefined

  constructor(port: number, path: string, listener: SocketListener) {
    this.#listener = listener
    const callback = (length: number, buffer: Uint8Array): boolean => this.#read(buffer as Buffer, length)
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true, onread: { buffer: shared, callback } })
    this.#socket.on('error', error => listener.closed(error.message))
    this.#socket.on('end', () => listener.closed('ended by the server'))
    const lines = [`GET ${path} HTTP/1.1`, 'Host: 127.0.0.1', 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13']
    this.#socket.write(`${[...lines, 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='].join('\r\n')}\r\n\r\n`)
  }

  send(text: string): void {
    this.#write(TEXT, Buffer.from(text))
  }

  destroy(): void {
    this.#socket.destroy()
  }

  #write(opcode: number, payload: Buffer): void {
    const { length } = payload
    // The mask is four zeros: the payload stays as it is.
    const header = length < 126 ? [0x80 | opcode, 0x80 | length] : [0x80 | opcode, 0x80 | 126, length >> 8, length & 0xff]
    this.#socket.write(Buffer.concat([Buffer.from([...header, 0, 0, 0, 0]), payload]))
  }

  #read(buffer: Buffer, length: number): boolean {
    this.#listener.read(length)
    const chunk = buffer.subarray(0, length)
    const bytes = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk])
    const start = this.#open ? 0 : this.#handshake(bytes)
    const taken = start === undefined ? 0 : this.#frames(bytes, start)
    this.#rest = taken === bytes.length ? undefined : Buffer.from(bytes.subarray(taken))
    return true
  }

  /** Where the first frame begins; undefined while the answer to the handshake is not whole. */
  #handshake(bytes: Buffer): number | undefined {
    const end = bytes.indexOf(CRLF2)
    if (end < 0) {
      return undefined
    }
    if (!bytes.toString('latin1', 0, 12).endsWith('101')) {
      this.#listener.closed(bytes.toString('latin1', 0, end))
      return undefined
    }
    this.#open = true
    this.#listener.open()
    return end + CRLF2.length
  }

  /** Tells all whole frames from `start` on. Returns where the rest begins. */
  #frames(bytes: Buffer, start: number): number {
    let at = start
    while (at + 2 <= bytes.length) {
      const short = (bytes[at + 1] as number) & 0x7f
      const begin = at + (short < 126 ? 2 : short === 126 ? 4 : 10)
      if (begin > bytes.length) {
        break
      }
      const length = short < 126 ? short : short === 126 ? bytes.readUInt16BE(at + 2) : bytes.readUInt32BE(at + 6)
      if (begin + length > bytes.length) {
        break
      }
      this.#frame((bytes[at] as number) & 0x0f, bytes, begin, begin + length)
      at = begin + length
    }
    return at
  }

  #frame(opcode: number, bytes: Buffer, start: number, end: number): void {
    if (opcode === TEXT) {
      this.#listener.text(bytes, start, end)
    } else if (opcode === PING) {
      this.#write(PONG, bytes.subarray(start, end))
    } else if (opcode === CLOSE) {
      this.#listener.closed(`closed by the server with ${end - start >= 2 ? bytes.readUInt16BE(start) : 'no code'}`)
    }
  }
}
