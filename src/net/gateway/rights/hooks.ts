import type { Meta } from '../../../tracker/types.ts'

/** Who asks to come in, as the gateway saw it. Nothing in it is proven. */
export interface GatewayRequest {
  /** The query of the URL, as the client's `params`; the protocol's own names are taken out. Of a name given twice the last one counts. */
  readonly params: Readonly<Record<string, string>>
  /** The client's token: its `authToken`, a bearer in `authorization`, or its param `token`, `access_token` or `apikey`; the first that is there. */
  readonly token: string | undefined
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** As option `addressOf` gives it; by default the other end of the TCP connection. */
  readonly address: string
  /** The path under which the client came in: one of option `path`. */
  readonly path: string
}

/** Who a client is, as your `authenticate` says. */
export interface Identity {
  readonly user: string
  /**
   * What survives a reconnect: a client that comes back with it, on any replica, adopts its presences without an event. Default: the client's param
   * `session`. It counts within its user only, so no client can take another user's.
   */
  readonly session?: string
  /** The meta of the user's connection, as for `tracker.connect`. */
  readonly meta?: Meta
  /** Wall clock in ms since 1970 when the token ends: the socket is closed then, unless the client sent a newer token (event `access_token`). */
  readonly expiresAtMs?: number
  /** Whatever `authorize` needs; the gateway does not look at it. */
  readonly claims?: unknown
}

/** `watch`: to be told who is in a topic. `present`: to be told of. */
export type GatewayAction = 'watch' | 'present'

/** What `authorize` is asked. */
export interface GatewayQuestion {
  readonly user: string
  readonly topic: string
  readonly action: GatewayAction
  /** What the client sent: of its join, or of its track or update. Its own words: nothing in it is proven. */
  readonly payload: Readonly<Record<string, unknown>>
  /** The key that the client asks for (Supabase's `presence.key`). It is used only if the answer says so. */
  readonly wantedKey: string | undefined
  readonly identity: Identity
  readonly address: string
}

/** Made by `allow`. */
export interface Allowed {
  readonly allowed: true
  readonly meta: Meta
  readonly key: string | undefined
  readonly validMs: number | undefined
}

/** Made by `deny`. */
export interface Denied {
  readonly allowed: false
  readonly reason: string
}

/** `true` allows, with an empty meta; an object is the meta to show; `false`, null and undefined deny. `allow` and `deny` say more. */
export type GatewayAnswer = boolean | null | undefined | Meta | Allowed | Denied

const made = new WeakSet<object>()

/**
 * Allows, and says with what.
 *
 * @param options.meta what is shown of the client; `present` only. Default: empty.
 * @param options.key under which it is shown. Default: the user.
 * @param options.validMs how long the answer holds; then `authorize` is asked again, and a client that is denied is put out. Default: `authorizeCacheMs`.
 * @throws TypeError naming what is not as said here, its value, and what is allowed; thrown on by `authorize`, it denies
 */
export function allow(options: { readonly meta?: Meta; readonly key?: string; readonly validMs?: number } = {}): Allowed {
  const { meta = {}, key, validMs } = options
  if (!isPlain(meta)) {
    throw new TypeError(`allow: meta is ${shown(meta)}, allowed is a plain object`)
  }
  if (key !== undefined && typeof key !== 'string') {
    throw new TypeError(`allow: key is ${shown(key)}, allowed is a string`)
  }
  if (validMs !== undefined && !(typeof validMs === 'number' && validMs >= 0)) {
    throw new TypeError(`allow: validMs is ${shown(validMs)}, allowed is a number from 0`)
  }
  const allowed = Object.freeze({ allowed: true as const, meta, key, validMs })
  made.add(allowed)
  return allowed
}

/** Denies. The client is told `reason`; the default tells nothing that a topic which does not exist would not tell. @throws TypeError when it is no string */
export function deny(reason: string = UNAUTHORIZED): Denied {
  if (typeof reason !== 'string') {
    throw new TypeError(`deny: reason is ${shown(reason)}, allowed is a string`)
  }
  const denied = Object.freeze({ allowed: false as const, reason })
  made.add(denied)
  return denied
}

export const UNAUTHORIZED = 'unauthorized'

/** What an answer means. A meta that looks like the result of `allow` or `deny` is a meta. @throws TypeError for what is no answer: nothing is allowed by mistake */
export function readAnswer(answer: GatewayAnswer): Allowed | Denied {
  if (typeof answer === 'object' && answer !== null && made.has(answer)) {
    return answer as Allowed | Denied
  }
  if (isPlain(answer)) {
    return allow({ meta: answer })
  }
  if (typeof answer === 'boolean' || answer === null || answer === undefined) {
    return answer === true ? allow() : deny()
  }
  throw new TypeError(`authorize answered ${shown(answer)}, allowed are true, false, a meta (a plain object), and what allow and deny make`)
}

/** Who that is, as `authenticate` answered; undefined when it knows nobody. @throws TypeError for what is no answer: nobody comes in by mistake */
export function readIdentity(answer: Identity | null | undefined): Identity | undefined {
  if (answer === null || answer === undefined) {
    return undefined
  }
  if (typeof answer !== 'object' || Array.isArray(answer)) {
    throw new TypeError(`authenticate answered ${shown(answer)}, allowed are an identity ({ user }) and null`)
  }
  const { user, session, expiresAtMs } = answer
  if (typeof user !== 'string') {
    throw new TypeError(`authenticate: user is ${shown(user)}, allowed is a string`)
  }
  if (session !== undefined && typeof session !== 'string') {
    throw new TypeError(`authenticate: session is ${shown(session)}, allowed is a string, or undefined`)
  }
  if (expiresAtMs !== undefined && (typeof expiresAtMs !== 'number' || Number.isNaN(expiresAtMs))) {
    throw new TypeError(`authenticate: expiresAtMs is ${shown(expiresAtMs)}, allowed is a number, or undefined`)
  }
  return answer
}

function isPlain(value: unknown): value is Meta {
  if (typeof value !== 'object' || value === null) {
    return false
  }
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

function shown(value: unknown): string {
  if (typeof value === 'object' && value !== null) {
    return Array.isArray(value) ? 'an array' : `an object (${value.constructor?.name ?? 'without a class'})`
  }
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 64)) : typeof value === 'function' ? 'a function' : String(value)
}

/** Says who a client is, or null to turn it away. A rejection turns it away as well. */
export type Authenticate = (request: GatewayRequest) => Identity | null | undefined | Promise<Identity | null | undefined>
/** Says whether a user may do that. A rejection denies. */
export type Authorize = (question: GatewayQuestion) => GatewayAnswer | Promise<GatewayAnswer>
