/**
 * Ready-made hooks for tokens that your own servers sign: JSON Web Tokens.
 *
 * ```ts
 * attachGateway(server, tracker, {
 *   authenticate: authenticateJwt({ secret: process.env.JWT_SECRET, issuer: 'https://app.example' }),
 *   authorize: authorizeByClaims({ clientMeta: ({ status }) => (status === 'away' ? { status } : {}) })
 * })
 * ```
 *
 * with tokens such as `{ "sub": "user:ann", "exp": 1790000000, "rollcall": { "watch": ["room:*"], "present": ["room:1"], "meta": { "name": "Ann" } } }`.
 */

import { type JWTPayload, type JWTVerifyOptions, jwtVerify } from 'jose'
import { InvalidOptionsError } from '../../../tracker/errors.ts'
import { OptionReader } from '../../../tracker/option-reader.ts'
import type { Meta } from '../../../tracker/types.ts'
import { type Authenticate, type Authorize, allow, deny, type Identity } from './hooks.ts'
import { type JwtKeyOptions, readJwtKey } from './jwt-keys.ts'

export type { JwtAlgorithm, JwtKeyOptions } from './jwt-keys.ts'
/** What a token says. */
export type JwtClaims = Readonly<JWTPayload>

export interface JwtOptions extends JwtKeyOptions {
  /** `iss` has to be it, or one of them. Default: not looked at. */
  readonly issuer?: string | readonly string[]
  /** `aud` has to name it, or one of them. Default: not looked at. Give it where the same key signs tokens for other services. */
  readonly audience?: string | readonly string[]
  /** By how much the clocks of signer and gateway may differ. Default 0 ms. */
  readonly clockToleranceMs?: number
  /** Default: the claim `sub`. */
  readonly user?: (claims: JwtClaims) => string
  /** Undefined: the client's param `session`, which is the default for all. */
  readonly session?: (claims: JwtClaims) => string | undefined
}

const OPTION_NAMES = ['secret', 'publicKey', 'algorithm', 'jwks', 'issuer', 'audience', 'clockToleranceMs', 'user', 'session']

/**
 * Says by a signed token who a client is; its payload becomes `identity.claims`, its `exp` the end of the socket. The kind of key alone decides which algorithms
 * count, whatever the token's header says. A client whose token is missing, malformed, expired, for somebody else or wrongly signed is turned away; which of
 * them it was is not told. A token without `exp` never ends.
 *
 * @throws InvalidOptionsError when the options have not exactly one fit key, or a bad value.
 */
export function authenticateJwt(options: JwtOptions): Authenticate {
  const read = new OptionReader('', options, OPTION_NAMES)
  const { key, algorithms } = readJwtKey(options)
  requireFunction('user', options.user)
  requireFunction('session', options.session)
  const clockToleranceMs = read.duration('clockToleranceMs', 0, 0)
  const expected: JWTVerifyOptions = {
    algorithms: [...algorithms],
    clockTolerance: clockToleranceMs / 1_000,
    ...expectation('issuer', options.issuer),
    ...expectation('audience', options.audience)
  }
  return async ({ token }) => {
    if (token === undefined) {
      return null
    }
    try {
      const { payload } = await jwtVerify(token, key, expected)
      return toIdentity(payload, options, clockToleranceMs)
    } catch {
      return null
    }
  }
}

// An empty text would be no expectation at all.
function expectation(
  name: 'issuer' | 'audience',
  value: string | readonly string[] | undefined
): { issuer?: string[]; audience?: string[] } {
  if (value === undefined) {
    return {}
  }
  const all = typeof value === 'string' ? [value] : value
  if (!Array.isArray(all) || all.length === 0 || all.some(each => typeof each !== 'string' || each === '')) {
    throw new InvalidOptionsError(`${name} is ${JSON.stringify(value)}, allowed is a text or an array of texts, none of them empty`)
  }
  return { [name]: [...all] }
}

function toIdentity(claims: JwtClaims, { user = subject, session }: JwtOptions, clockToleranceMs: number): Identity | null {
  const name = user(claims)
  const resumes = session?.(claims)
  if (!isName(name) || (resumes !== undefined && !isName(resumes))) {
    return null
  }
  const expiresAtMs = Math.floor((claims.exp ?? Number.POSITIVE_INFINITY) * 1_000) + clockToleranceMs
  return {
    user: name,
    ...(resumes !== undefined && { session: resumes }),
    ...(Number.isSafeInteger(expiresAtMs) && { expiresAtMs }),
    claims
  }
}

const subject = ({ sub }: JwtClaims): string => sub ?? ''
const isName = (value: unknown): value is string => typeof value === 'string' && value !== ''

export interface ClaimsOptions {
  /** The claim that holds the rights. Default `rollcall`. */
  readonly claim?: string
  /**
   * What of a client's own words is shown of it: of its join, track or update. Default: nothing. Names that the claim's `meta` has keep the claim's values, as
   * those are proven. What it throws denies.
   */
  readonly clientMeta?: (payload: Readonly<Record<string, unknown>>) => Meta
}

/**
 * Allows what a claim of the token lists: `{ "watch": [patterns], "present": [patterns], "meta": { … } }`. A pattern is a topic, or the beginning of topics with a
 * `*` at its end; a `*` elsewhere means itself. What is not listed, or not written so, is denied. `meta` is shown of the client.
 *
 * @throws InvalidOptionsError for a bad option.
 */
export function authorizeByClaims(options: ClaimsOptions = {}): Authorize {
  const claim = new OptionReader('', options, ['claim', 'clientMeta']).text('claim', 'rollcall', 1, 1_024)
  requireFunction('clientMeta', options.clientMeta)
  const { clientMeta = () => ({}) } = options
  return ({ topic, action, payload, identity }) => {
    const rights = own(own(identity, 'claims'), claim)
    const patterns = own(rights, action)
    if (!Array.isArray(patterns) || !patterns.some(pattern => matches(pattern, topic))) {
      return deny()
    }
    if (action === 'watch') {
      return true
    }
    const meta = own(rights, 'meta') ?? {}
    return isObject(meta) ? allow({ meta: { ...clientMeta(payload), ...(meta as Meta) } }) : deny()
  }
}

function requireFunction(name: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'function') {
    throw new InvalidOptionsError(`${name} is ${String(value)}, allowed is a function`)
  }
}

function matches(pattern: unknown, topic: string): boolean {
  return typeof pattern === 'string' && (pattern.endsWith('*') ? topic.startsWith(pattern.slice(0, -1)) : topic === pattern)
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null && !Array.isArray(value)

// What `Object.prototype` has is nobody's right.
function own(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined
}
