import type { ServerResponse } from 'node:http'
import type { Frame, Wire } from './wire.ts'

/** A poll is held for so long at most; the Phoenix client waits for twice as long. */
const HOLD_MS = 10_000

/** A client by long polls: what is sent waits for the next one. */
export class LongPollWire implements Wire {
  readonly kind = 'longpoll'
  readonly token: string
  readonly #onClose: () => void
  #messages: string[] = []
  #bytes = 0
  #poll: ServerResponse | null = null
  #hold: NodeJS.Timeout | undefined
  #isClosed = false
  #flushDue = false
  /** Who waits for the client to have taken what was sent: told with the poll that follows. */
  #asked: (() => void)[] = []
  #answerable: (() => void)[] = []
  #isPaused = false
  #onResume: (() => void)[] = []

  constructor(token: string, onClose: () => void) {
    this.token = token
    this.#onClose = onClose
  }

  get bufferedBytes(): number {
    return this.#bytes
  }

  send(frame: Frame): void {
    this.#push(frame.text, frame.bytes.length)
  }

  sendParts(parts: readonly Buffer[]): void {
    const whole = Buffer.concat(parts)
    this.#push(whole.toString(), whole.length)
  }

  ping(answered?: () => void): void {
    if (answered !== undefined) {
      this.#asked.push(answered)
    }
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    for (const go of this.#onResume.splice(0)) {
      go()
    }
  }

  /** Resolves when the client may send more: its next batch waits for the answer to this one. */
  ready(): Promise<void> {
    return this.#isPaused ? new Promise(resolve => this.#onResume.push(resolve)) : Promise.resolve()
  }

  close(): void {
    if (!this.#isClosed) {
      this.#isClosed = true
      this.resume()
      this.#answer(410)
      this.#onClose()
    }
  }

  /** The client has come for what there is. A poll that is held already is let go: its client has given it up. */
  poll(response: ServerResponse): void {
    for (const answered of this.#answerable.splice(0)) {
      answered()
    }
    this.#answer(204)
    this.#poll = response
    response.once('close', () => this.#left(response))
    if (this.#messages.length > 0) {
      this.#flushSoon()
    } else {
      this.#hold = setTimeout(() => this.#answer(204), HOLD_MS)
    }
  }

  #left(response: ServerResponse): void {
    if (this.#poll === response) {
      clearTimeout(this.#hold)
      this.#poll = null
    }
  }

  #push(text: string, bytes: number): void {
    if (!this.#isClosed) {
      this.#messages.push(text)
      this.#bytes += bytes
      this.#flushSoon()
    }
  }

  /** What is sent in one turn of the event loop goes together. */
  #flushSoon(): void {
    if (!this.#flushDue && this.#poll !== null) {
      this.#flushDue = true
      setImmediate(() => {
        this.#flushDue = false
        if (this.#messages.length > 0) {
          this.#answer(200)
        }
      })
    }
  }

  #answer(status: 200 | 204 | 410): void {
    const response = this.#poll
    if (response === null) {
      return
    }
    clearTimeout(this.#hold)
    this.#poll = null
    const isDelivery = status === 200
    const messages = isDelivery ? this.#messages : []
    const bytes = this.#bytes
    if (isDelivery) {
      this.#messages = []
      this.#bytes = 0
      this.#answerable.push(...this.#asked.splice(0))
      response.once('close', () => {
        if (!response.writableFinished) {
          // It never left: it is the first thing that the next poll gets.
          this.#messages.unshift(...messages)
          this.#bytes += bytes
        }
      })
    }
    sendPoll(response, { status, token: this.token, messages })
  }
}

/** Answers a poll. The status of HTTP itself is always 200: the client looks into the body. */
export function sendPoll(
  response: ServerResponse,
  body: { readonly status: number; readonly token?: string; readonly messages?: readonly string[] }
): void {
  if (!response.destroyed) {
    response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' })
    response.end(JSON.stringify({ messages: [], ...body }))
  }
}
