import { DEFAULTS, resolveOptions, type TrackerOptions } from '../tracker/options.ts'
import { writeDuration } from './durations.ts'
import { messageOf, UsageError } from './errors.ts'
import { duration, integer, number, optionalDuration } from './setting-kinds.ts'
import type { Settings } from './settings.ts'

const CLIENTS = 'Clients:'
const PEERS = 'Other replicas:'

/** The tracker's own options as settings: the same for `serve`, `sim` and `demo`. Defaults are the library's. */
export const TUNING = {
  heartbeatInterval: {
    kind: duration(1),
    fallback: DEFAULTS.heartbeatIntervalMs,
    group: CLIENTS,
    help: 'how often clients promise to be heard'
  },
  ttl: {
    kind: duration(1),
    fallback: DEFAULTS.ttlMs,
    group: CLIENTS,
    help: 'a client silent for so long has expired; at least twice --heartbeat-interval'
  },
  grace: {
    kind: duration(0),
    fallback: DEFAULTS.graceMs,
    group: CLIENTS,
    help: 'a lost client that is back within it, on any replica, was never away'
  },
  lastSeen: {
    kind: duration(0),
    fallback: DEFAULTS.lastSeenMs,
    group: CLIENTS,
    help: 'how long it is kept when a user was last seen; 0 for not at all'
  },
  gossipHeartbeat: {
    kind: duration(10),
    fallback: DEFAULTS.gossip.heartbeatIntervalMs,
    group: PEERS,
    help: 'how often replicas tell each other that they live'
  },
  flushWindow: {
    kind: duration(0),
    fallback: DEFAULTS.gossip.flushWindowMs,
    group: PEERS,
    help: 'changes within it travel together; longer saves bytes and costs latency'
  },
  gossipPeriod: {
    kind: duration(10),
    fallback: DEFAULTS.gossip.periodMs,
    group: PEERS,
    help: 'how often digests are compared with one random replica'
  },
  suspectPhi: {
    kind: number(0.1, 100),
    fallback: DEFAULTS.detector.suspectPhi,
    group: PEERS,
    help: "the suspicion at which a replica's presences are listed as unknown"
  },
  downPhi: {
    kind: number(0.1, 100),
    fallback: DEFAULTS.detector.downPhi,
    group: PEERS,
    help: 'the suspicion at which a replica is down, and the grace of its presences begins'
  },
  acceptablePause: {
    kind: optionalDuration(0),
    fallback: undefined,
    group: PEERS,
    help: `a silence that nobody holds against a replica; default ${writeDuration(DEFAULTS.detector.acceptablePauseMs)}, or two of its heartbeats`
  },
  permdownAfter: {
    kind: duration(1),
    fallback: DEFAULTS.permdownAfterMs,
    group: PEERS,
    help: 'the silence after which a replica and its state are dropped for good'
  },
  isolationHold: {
    kind: duration(0),
    fallback: DEFAULTS.isolationHoldMs,
    group: PEERS,
    help: 'how long leaves are held when most of the cluster vanishes at once'
  },
  readyTimeout: {
    kind: duration(0),
    fallback: DEFAULTS.readyTimeoutMs,
    group: PEERS,
    help: 'a starting replica waits at most so long for the state of the others'
  },
  maxConnections: {
    kind: integer(1, 2 ** 40),
    fallback: DEFAULTS.limits.connections,
    group: CLIENTS,
    help: 'the most connections that one replica holds'
  }
} as const

/**
 * As `createTracker` takes them.
 *
 * @throws UsageError when two of them contradict each other (ttl and heartbeat interval, …).
 */
export function trackerOptions(settings: Settings<typeof TUNING>): Omit<TrackerOptions, 'transport' | 'environment' | 'cluster'> {
  const options = {
    heartbeatIntervalMs: settings.heartbeatInterval,
    ttlMs: settings.ttl,
    graceMs: settings.grace,
    lastSeenMs: settings.lastSeen,
    gossip: { heartbeatIntervalMs: settings.gossipHeartbeat, flushWindowMs: settings.flushWindow, periodMs: settings.gossipPeriod },
    detector: {
      suspectPhi: settings.suspectPhi,
      downPhi: settings.downPhi,
      ...(settings.acceptablePause !== undefined && { acceptablePauseMs: settings.acceptablePause })
    },
    permdownAfterMs: settings.permdownAfter,
    isolationHoldMs: settings.isolationHold,
    readyTimeoutMs: settings.readyTimeout,
    limits: { connections: settings.maxConnections }
  }
  try {
    resolveOptions(options)
  } catch (error) {
    throw new UsageError(inFlags(messageOf(error)))
  }
  return options
}

const OPTION_FLAGS: ReadonlyMap<string, string> = new Map([
  ['gossip.heartbeatIntervalMs', '--gossip-heartbeat'],
  ['gossip.flushWindowMs', '--flush-window'],
  ['gossip.periodMs', '--gossip-period'],
  ['detector.suspectPhi', '--suspect-phi'],
  ['detector.downPhi', '--down-phi'],
  ['detector.acceptablePauseMs', '--acceptable-pause'],
  ['limits.connections', '--max-connections'],
  ['heartbeatIntervalMs', '--heartbeat-interval'],
  ['ttlMs', '--ttl'],
  ['graceMs', '--grace'],
  ['lastSeenMs', '--last-seen'],
  ['permdownAfterMs', '--permdown-after'],
  ['isolationHoldMs', '--isolation-hold'],
  ['readyTimeoutMs', '--ready-timeout']
])

/** A message of the tracker about its options, in the names that a person at the command line gave them. */
export function inFlags(message: string): string {
  return [...OPTION_FLAGS].reduce(
    (text, [option, flag]) => text.replaceAll(new RegExp(`(?<![\\w.-])${option.replace('.', '\\.')}\\b`, 'g'), flag),
    message
  )
}
