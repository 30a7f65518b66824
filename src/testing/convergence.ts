import type { Presence } from '../tracker/types.ts'
import { differences } from './fold.ts'
import type { SimulatedReplica } from './simulated-replica.ts'
import type { Finding } from './view-check.ts'

/**
 * Replicas that reach each other and know the same events show the same: every topic, key for key and meta for meta (I1), and every user.
 * What each may judge for itself (`state`) or has not seen (`prevRef`) is left out.
 */
export function checkConvergence(component: readonly SimulatedReplica[]): Finding[] {
  const [first, ...others] = component
  if (first === undefined) {
    return []
  }
  const findings: Finding[] = []
  for (const other of others) {
    for (const topic of new Set([...first.tracker.topics().keys(), ...other.tracker.topics().keys()])) {
      const difference = differences(listed(other, topic), listed(first, topic), sharedLine)
      if (difference !== '') {
        findings.push({ invariant: 'I1', finding: `${topic}: ${other.name} (+) and ${first.name} (-) differ:\n${difference}` })
      }
    }
    const users = new Set(first.tracker.users()).symmetricDifference(new Set(other.tracker.users()))
    if (users.size > 0) {
      findings.push({ invariant: 'I1', finding: `${[...users].join()} online at one of ${first.name} and ${other.name} only` })
    }
  }
  return findings
}

const listed = (replica: SimulatedReplica, topic: string): Presence[] => [...replica.tracker.list(topic).values()].flat()

const sharedLine = ({ key, ref, user, meta, replica, joinedAt }: Presence): string =>
  `${key} ${ref} user ${user} at ${replica} since ${joinedAt} ${JSON.stringify(meta)}`
