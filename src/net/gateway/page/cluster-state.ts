import type { ReplicaInfo, Tracker } from '../../../tracker/types.ts'
import type { GatewayStats } from '../types.ts'
import type { ClusterState, ReplicaRow } from './messages.ts'
import type { TopicCounts } from './topic-counts.ts'

const TOP_TOPICS = 100
const MAX_REPLICAS = 200
const MAX_PHI = 999
/** The gateway's numbers that say how it is now; others grow with every frame, those that carry this state included. */
const GAUGES = ['sockets', 'channels', 'watchers', 'behind', 'sampledFeeds'] as const

/** What the live page shows, as of now. O(replicas). */
export function clusterState(tracker: Tracker, counts: TopicCounts, gateway: GatewayStats, atMs: number): ClusterState {
  const { users = 0, connections = 0, isolated = 0 } = tracker.stats()
  const replicas = tracker.replicas()
  const shown = fitting(replicas)
  return {
    self: tracker.id,
    atMs,
    partial: tracker.partial,
    isolated: isolated > 0,
    replicas: shown.map(rowOf),
    replicasOmitted: replicas.length - shown.length,
    users,
    connections,
    topics: counts.topics,
    presences: counts.presences,
    top: counts.top(TOP_TOPICS),
    gateway: Object.fromEntries(GAUGES.map(name => [name, gateway[name] ?? 0]))
  }
}

/** This replica, then those in trouble, then the others, as far as they fit; in the order in which they came. */
function fitting(replicas: readonly ReplicaInfo[]): readonly ReplicaInfo[] {
  if (replicas.length <= MAX_REPLICAS) {
    return replicas
  }
  const [self, ...others] = replicas as [ReplicaInfo, ...ReplicaInfo[]]
  const troubled = others.filter(({ status }) => status !== 'up')
  const sound = others.filter(({ status }) => status === 'up')
  return [self, ...troubled, ...sound].slice(0, MAX_REPLICAS)
}

function rowOf({ id, incarnation, status, phi, head, lagMs, silentMs, complete, hash, agrees }: ReplicaInfo): ReplicaRow {
  return {
    id,
    incarnation,
    status,
    phi: Math.min(MAX_PHI, Math.round(phi * 10) / 10),
    head,
    lagMs: Math.round(lagMs),
    silentMs: status === 'up' ? 0 : Math.floor(silentMs / 1_000) * 1_000,
    complete,
    hash,
    agrees
  }
}
