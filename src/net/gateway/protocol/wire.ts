/** What is sent to many: encoded once. */
export interface Frame {
  readonly text: string
  readonly bytes: Buffer
}

export function frameOf(text: string): Frame {
  return { text, bytes: Buffer.from(text) }
}

/** What a wire tells the client that it carries. */
export interface WireListener {
  /** A whole text frame. */
  message(text: string): void
  /** A whole binary frame. */
  binary(bytes: Uint8Array): void
  /** The other side lives: it answered a ping, or came for more. */
  heard(): void
  /** It says so unasked, or asks the same of us: as often as it likes. */
  pinged(): void
  /** It is over; `malformed` and `too large` are of what it sent last. Nothing is told after it. */
  closed(reason?: 'gone' | 'malformed' | 'too large'): void
}

/** One client's way in: a WebSocket, or a row of long polls. */
export interface Wire {
  /** What was sent and not yet taken by the network. */
  readonly bufferedBytes: number
  send(frame: Frame): void
  /** One message in parts, each of which may be shared with other messages. */
  sendParts(parts: readonly Buffer[]): void
  /** Asks the other side whether it lives. `answered` is called when it has taken all that was sent before. */
  ping(answered?: () => void): void
  /** Reads nothing until `resume`: the other side feels it. */
  pause(): void
  resume(): void
  /** Says goodbye; a side that does not answer in 2 s is cut off. Idempotent. */
  close(code: number, reason: string): void
}
