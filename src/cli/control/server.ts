import { timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { codeOf, messageOf, UsageError } from '../errors.ts'
import { type HostPort, originOf, requireLoopback } from '../host-port.ts'
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
    const { listen, anyPortInstead = false } = this.#options
    try {
      await this.#listen(listen)
    } catch (error) {
      if (codeOf(error) === 'EADDRINUSE' && anyPortInstead) {
        await this.#listen({ ...listen, port: 0 })
      } else if (codeOf(error) === 'EADDRINUSE') {
        throw new UsageError(`--control ${listen.host}:${listen.port} is taken by another process; give another port, or 0 for any`)
      } else {
        throw new UsageError(`--control ${listen.host}:${listen.port}: ${messageOf(error)}`)
      }
    }
    return originOf({ host: listen.host, port: (this.#server.address() as AddressInfo).port })
  }

  /** Ends watching clients and closes. Idempotent. */
  async stop(): Promise<void> {
    this.#stopped.abort()
    this.#options.endpoints.stop()
    const closed = new Promise<void>(resolve => this.#server.close(() => resolve()))
    this.#server.closeAllConnections()
    await closed
  }

  #listen({ host, port }: HostPort): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(port, host, () => {
        this.#server.removeListener('error', reject)
        resolve()
      })
    })
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
      send(response, status, { error: { code, message } })
    }
  }

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    requireLoopbackHost(request)
    const url = new URL(request.url ?? '/', 'http://localhost')
    if (this.#probe(url.pathname, response)) {
      return
    }
    this.#authenticate(request)
    const route = `${request.method} ${url.pathname}`
    const { plain, streams } = this.#options.endpoints
    const stream = streams.get(route)
    if (stream !== undefined) {
      await this.#stream(stream, url.searchParams, response)
      return
    }
    const endpoint = plain.get(route)
    if (endpoint === undefined) {
      throw new RequestError(404, 'ERR_NO_ENDPOINT', `there is no ${route}; there are ${[...plain.keys(), ...streams.keys()].join(', ')}`)
    }
    send(response, 200, await endpoint(url.searchParams))
  }

  #probe(path: string, response: ServerResponse): boolean {
    if (path === '/healthz') {
      send(response, 200, { ok: true })
      return true
    }
    if (path === '/readyz') {
      const { ready, draining } = this.#options.endpoints.status()
      send(response, ready && !draining ? 200 : 503, { ready, draining })
      return true
    }
    return false
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
  const host = (request.headers.host ?? '').replace(/:\d+$/, '')
  if (!['127.0.0.1', 'localhost', '[::1]'].includes(host)) {
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

// JSON knows no Infinity, and phi may be one.
const finite = (_name: string, value: unknown): unknown =>
  typeof value === 'number' && !Number.isFinite(value) ? Math.sign(value) * Number.MAX_VALUE : value

function send(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body, finite)
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store', 'content-length': Buffer.byteLength(text) })
  response.end(text)
}
