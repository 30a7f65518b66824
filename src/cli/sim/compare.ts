import type { Checker } from './checks.ts'
import type { Crowd } from './crowd.ts'
import { type Fleet, replicaName } from './fleet.ts'
import type { WorkerSnapshot } from './worker-protocol.ts'

/**
 * Asks every replica what it lists, and compares it with the oracle and with the others: presences, their replicas and refs, users, and
 * whether its diffs gave the same. In words; empty when all are equal.
 */
export async function compareAll(fleet: Fleet, checker: Checker, crowd: Crowd, patienceMs: number): Promise<string[]> {
  const replicas = Array.from({ length: fleet.size }, (_, replica) => replica)
  const snapshots = await Promise.all(replicas.map(replica => fleet.worker(replica)?.snapshot(patienceMs)))
  const users = crowd.connectedUsers()
  const refs = new Map<string, string>()
  return snapshots.flatMap((snapshot, replica) => {
    const name = replicaName(replica)
    if (snapshot === undefined) {
      return [`${name} ${fleet.worker(replica) === undefined ? 'does not run' : 'does not answer'}`]
    }
    return [
      ...checker.differences(replica, snapshot, other => fleet.idOf(other), users),
      ...compareRefs(name, snapshot, refs),
      ...snapshot.contradictions.map(contradiction => `${name}: ${contradiction}`)
    ]
  })
}

function compareRefs(name: string, snapshot: WorkerSnapshot, refs: Map<string, string>): string[] {
  return snapshot.refs.flatMap((ref, index) => {
    const place = `${snapshot.topics[index]}: ${snapshot.keys[index]}`
    const known = refs.get(place) ?? ref
    refs.set(place, known)
    return known === ref ? [] : [`${name} has another ref for ${place} than the replicas before it`]
  })
}
