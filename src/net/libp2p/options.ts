import { InvalidOptionsError } from '../../tracker/errors.ts'
import { DEFAULTS, type TrackerOptions } from '../../tracker/options.ts'
import { type MemberAddress, parseBootstrap } from './addresses.ts'
import type { AdmissionInit } from './admission.ts'

/** How a replica finds its peers, and whom it lets in. */
export interface NetworkOptions extends AdmissionInit {
  /** Multiaddrs of some members, with or without their peer id; this replica's own may be among them. Default: none. */
  readonly bootstrap?: readonly string[]
  /** Link with admitted peers that mDNS, or any other discovery of the node, finds. Default true. */
  readonly discovery?: boolean
  /** With so many links only configured members are dialled; four times as many are accepted. Default 32. */
  readonly maxLinks?: number
  /** Members remembered, those out of reach included. Default 1,000. */
  readonly maxMembers?: number
  /** A member that was learned from others, and was out of reach for so long, is forgotten. Default 3,600,000 ms. */
  readonly forgetAfterMs?: number
  /** Default 10,000 ms. */
  readonly dialTimeoutMs?: number
}

/** What `rollcall` takes: the options of a tracker, whose transport is the node, and those of the network. All are optional. */
export interface RollcallInit extends Omit<TrackerOptions, 'transport'>, NetworkOptions {}

/** A test compares docs/operations.md with these. */
export const NETWORK_DEFAULTS = {
  bootstrap: [],
  discovery: true,
  maxLinks: 32,
  maxMembers: 1_000,
  forgetAfterMs: 3_600_000,
  dialTimeoutMs: 10_000
} as const

export interface ResolvedNetworkOptions {
  readonly bootstrap: readonly MemberAddress[]
  readonly discovery: boolean
  readonly maxLinks: number
  readonly maxMembers: number
  readonly forgetAfterMs: number
  readonly dialTimeoutMs: number
  readonly admission: AdmissionInit
}

const NETWORK_NAMES: readonly string[] = [...Object.keys(NETWORK_DEFAULTS), 'allow', 'admit']

/**
 * The options apart: what the tracker resolves itself, and the network's, resolved.
 *
 * @throws InvalidOptionsError for an unknown name or a bad value.
 */
export function splitOptions(init: RollcallInit): { readonly tracker: TrackerOptions; readonly network: ResolvedNetworkOptions } {
  const known = [...Object.keys(DEFAULTS), 'environment', ...NETWORK_NAMES]
  const unknown = Object.keys(init).find(name => !known.includes(name))
  if (unknown !== undefined) {
    throw new InvalidOptionsError(`unknown option ${unknown}; known are ${known.join(', ')}`)
  }
  const tracker = Object.fromEntries(Object.entries(init).filter(([name]) => !NETWORK_NAMES.includes(name)))
  return { tracker, network: resolveNetwork(init) }
}

function resolveNetwork(init: NetworkOptions): ResolvedNetworkOptions {
  const bootstrap = init.bootstrap ?? NETWORK_DEFAULTS.bootstrap
  if (!Array.isArray(bootstrap)) {
    throw new InvalidOptionsError(`bootstrap is ${String(bootstrap)}, allowed is an array of multiaddrs`)
  }
  if (init.allow !== undefined && (typeof init.allow === 'string' || typeof init.allow[Symbol.iterator] !== 'function')) {
    throw new InvalidOptionsError(`allow is ${String(init.allow)}, allowed is an array or a Set of peer ids`)
  }
  if (init.admit !== undefined && typeof init.admit !== 'function') {
    throw new InvalidOptionsError(`admit is ${String(init.admit)}, allowed is a function`)
  }
  return Object.freeze({
    bootstrap: bootstrap.map(parseBootstrap),
    discovery: flag('discovery', init.discovery),
    maxLinks: integer('maxLinks', init.maxLinks, 1, 10_000),
    maxMembers: integer('maxMembers', init.maxMembers, 1, 100_000),
    forgetAfterMs: integer('forgetAfterMs', init.forgetAfterMs, 1_000, 2 ** 31),
    dialTimeoutMs: integer('dialTimeoutMs', init.dialTimeoutMs, 100, 600_000),
    admission: {
      ...(init.allow !== undefined && { allow: [...init.allow] }),
      ...(init.admit !== undefined && { admit: init.admit })
    }
  })
}

function flag(name: 'discovery', value: unknown = NETWORK_DEFAULTS[name]): boolean {
  if (typeof value !== 'boolean') {
    throw new InvalidOptionsError(`${name} is ${String(value)}, allowed is true or false`)
  }
  return value
}

type IntegerName = 'maxLinks' | 'maxMembers' | 'forgetAfterMs' | 'dialTimeoutMs'

function integer(name: IntegerName, value: unknown = NETWORK_DEFAULTS[name], min: number, max: number): number {
  if (!Number.isSafeInteger(value) || (value as number) < min || (value as number) > max) {
    throw new InvalidOptionsError(`${name} is ${String(value)}, allowed is an integer from ${min} to ${max}`)
  }
  return value as number
}
