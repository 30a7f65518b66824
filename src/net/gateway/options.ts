import type { IncomingMessage } from 'node:http'
import type { ComponentLogger, Metrics } from '@libp2p/interface'
import { InvalidOptionsError } from '../../tracker/errors.ts'
import { OptionReader } from '../../tracker/option-reader.ts'
import type { Authenticate, Authorize } from './rights/hooks.ts'

/** What a client can grow, in counts, bytes and time. At each limit the client gets a typed reason, and a counter goes up: docs/gateway.md. */
export interface GatewayLimits {
  /** Bytes of one frame of a client. Larger: closed with 1009. Default 32,768. */
  readonly frameBytes?: number
  /** Frames of one socket, on average. Above it the socket is read more slowly; nothing is lost. Default 50. */
  readonly framesPerSecond?: number
  /** Frames that may come at once. Default 200. */
  readonly frameBurst?: number
  /** A socket that was held back for so long without a pause is closed: `rate`. Default 30,000 ms. */
  readonly throttledMs?: number
  /** A join above it fails: `too many channels joined`. Default 100. */
  readonly topicsPerSocket?: number
  /** Of all joins of one socket together, which are kept. A join above it fails: `joins too large`. Default 262,144. */
  readonly joinBytes?: number
  /** Sockets in all. Above it: 503. Default 100,000. */
  readonly sockets?: number
  /** Above it: 429. Default 100. */
  readonly socketsPerUser?: number
  /** By `addressOf`. Above it: 429. Behind a proxy all sockets have its address: give `addressOf`. Default 1,000. */
  readonly socketsPerAddress?: number
  /** Above it a socket gets nothing more until it has read; then a fresh snapshot of each topic. Default 1,048,576. */
  readonly bufferedBytes?: number
  /** A socket that stays above `bufferedBytes` for so long is closed: `slow`. Default 10,000 ms. */
  readonly slowMs?: number
}

/** When a topic is too large, or too lively, to tell everybody everything: docs/gateway.md, “Interval mode”. */
export interface IntervalOptions {
  /** A topic with more presences goes to interval mode; below 0.8 times as many it comes back. Default 5,000. */
  readonly abovePresences?: number
  /** So does one where changes per second times watchers here are more; below half of it comes back. Default 500,000. */
  readonly aboveFanOut?: number
  /** Default 1,000 ms. */
  readonly everyMs?: number
  /** How many keys are shown. Default 100. */
  readonly sample?: number
  /** A topic comes back when it was below for so long. Default 10,000 ms. */
  readonly holdMs?: number
}

export interface GatewayOptions {
  readonly authenticate: Authenticate
  /** Default: denies everything. */
  readonly authorize?: Authorize
  /** Where clients connect: `new Socket('ws://host/socket')` for `/socket`. Default `/socket`. */
  readonly path?: string | readonly string[]
  /** Origins of web pages that may connect, such as `https://app.example`; or `*`. Default: the host that is asked itself. Without an Origin header: not asked. */
  readonly origins?: readonly string[] | '*'
  /** The client's address, where a proxy stands between: e.g. the last of `x-forwarded-for`. Default: the other end of the TCP connection. */
  readonly addressOf?: (request: IncomingMessage) => string
  /** Serve long polls to clients that cannot have a WebSocket. Default true. */
  readonly longPoll?: boolean
  /** Serve the live page at `/`, and its topic `rollcall:cluster`, which is asked of `authorize` as any other. Default false. */
  readonly page?: boolean
  /** Per-message deflate. Costs memory and processor per socket. Default false. */
  readonly compression?: boolean
  /** Changes of a topic within it travel as one diff; the first one after a pause leaves at once. Default 50 ms. */
  readonly diffWindowMs?: number
  /** How long an answer of `authorize` holds; a denial for 5,000 ms at most. Default 60,000 ms. */
  readonly authorizeCacheMs?: number
  /** A hook that has not answered by then denies. Default 10,000 ms. */
  readonly hookTimeoutMs?: number
  /**
   * WebSockets are asked so often whether they live; the answer is a heartbeat of their connection. Long polls are held for so long at most, and 10 s.
   * Default 15,000 ms.
   */
  readonly pingIntervalMs?: number
  /** Over how long `drain` spreads the goodbyes at least. Default 2,000 ms. */
  readonly drainMs?: number
  /** And how many it says at most per second. Default 5,000. */
  readonly drainPerSecond?: number
  readonly limits?: GatewayLimits
  readonly interval?: IntervalOptions
  /** Of a libp2p node, or anything that implements the interface. */
  readonly metrics?: Metrics
  /** Of a libp2p node: it logs as `rollcall:gateway`. */
  readonly logger?: ComponentLogger
}

/** A test compares docs/gateway.md with these. */
export const GATEWAY_DEFAULTS = {
  path: '/socket',
  longPoll: true,
  page: false,
  compression: false,
  diffWindowMs: 50,
  authorizeCacheMs: 60_000,
  hookTimeoutMs: 10_000,
  pingIntervalMs: 15_000,
  drainMs: 2_000,
  drainPerSecond: 5_000,
  limits: {
    frameBytes: 32_768,
    framesPerSecond: 50,
    frameBurst: 200,
    throttledMs: 30_000,
    topicsPerSocket: 100,
    joinBytes: 262_144,
    sockets: 100_000,
    socketsPerUser: 100,
    socketsPerAddress: 1_000,
    bufferedBytes: 1_048_576,
    slowMs: 10_000
  },
  interval: {
    abovePresences: 5_000,
    aboveFanOut: 500_000,
    everyMs: 1_000,
    sample: 100,
    holdMs: 10_000
  }
} as const

type Numbers<T> = { readonly [K in keyof T]-?: number }

