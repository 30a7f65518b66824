import type { ServerResponse } from 'node:http'
import type { Frame, Wire } from '../protocol/wire.ts'

/** What a poll was answered with. Whether it has arrived is known with the next poll. */
interface Delivery {
  readonly response: ServerResponse
  readonly messages: readonly string[]
  readonly bytes: number
  readonly asked: readonly (() => void)[]
}

/** A client by long polls: what is sent waits for the next one. */
export class LongPollWire implements Wire {
  readonly token: string
  readonly #holdMs: number
  readonly #onClose: () => void
  #messages: string[] = []
  #bytes = 0
  #poll: ServerResponse | null = null
  #hold: NodeJS.Timeout | undefined
  #isClosed = false
  #flushDue = false
  /** Who waits for the client to have taken what was sent: told with the poll that follows. */
  #asked: (() => void)[] = []
  #delivery: Delivery | null = null
  #isPaused = false
  #onResume: (() => void)[] = []

  /** A poll is held for `holdMs` at most, as it is all that tells that the client lives. */
  constructor(token: string, holdMs: number, onClose: () => void) {
    this.token = token
    this.#holdMs = holdMs
    this.#onClose = onClose
  }

  get isClosed(): boolean {
    return this.#isClosed
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
    this.#settle()
    this.#answer(204)
    if (this.#isClosed) {
      sendPoll(response, { status: 410 })
      return
    }
    this.#poll = response
    response.once('close', () => this.#left(response))
    if (this.#messages.length > 0) {
      this.#flushSoon()
    } else {
      this.#hold = setTimeout(() => this.#answer(204), this.#holdMs)
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
    sendPoll(response, { status, token: this.token, messages: status === 200 ? this.#hand(response) : [] })
  }

  #hand(response: ServerResponse): readonly string[] {
    const delivery = { response, messages: this.#messages, bytes: this.#bytes, asked: this.#asked }
    this.#delivery = delivery
    this.#messages = []
    this.#bytes = 0
    this.#asked = []
    response.once('close', () => {
      if (this.#delivery === delivery && !response.writableFinished) {
        this.#settle()
      }
    })
    return delivery.messages
  }

  /** The client has come again, and has what it was sent; or that never left whole: it is the first thing that the next poll gets. */
  #settle(): void {
    const delivery = this.#delivery
    this.#delivery = null
    if (delivery === null) {
      return
    }
    if (delivery.response.writableFinished) {
      for (const answered of delivery.asked) {
        answered()
      }
    } else {
      delivery.response.destroy()
      this.#messages = [...delivery.messages, ...this.#messages]
      this.#bytes += delivery.bytes
      this.#asked = [...delivery.asked, ...this.#asked]
    }
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
