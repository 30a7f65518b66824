import type { Presence, ReplicaInfo, Tracker } from '../../../tracker/types.ts'
import { formatDuration } from '../../format-duration.ts'

/** One presence of a user, and what speaks for it. */
export interface PresenceReason {
  readonly topic: string
  readonly key: string
  readonly ref: string
  readonly replica: string
  /** What this replica thinks of the owner; `unknown` when it never heard of it. */
  readonly replicaStatus: ReplicaInfo['status'] | 'unknown'
  readonly state: Presence['state']
  readonly ageMs: number
  /** How long ago the owner was last heard: the last proof of life. 0 for this replica. */
  readonly provenMsAgo: number | null
}

/** What is known of one user. */
export interface UserExplanation {
  readonly user: string
  /** A sentence. */
  readonly why: string
  readonly presences: readonly PresenceReason[]
}

/** Why a user is online, or not: his presences, and what speaks for each of them. `nodes` is what `tracker.replicas()` gives. */
export function explainUser(tracker: Tracker, nodes: readonly ReplicaInfo[], user: string, wallMs: number): UserExplanation {
  const byId = new Map(nodes.map(node => [node.id, node]))
  const presences = [...tracker.topicsOf(user)].flatMap(([topic, list]) =>
    list.map((presence): PresenceReason => {
      const owner = byId.get(presence.replica)
      return {
        topic,
        key: presence.key,
        ref: presence.ref,
        replica: presence.replica,
        replicaStatus: presence.replica === tracker.id ? 'up' : (owner?.status ?? 'unknown'),
        state: presence.state,
        ageMs: Math.max(0, wallMs - presence.joinedAt),
        provenMsAgo: presence.replica === tracker.id ? 0 : (owner?.silentMs ?? null)
      }
    })
  )
  return { user, why: whyOnline(tracker, user, presences, wallMs), presences }
}

function whyOnline(tracker: Tracker, user: string, presences: readonly PresenceReason[], wallMs: number): string {
  const { online, connections, lastSeen } = tracker.user(user)
  if (online === undefined) {
    return `${user}: not known before this replica is ready`
  }
  if (!online) {
    return lastSeen === null
      ? `${user} is offline and was not seen here`
      : `${user} is offline, last seen ${formatDuration(wallMs - lastSeen)} ago`
  }
  const owners = [...new Set(presences.map(presence => presence.replica))]
  const held = connections === 1 ? '1 connection' : `${connections} connections`
  if (connections === 0) {
    return `${user} is online although no connection is open: the last one ended less than the grace ago`
  }
  return presences.length === 0
    ? `${user} is online by ${held} in no topic`
    : `${user} is online by ${held}, with ${presences.length} presence${presences.length === 1 ? '' : 's'} held by ${owners.join(', ')}`
}
