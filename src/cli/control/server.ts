import { timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { codeOf, messageOf } from '../errors.ts'
import { type HostPort, isLoopbackName, originOf, requireLoopback } from '../host-port.ts'
import { listen } from '../listen.ts'
import { answerProbe, sendJson } from '../probes.ts'
import { type Endpoints, RequestError, type StreamEndpoint } from './endpoints.ts'

/** What a control server is made of. */
export interface ControlServerOptions {
  readonly listen: HostPort
  /** Bearer token that every request but `/healthz` and `/readyz` must carry. */
  readonly token: string
  readonly endpoints: Endpoints
  /** When the port is taken, take any other: nobody asked for this one. Default false. */
  readonly anyPortInstead?: boolean
}

/**
 * The HTTP side of the control API. Loopback only; a web page in a browser of this machine gets nowhere, as it has no token and the
 * Host header must name the loopback (DNS rebinding).
 */
export class ControlServer {
  readonly #options: ControlServerOptions
  readonly #server: Server
  readonly #stopped = new AbortController()

  constructor(options: ControlServerOptions) {
    requireLoopback(options.listen, '--control')
    this.#options = options
    this.#server = createServer({ keepAliveTimeout: 5_000, requestTimeout: 10_000 }, (request, response) => {
      void this.#handle(request, response)
    })
  }

  /** Resolves with the origin, such as `http://127.0.0.1:7470`. Throws UsageError when the port is taken. */
  async start(): Promise<string> {
    const { listen: address, anyPortInstead = false } = this.#options
    return originOf(await listen(this.#server, { ...address, where: '--control', anyPortInstead }))
  }

  /** Ends watching clients and closes. Idempotent. */
  async stop(): Promise<void> {
    this.#stopped.abort()
    this.#options.endpoints.stop()
    const closed = new Promise<void>(resolve => this.#server.close(() => resolve()))
    this.#server.closeAllConnections()
    await closed
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // A client that goes away mid-answer is no error of ours.
    response.on('error', () => undefined)
    request.resume()
    try {
      await this.#route(request, response)
    } catch (error) {
      if (response.headersSent) {
        response.destroy()
        return
      }
      const { status, code, message } = asRequestError(error)
      sendJson(response, status, { error: { code, message } })
    }
  }

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    requireLoopbackHost(request)
    const url = new URL(request.url ?? '/', 'http://localhost')
    const { endpoints } = this.#options
    if (answerProbe(url.pathname, () => endpoints.status(), response)) {
      return
    }
    this.#authenticate(request)
    const route = `${request.method} ${url.pathname}`
    const { plain, streams } = endpoints
    const stream = streams.get(route)
    if (stream !== undefined) {
      await this.#stream(stream, url.searchParams, response)
      return
    }
    const endpoint = plain.get(route)
    if (endpoint === undefined) {
      throw new RequestError(404, 'ERR_NO_ENDPOINT', `there is no ${route}; there are ${[...plain.keys(), ...streams.keys()].join(', ')}`)
    }
    sendJson(response, 200, await endpoint(url.searchParams))
  }

  #authenticate(request: IncomingMessage): void {
    const given = Buffer.from(request.headers.authorization ?? '')
    const wanted = Buffer.from(`Bearer ${this.#options.token}`)
    if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) {
      throw new RequestError(401, 'ERR_TOKEN', 'the token is missing or wrong; it stands in the control file that serve names at its start')
    }
  }

  async #stream(endpoint: StreamEndpoint, query: URLSearchParams, response: ServerResponse): Promise<void> {
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    const signal = AbortSignal.any([gone.signal, this.#stopped.signal])
    const lines = endpoint(query, signal)
    response.writeHead(200, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' })
    response.flushHeaders()
    try {
      for await (const line of lines) {
        if (!response.write(`${JSON.stringify(line)}\n`)) {
          await drained(response, signal)
        }
      }
    } catch (error) {
      if (!signal.aborted) {
        response.write(`${JSON.stringify({ error: { code: codeOf(error) ?? 'ERR_INTERNAL', message: messageOf(error) } })}\n`)
      }
    }
    response.end()
  }
}

// Resolves also when the client is gone: the iteration ends by its signal then.
function drained(response: ServerResponse, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const done = (): void => {
      response.off('drain', done)
      signal.removeEventListener('abort', done)
      resolve()
    }
    response.once('drain', done)
    signal.addEventListener('abort', done, { once: true })
    if (signal.aborted) {
      done()
    }
  })
}

function requireLoopbackHost(request: IncomingMessage): void {
  const { host = '' } = request.headers
  if (!isLoopbackName(host)) {
    throw new RequestError(403, 'ERR_HOST', `the Host header is ${JSON.stringify(host)}, allowed are 127.0.0.1, localhost and [::1]`)
  }
}

function asRequestError(error: unknown): { status: number; code: string; message: string } {
  if (error instanceof RequestError) {
    return error
  }
  const code = codeOf(error)
  // Errors of the tracker carry a code and say what is allowed; anything else is our own mistake.
  return code === undefined
    ? { status: 500, code: 'ERR_INTERNAL', message: messageOf(error) }
    : { status: code === 'ERR_NOT_ACCEPTING' ? 409 : 400, code, message: messageOf(error) }
}
