import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ResolvedGatewayOptions } from '../options.ts'
import type { Wire, WireListener } from '../protocol/wire.ts'
import type { HttpRoute } from '../types.ts'
import type { Admission, Admitted } from './admission.ts'
import { LongPollWire, sendPoll } from './long-poll-wire.ts'
import { matchPath, POLL_TOKEN } from './request.ts'

/** The Phoenix client sends at most so many messages in one request. */
const MAX_BATCH = 100
/** The Phoenix client waits for twice as long. */
const MAX_HOLD_MS = 10_000
/** A batch may be as large as so many frames of the largest size. */
const MAX_BATCH_FRAMES = 16

interface Session {
  readonly wire: LongPollWire
  readonly listener: WireListener
  /** A batch is on its way in. */
  isReceiving: boolean
}

/** Takes clients in by long polls, as the Phoenix client falls back to. */
export class LongPollDoor {
  readonly #options: ResolvedGatewayOptions
  readonly #admission: Admission
  readonly #accept: (wire: Wire, admitted: Admitted) => WireListener
  readonly #sessions = new Map<string, Session>()

  constructor(options: ResolvedGatewayOptions, admission: Admission, accept: (wire: Wire, admitted: Admitted) => WireListener) {
    this.#options = options
    this.#admission = admission
    this.#accept = accept
  }

  readonly route: HttpRoute = (request, response, url) => {
    const match = matchPath(url.pathname, this.#options.paths)
    if (match?.transport !== 'longpoll') {
      return false
    }
    response.on('error', () => undefined)
    if (!this.#admission.allowsOrigin(request)) {
      request.resume()
      sendPoll(response, { status: 403 })
      return true
    }
    allowOrigin(request, response)
    void this.#handle(request, response, url, match.path)
    return true
  }

  stop(): void {
    for (const { wire } of this.#sessions.values()) {
      wire.close()
    }
  }

  async #handle(request: IncomingMessage, response: ServerResponse, url: URL, path: string): Promise<void> {
    if (request.method === 'OPTIONS') {
      request.resume()
      response.writeHead(204).end()
      return
    }
    const token = url.searchParams.getAll('token').find(each => each.startsWith(POLL_TOKEN))
    const session = token === undefined ? undefined : this.#sessions.get(token)
    if (request.method === 'GET') {
      request.resume()
      if (session !== undefined) {
        session.listener.heard()
        session.wire.poll(response)
      } else if (token !== undefined) {
        sendPoll(response, { status: 410 })
      } else {
        await this.#open(request, response, url, path)
      }
    } else if (request.method === 'POST' && session !== undefined) {
      await this.#receiveAlone(session, request, response)
    } else {
      request.resume()
      sendPoll(response, { status: request.method === 'POST' ? 410 : 405 })
    }
  }

  async #open(request: IncomingMessage, response: ServerResponse, url: URL, path: string): Promise<void> {
    const admitted = await this.#admission.admit(request, url, path, () => response.destroyed)
    if ('status' in admitted) {
      // 403 ends the client's attempts, as nothing will change; after anything else it tries again.
      sendPoll(response, { status: admitted.status === 403 ? 403 : 500 })
      return
    }
    const token = POLL_TOKEN + randomBytes(24).toString('base64url')
    const wire = new LongPollWire(token, Math.min(MAX_HOLD_MS, this.#options.pingIntervalMs), () => this.#sessions.delete(token))
    this.#sessions.set(token, { wire, listener: this.#accept(wire, admitted), isReceiving: false })
    sendPoll(response, { status: 410, token })
  }

  /** One batch at a time, as the client sends them: what a session makes us hold is bounded by one. */
  async #receiveAlone(session: Session, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (session.isReceiving) {
      request.resume()
      sendPoll(response, { status: 429 })
      return
    }
    session.isReceiving = true
    try {
      await this.#receive(session, request, response)
    } finally {
      session.isReceiving = false
    }
  }

  async #receive({ wire, listener }: Session, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request, this.#options.limits.frameBytes * MAX_BATCH_FRAMES)
    const lines = body?.split('\n') ?? []
    if (body === undefined || lines.length > MAX_BATCH) {
      sendPoll(response, { status: 413 })
      return
    }
    for (const line of lines) {
      if (Buffer.byteLength(line) > this.#options.limits.frameBytes) {
        listener.closed('too large')
        sendPoll(response, { status: 413 })
        return
      }
      // Binary frames come as base64.
      if (line.startsWith('[')) {
        listener.message(line)
      } else {
        listener.binary(Buffer.from(line, 'base64'))
      }
    }
    await wire.ready()
    sendPoll(response, { status: wire.isClosed ? 410 : 200 })
  }
}

function allowOrigin({ headers }: IncomingMessage, response: ServerResponse): void {
  if (headers.origin !== undefined) {
    response.setHeader('access-control-allow-origin', headers.origin)
    response.setHeader('access-control-allow-methods', 'GET, POST, OPTIONS')
    response.setHeader('access-control-allow-headers', 'content-type, x-phoenix-authtoken, authorization')
    response.setHeader('access-control-max-age', '600')
    response.setHeader('vary', 'origin')
  }
}

/** Undefined when it is too large, or did not come whole. */
async function readBody(request: IncomingMessage, maxBytes: number): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > maxBytes) {
        return undefined
      }
      chunks.push(chunk)
    }
  } catch {
    return undefined
  }
  return Buffer.concat(chunks).toString()
}
