import type { IncomingMessage } from 'node:http'
import { expect } from 'vitest'
import { WebSocket } from 'ws'
import { closeLater } from './close-all.ts'
import type { Json } from './json.ts'

/** `[join_ref, ref, topic, event, payload]` */
export type RawFrame = [joinRef: string | null, ref: string | null, topic: string, event: string, payload: Json]

export interface RawOptions {
  readonly user?: string
  readonly session?: string
  /** More of the query. */
  readonly params?: Record<string, string>
  readonly vsn?: string
  readonly headers?: Record<string, string>
  /** Of `sec-websocket-protocol`. */
  readonly protocols?: string[]
  /** Answer pings. Default true. */
  readonly autoPong?: boolean
  /** Offer per-message deflate. Default false. */
  readonly perMessageDeflate?: boolean
}

/** A WebSocket that says what the test says, and hears every frame. */
export interface RawClient {
  readonly ws: WebSocket
  /** All text frames, parsed. */
  readonly frames: readonly RawFrame[]
  /** The same, as they came. */
  readonly texts: readonly string[]
  readonly binaries: readonly Buffer[]
  /** Pings of the server. */
  readonly pings: number
  /** How it ended; undefined while it is open. 1006: without a goodbye. */
  readonly close: { readonly code: number; readonly reason: string } | undefined
  /** Sends an array as JSON, a text as it is, a Buffer as a binary frame. */
  send(frame: RawFrame | string | Buffer): void
  /** The first frame that matches and was not given before, by `next` or as a reply. Fails, and shows what came instead, when there is none in time. */
  next(matches?: (frame: RawFrame) => boolean, patienceMs?: number): Promise<RawFrame>
  /** Sends with a new ref, and resolves with the payload of the reply: `{ status, response }`. A join's ref is the topic's join ref from then on. */
  request(topic: string, event: string, payload?: object): Promise<Json>
  /** Resolves when it is closed. */
  closed(patienceMs?: number): Promise<{ readonly code: number; readonly reason: string }>
  /** Reads nothing from the network until `resumeReading`: pings are not answered either. */
  stopReading(): void
  resumeReading(): void
  /** Cuts the connection without a goodbye. */
  terminate(): void
}

/** The server answered the handshake with something else. */
export class HandshakeError extends Error {
  override readonly name = 'HandshakeError'
  readonly status: number
  readonly body: string

  constructor(status: number, body: string) {
    super(`handshake refused: ${status} ${body}`)
    this.status = status
    this.body = body
  }
}

const PATIENCE_MS = 10_000

/** Connects to `url`, such as `ws://127.0.0.1:4000/socket`. Throws HandshakeError when it is turned away. */
export async function openRaw(url: string, options: RawOptions = {}): Promise<RawClient> {
  const { user, session, params, vsn = '2.0.0', headers, protocols, autoPong = true, perMessageDeflate = false } = options
  const query = new URLSearchParams({ ...(user !== undefined && { user }), ...(session !== undefined && { session }), ...params, vsn })
  const socketOptions = { autoPong, perMessageDeflate, ...(headers !== undefined && { headers }) }
  const ws = new WebSocket(`${url}/websocket?${query}`, protocols ?? [], socketOptions)
  // Listens before the handshake is over: the first frames may come with its answer.
  const client = new Raw(ws)
  closeLater(() => ws.terminate(), 'client')
  await new Promise<void>((resolve, reject) => {
    ws.once('open', resolve)
    ws.once('error', reject)
    ws.once(
      'unexpected-response',
      (_, response) => void bodyOf(response).then(body => reject(new HandshakeError(response.statusCode ?? 0, body)))
    )
  })
  return client
}

class Raw implements RawClient {
  readonly ws: WebSocket
  readonly frames: RawFrame[] = []
  readonly texts: string[] = []
  readonly binaries: Buffer[] = []
  pings = 0
  close: { code: number; reason: string } | undefined
  readonly #waiters = new Set<() => void>()
  readonly #joinRefs = new Map<string, string>()
  readonly #given = new Set<RawFrame>()
  #lastRef = 0

  constructor(ws: WebSocket) {
    this.ws = ws
    ws.on('message', (data: Buffer, isBinary: boolean) => {
      if (isBinary) {
        this.binaries.push(data)
      } else {
        this.texts.push(data.toString())
        this.frames.push(JSON.parse(data.toString()))
      }
      this.#wake()
    })
    ws.on('ping', () => void this.pings++)
    // An error is always followed by the close, which tells all that a test asks for.
    ws.on('error', () => undefined)
    ws.on('close', (code, reason) => {
      this.close = { code, reason: reason.toString() }
      this.#wake()
    })
  }

  send(frame: RawFrame | string | Buffer): void {
    this.ws.send(Array.isArray(frame) ? JSON.stringify(frame) : frame)
  }

  async next(matches: (frame: RawFrame) => boolean = () => true, patienceMs = PATIENCE_MS): Promise<RawFrame> {
    const find = (): RawFrame | undefined => this.frames.find(frame => !this.#given.has(frame) && matches(frame))
    if (!(await this.#until(() => find() !== undefined, patienceMs))) {
      const came = this.frames.filter(frame => !this.#given.has(frame)).map(frame => `\n  ${JSON.stringify(frame).slice(0, 300)}`)
      const end = this.close === undefined ? '' : `\n  closed with ${this.close.code} ${this.close.reason}`
      expect.fail(`no such frame within ${patienceMs} ms; instead came:${came.join('') || '\n  nothing'}${end}`)
    }
    const found = find() as RawFrame
    this.#given.add(found)
    return found
  }

  async request(topic: string, event: string, payload: object = {}): Promise<unknown> {
    const ref = String(++this.#lastRef)
    if (event === 'phx_join') {
      this.#joinRefs.set(topic, ref)
    }
    this.send([this.#joinRefs.get(topic) ?? null, ref, topic, event, payload])
    const [, , , , reply] = await this.next(frame => frame[1] === ref && frame[3] === 'phx_reply')
    return reply
  }

  async closed(patienceMs = PATIENCE_MS): Promise<{ code: number; reason: string }> {
    if (!(await this.#until(() => this.close !== undefined, patienceMs))) {
      expect.fail(`not closed within ${patienceMs} ms; the last frames: ${this.texts.slice(-5).join('\n  ')}`)
    }
    return this.close as { code: number; reason: string }
  }

  stopReading(): void {
    this.ws.pause()
  }

  resumeReading(): void {
    this.ws.resume()
  }

  terminate(): void {
    this.ws.terminate()
  }

  /** Looks after each frame, and at the end. False when it never held. */
  async #until(holds: () => boolean, patienceMs: number): Promise<boolean> {
    const endMs = performance.now() + patienceMs
    while (!holds()) {
      const leftMs = endMs - performance.now()
      if (leftMs <= 0 || this.close !== undefined) {
        return false
      }
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, leftMs)
      this.#waiters.add(resolve)
      await promise
      this.#waiters.delete(resolve)
      clearTimeout(timer)
    }
    return true
  }

  #wake(): void {
    for (const wake of this.#waiters) {
      wake()
    }
  }
}

async function bodyOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of response) {
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
