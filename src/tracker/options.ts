import { MAX_COUNTER } from '../crdt/dot.ts'
import { isMetaSchema, type MetaSchemaOption } from './connections/meta-schema.ts'
import { createSystemEnvironment, type Environment } from './environment.ts'
import { InvalidOptionsError } from './errors.ts'
import { DETECTOR_DEFAULTS } from './membership/detector-defaults.ts'
import { OptionReader } from './option-reader.ts'
import type { Transport } from './transport.ts'

/** Between replicas. */
export interface GossipOptions {
  /** Every replica tells every peer that it lives. Default 1,000 ms. */
  readonly heartbeatIntervalMs?: number
  /** Events within it travel as one interval; the first one after a pause leaves at once. Default 20 ms. */
  readonly flushWindowMs?: number
  /** Digests are compared with one random peer. Default 1,000 ms, jittered. */
  readonly periodMs?: number
}

/** Phi accrual. Each knob's formula, direction and cost: docs/operations.md. */
export interface DetectorOptions {
  readonly suspectPhi?: number
  readonly downPhi?: number
  readonly acceptablePauseMs?: number
  readonly minDeviationMs?: number
  readonly windowSize?: number
}

/** What a user or a peer can grow, in counts and bytes. */
export interface LimitOptions {
  readonly topicBytes?: number
  readonly keyBytes?: number
  readonly userBytes?: number
  readonly metaBytes?: number
  readonly connections?: number
  readonly connectionsPerUser?: number
  readonly entriesPerConnection?: number
  readonly entriesPerTopic?: number
  readonly entriesPerReplica?: number
  /** Replicas known at one time, dead ones that are still held included. */
  readonly replicas?: number
  /** Marks kept per replica to answer those who lag; past it they get a full state. */
  readonly markLog?: number
  /** Touched identities kept to answer resume tokens, over all topics. */
  readonly changeLog?: number
}

export interface TrackerOptions {
  /** Only trackers of the same cluster talk to each other. Default `rollcall`. */
  readonly cluster?: string
  /** Authenticates resume tokens and hashes session ids; the same on all replicas. Default: derived from the cluster's name, which hides nothing. */
  readonly secret?: string
  /** How often clients promise to be heard. Default 15,000 ms. */
  readonly heartbeatIntervalMs?: number
  /** A connection that was silent for so long has expired. At least twice `heartbeatIntervalMs`. Default 45,000 ms. */
  readonly ttlMs?: number
  /** How long presences of a lost connection, and users, are held. 0: as Phoenix does. Default 15,000 ms. */
  readonly graceMs?: number
  readonly gossip?: GossipOptions
  readonly detector?: DetectorOptions
  /** From the first silence until a replica's state is dropped. Default 1,200,000 ms. */
  readonly permdownAfterMs?: number
  /** How long leaves are held at most while this replica believes itself cut off. Default 300,000 ms. */
  readonly isolationHoldMs?: number
  /** `ready` waits at most so long. Default 5,000 ms. */
  readonly readyTimeoutMs?: number
  /** A resume token that is ahead of this replica waits at most so long. Default 2,000 ms. */
  readonly resumeWaitMs?: number
  /** For how long an offline user's `lastSeen` is kept. Default 86,400,000 ms; 0: not at all. */
  readonly lastSeenMs?: number
  readonly limits?: LimitOptions
  /** Checks metas in `track` and `update`, and may change them. Any Standard Schema that validates synchronously, or one by topic. Default: any meta. */
  readonly metaSchema?: MetaSchemaOption
  /** None: a lone replica. */
  readonly transport?: Transport
  readonly environment?: Environment
}

type Resolved<T> = { readonly [K in keyof T]-?: NonNullable<T[K]> }

export interface ResolvedOptions extends Omit<Resolved<TrackerOptions>, 'gossip' | 'detector' | 'limits' | 'transport' | 'metaSchema'> {
  readonly gossip: Resolved<GossipOptions>
  readonly detector: Resolved<DetectorOptions>
  readonly limits: Resolved<LimitOptions>
  readonly metaSchema: MetaSchemaOption | undefined
  readonly transport: Transport | undefined
}

/** A test compares docs/operations.md with these. */
export const DEFAULTS = {
  cluster: 'rollcall',
  secret: '',
  heartbeatIntervalMs: 15_000,
  ttlMs: 45_000,
  graceMs: 15_000,
  gossip: { heartbeatIntervalMs: 1_000, flushWindowMs: 20, periodMs: 1_000 },
  detector: DETECTOR_DEFAULTS,
  permdownAfterMs: 1_200_000,
  isolationHoldMs: 300_000,
  readyTimeoutMs: 5_000,
  resumeWaitMs: 2_000,
  lastSeenMs: 86_400_000,
  limits: {
    topicBytes: 255,
    keyBytes: 255,
    userBytes: 255,
    metaBytes: 1_024,
    connections: 2_000_000,
    connectionsPerUser: 1_000,
    entriesPerConnection: 1_000,
    entriesPerTopic: 1_000_000,
    entriesPerReplica: 5_000_000,
    replicas: 1_000,
    markLog: 16_384,
    changeLog: 65_536
  }
} as const

/**
 * Fills in defaults, once. `undefined` means the default.
 *
 * @throws InvalidOptionsError for an unknown option, a bad value (names it, its value, and what is allowed), or a bad relation between two.
 */
