import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { ResolvedGatewayOptions } from '../options.ts'
import type { GatewayRequest } from '../rights/hooks.ts'

const SUBPROTOCOL_TOKEN = 'base64url.bearer.phx.'
/** Long polls of the Phoenix client name their session so, in the param that apps use for their tokens. */
export const POLL_TOKEN = 'poll.'

/** What the hooks are shown of a request. @throws what option `addressOf` throws; TypeError when it gives no string */
export function readRequest(request: IncomingMessage, url: URL, path: string, options: ResolvedGatewayOptions): GatewayRequest {
  const params: Record<string, string> = Object.create(null)
  for (const [name, value] of url.searchParams) {
    if (name !== 'vsn' && !(name === 'token' && (value === 'null' || value.startsWith(POLL_TOKEN)))) {
      params[name] = value
    }
  }
  const address: unknown = options.addressOf(request)
  if (typeof address !== 'string') {
    throw new TypeError(`addressOf gave ${String(address)}, allowed is a string`)
  }
  return Object.freeze({
    params: Object.freeze(params),
    token: tokenOf(request, params),
    headers: request.headers,
    address,
    path
  })
}

/**
 * The same for requests that `authenticate` could not tell apart: what is granted to one of them holds for the other, if the user is the same. Undefined
 * without a token: then nothing but the socket itself tells what it went by.
 */
export function proofOf({ token, path, params, headers: { cookie } }: GatewayRequest): string | undefined {
  const shown = JSON.stringify([token, path, cookie ?? null, params])
  return token === undefined ? undefined : createHash('sha256').update(shown).digest('base64')
}

function tokenOf({ headers }: IncomingMessage, params: Readonly<Record<string, string>>): string | undefined {
  const protocol = (headers['sec-websocket-protocol'] ?? '')
    .split(',')
    .map(each => each.trim())
    .find(each => each.startsWith(SUBPROTOCOL_TOKEN))
  if (protocol !== undefined) {
    return Buffer.from(protocol.slice(SUBPROTOCOL_TOKEN.length), 'base64url').toString()
  }
  const bearer = /^bearer\s+(\S+)$/i.exec(headers.authorization ?? '')?.[1]
  const header = headers['x-phoenix-authtoken']
  return bearer ?? (typeof header === 'string' ? header : undefined) ?? params.token ?? params.access_token ?? params.apikey
}

/** The path a client came in by, and what it wants there; undefined when it is none of ours. */
export function matchPath(pathname: string, paths: readonly string[]): { readonly path: string; readonly transport: string } | undefined {
  const slash = pathname.lastIndexOf('/')
  const path = pathname.slice(0, slash)
  const transport = pathname.slice(slash + 1)
  return paths.includes(path) && (transport === 'websocket' || transport === 'longpoll') ? { path, transport } : undefined
}

/** Undefined for a target that no URL can be made of. */
export function urlOf(request: IncomingMessage): URL | undefined {
  return URL.parse(request.url ?? '/', 'http://gateway.invalid') ?? undefined
}

/** Whether the page that asks may. Programs send no Origin; their users are asked for by `authenticate` alone. */
export function isOriginAllowed({ headers }: IncomingMessage, origins: ResolvedGatewayOptions['origins']): boolean {
  const { origin, host } = headers
  if (origin === undefined || origins === '*') {
    return true
  }
  return origins === undefined ? host !== undefined && URL.parse(origin)?.host === host : origins.has(origin)
}