export interface ResolvedGatewayOptions {
  readonly authenticate: Authenticate
  readonly authorize: Authorize
  readonly paths: readonly string[]
  /** Undefined: the host that is asked itself. */
  readonly origins: ReadonlySet<string> | '*' | undefined
  readonly addressOf: (request: IncomingMessage) => string
  readonly longPoll: boolean
  readonly page: boolean
  readonly compression: boolean
  readonly diffWindowMs: number
  readonly authorizeCacheMs: number
  readonly hookTimeoutMs: number
  readonly pingIntervalMs: number
  readonly drainMs: number
  readonly drainPerSecond: number
  readonly limits: Numbers<GatewayLimits>
  readonly interval: Numbers<IntervalOptions>
  readonly metrics: Metrics | undefined
  readonly logger: ComponentLogger | undefined
}

/**
 * Fills in defaults, once. `undefined` means the default.
 *
 * @throws InvalidOptionsError for an unknown option or a bad value: names it, its value, and what is allowed.
 */
export function resolveGatewayOptions(options: GatewayOptions): ResolvedGatewayOptions {
  const names = [...Object.keys(GATEWAY_DEFAULTS), 'authenticate', 'authorize', 'origins', 'addressOf', 'metrics', 'logger']
  const read = new OptionReader('', options, names)
  const flag = (name: 'longPoll' | 'page' | 'compression'): boolean => read.flag(name, GATEWAY_DEFAULTS[name])
  return Object.freeze({
    authenticate: required(options.authenticate),
    authorize: hook('authorize', options.authorize) ?? (() => false),
    paths: readPaths(options.path ?? GATEWAY_DEFAULTS.path),
    origins: readOrigins(options.origins),
    addressOf: hook('addressOf', options.addressOf) ?? (request => request.socket.remoteAddress ?? ''),
    longPoll: flag('longPoll'),
    page: flag('page'),
    compression: flag('compression'),
    diffWindowMs: read.duration('diffWindowMs', GATEWAY_DEFAULTS.diffWindowMs, 0),
    authorizeCacheMs: read.duration('authorizeCacheMs', GATEWAY_DEFAULTS.authorizeCacheMs, 0),
    hookTimeoutMs: read.duration('hookTimeoutMs', GATEWAY_DEFAULTS.hookTimeoutMs, 1),
    pingIntervalMs: read.duration('pingIntervalMs', GATEWAY_DEFAULTS.pingIntervalMs, 10),
    drainMs: read.duration('drainMs', GATEWAY_DEFAULTS.drainMs, 0),
    drainPerSecond: read.integer('drainPerSecond', GATEWAY_DEFAULTS.drainPerSecond, 1, 1_000_000),
    limits: numbers('limits', options.limits, GATEWAY_DEFAULTS.limits),
    interval: numbers('interval', options.interval, GATEWAY_DEFAULTS.interval),
    metrics: withMethods('metrics', options.metrics, ['registerMetricGroup', 'registerCounterGroup']),
    logger: withMethods('logger', options.logger, ['forComponent'])
  })
}

function required(authenticate: Authenticate | undefined): Authenticate {
  const given = hook('authenticate', authenticate)
  if (given === undefined) {
    throw new InvalidOptionsError('authenticate is missing: a function that says who a client is, such as authenticateJwt(…)')
  }
  return given
}

function hook<T>(name: string, value: T | undefined): T | undefined {
  if (value !== undefined && typeof value !== 'function') {
    throw new InvalidOptionsError(`${name} is ${String(value)}, allowed is a function`)
  }
  return value
}

function withMethods<T>(name: string, value: T | undefined, methods: readonly (keyof T & string)[]): T | undefined {
  if (value !== undefined && !methods.every(method => typeof value?.[method] === 'function')) {
    throw new InvalidOptionsError(`${name} is ${String(value)}, allowed is an object with ${methods.join(' and ')}, as a libp2p node has`)
  }
  return value
}

function readPaths(path: string | readonly string[]): readonly string[] {
  const paths = typeof path === 'string' ? [path] : path
  if (!Array.isArray(paths) || paths.length === 0) {
    throw new InvalidOptionsError(
      `path is ${Array.isArray(paths) ? 'an empty array' : String(path)}, allowed is a path or an array of paths`
    )
  }
  for (const each of paths) {
    if (typeof each !== 'string' || !/^(\/[\w.~-]+)+$/.test(each)) {
      throw new InvalidOptionsError(`path is ${JSON.stringify(each)}, allowed is one such as "/socket", without a slash at its end`)
    }
  }
  return [...paths]
}

function readOrigins(origins: readonly string[] | '*' | undefined): ReadonlySet<string> | '*' | undefined {
  if (origins === undefined || origins === '*') {
    return origins
  }
  if (!Array.isArray(origins)) {
    throw new InvalidOptionsError(`origins is ${String(origins)}, allowed is "*" or an array of origins`)
  }
  for (const origin of origins) {
    if (typeof origin !== 'string' || URL.parse(origin)?.origin !== origin) {
      throw new InvalidOptionsError(
        `origins has ${JSON.stringify(origin)}, allowed are origins such as "https://app.example", without a path`
      )
    }
  }
  return new Set(origins)
}

function numbers<N extends string>(
  name: 'limits' | 'interval',
  options: { readonly [K in N]?: number } | undefined,
  defaults: Readonly<Record<N, number>>
): Readonly<Record<N, number>> {
  const names = Object.keys(defaults) as N[]
  const read = new OptionReader(`${name}.`, options ?? {}, names)
  return Object.freeze(Object.fromEntries(names.map(each => [each, read.integer(each, defaults[each], 1, 2 ** 31)])) as Record<N, number>)
}
