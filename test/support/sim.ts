import type { Connection, Diff, Presence } from '../../src/index.ts'
import { createSimulation, type SimReplica, type Simulation } from '../../src/testing/index.ts'

export type SimulationInit = NonNullable<Parameters<typeof createSimulation>[0]>

/** A simulated cluster whose replicas have met. */
export async function startCluster(
  init: SimulationInit = {}
): Promise<{ sim: Simulation; replicas: SimReplica[]; a: SimReplica; b: SimReplica; c: SimReplica }> {
  const sim = createSimulation({ seed: 'scenario', replicas: 3, ...init })
  await sim.run(3_000)
  const replicas = [...sim.replicas]
  const [a, b, c] = replicas as [SimReplica, SimReplica, SimReplica]
  return { sim, replicas, a, b, c }
}

/** What is listed, as one flat list. */
export const listed = (replica: SimReplica, topic = 'room'): Presence[] => [...replica.tracker.list(topic).values()].flat()

/** Runs on with heartbeats, so that no connection expires meanwhile. */
export async function runAlive(sim: Simulation, connections: readonly Connection[], ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 10_000) {
    await sim.run(Math.min(left, 10_000))
    for (const connection of connections) {
      connection.heartbeat()
    }
  }
}

/** All parts of one kind, over all diffs that the replica told. */
export function told<K extends 'joins' | 'leaves' | 'updates' | 'moves' | 'replicas'>(
  sim: Simulation,
  replica: SimReplica,
  part: K
): Diff[K][number][] {
  return sim.diffs(replica).flatMap<Diff[K][number]>(diff => [...diff[part]] as Diff[K][number][])
}