export function resolveOptions(options: TrackerOptions = {}): ResolvedOptions {
  const top = new OptionReader('', options, [...Object.keys(DEFAULTS), 'metaSchema', 'transport', 'environment'])
  const heartbeatIntervalMs = top.duration('heartbeatIntervalMs', DEFAULTS.heartbeatIntervalMs, 1)
  const ttlMs = top.duration('ttlMs', DEFAULTS.ttlMs, 1)
  if (ttlMs < 2 * heartbeatIntervalMs) {
    throw new InvalidOptionsError(
      `ttlMs (${ttlMs}) must be at least twice heartbeatIntervalMs (${heartbeatIntervalMs}): one late heartbeat must not end a connection`
    )
  }
  const gossip = resolveGossip(options.gossip)
  const graceMs = top.duration('graceMs', DEFAULTS.graceMs, 0)
  const permdownAfterMs = top.duration('permdownAfterMs', DEFAULTS.permdownAfterMs, 1)
  const smallest = graceMs + 10 * gossip.heartbeatIntervalMs
  if (permdownAfterMs <= smallest) {
    throw new InvalidOptionsError(
      `permdownAfterMs (${permdownAfterMs}) must be greater than graceMs + 10 × gossip.heartbeatIntervalMs (${smallest}): a replica is down before it is dropped`
    )
  }
  return Object.freeze({
    cluster: top.text('cluster', DEFAULTS.cluster, 1, 64),
    secret: top.text('secret', DEFAULTS.secret, 0, 1_024),
    heartbeatIntervalMs,
    ttlMs,
    graceMs,
    gossip,
    detector: resolveDetector(options.detector, gossip.heartbeatIntervalMs),
    permdownAfterMs,
    isolationHoldMs: top.duration('isolationHoldMs', DEFAULTS.isolationHoldMs, 0),
    readyTimeoutMs: top.duration('readyTimeoutMs', DEFAULTS.readyTimeoutMs, 0),
    resumeWaitMs: top.duration('resumeWaitMs', DEFAULTS.resumeWaitMs, 0),
    lastSeenMs: top.duration('lastSeenMs', DEFAULTS.lastSeenMs, 0),
    limits: resolveLimits(options.limits),
    metaSchema: resolveMetaSchema(options.metaSchema),
    transport: options.transport,
    environment: options.environment ?? createSystemEnvironment()
  })
}

function resolveMetaSchema(option: unknown): MetaSchemaOption | undefined {
  if (option === undefined || typeof option === 'function' || isMetaSchema(option)) {
    return option as MetaSchemaOption | undefined
  }
  throw new InvalidOptionsError(
    `metaSchema is ${String(option)}, allowed is a Standard Schema (an object with "~standard"), or a function of the topic that gives one`
  )
}

function resolveGossip(options: GossipOptions = {}): Resolved<GossipOptions> {
  const read = new OptionReader('gossip.', options, Object.keys(DEFAULTS.gossip))
  const gossip = {
    heartbeatIntervalMs: read.duration('heartbeatIntervalMs', DEFAULTS.gossip.heartbeatIntervalMs, 10),
    flushWindowMs: read.duration('flushWindowMs', DEFAULTS.gossip.flushWindowMs, 0),
    periodMs: read.duration('periodMs', DEFAULTS.gossip.periodMs, 10)
  }
  if (gossip.flushWindowMs > gossip.heartbeatIntervalMs) {
    throw new InvalidOptionsError(
      `gossip.flushWindowMs (${gossip.flushWindowMs}) must be at most gossip.heartbeatIntervalMs (${gossip.heartbeatIntervalMs})`
    )
  }
  return Object.freeze(gossip)
}

function resolveDetector(options: DetectorOptions = {}, heartbeatIntervalMs: number): Resolved<DetectorOptions> {
  const read = new OptionReader('detector.', options, Object.keys(DEFAULTS.detector))
  const detector = {
    suspectPhi: read.number('suspectPhi', DEFAULTS.detector.suspectPhi, 0.1, 100),
    downPhi: read.number('downPhi', DEFAULTS.detector.downPhi, 0.1, 100),
    acceptablePauseMs: read.duration('acceptablePauseMs', Math.max(DEFAULTS.detector.acceptablePauseMs, 2 * heartbeatIntervalMs), 0),
    minDeviationMs: read.duration('minDeviationMs', DEFAULTS.detector.minDeviationMs, 1),
    windowSize: read.integer('windowSize', DEFAULTS.detector.windowSize, 2, 10_000)
  }
  if (detector.downPhi <= detector.suspectPhi) {
    throw new InvalidOptionsError(
      `detector.downPhi (${detector.downPhi}) must be greater than detector.suspectPhi (${detector.suspectPhi})`
    )
  }
  return Object.freeze(detector)
}

function resolveLimits(options: LimitOptions = {}): Resolved<LimitOptions> {
  const names = Object.keys(DEFAULTS.limits) as (keyof LimitOptions)[]
  const read = new OptionReader('limits.', options, names)
  const limits = Object.fromEntries(
    names.map(name => [name, read.integer(name, DEFAULTS.limits[name], smallestLimit(name), largestLimit(name))])
  )
  return Object.freeze(limits) as Resolved<LimitOptions>
}

const smallestLimit = (name: string): number => (name.endsWith('Log') ? 0 : 1)
const largestLimit = (name: string): number => (name === 'metaBytes' ? 32_768 : name.endsWith('Bytes') ? 1_024 : MAX_COUNTER)
