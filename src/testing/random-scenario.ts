import type { Latency } from '../net/simulated/latency.ts'
import { createRandom, type Random } from '../tracker/environment.ts'
import { randomFaultSchedule } from './faults.ts'
import type { Scenario } from './scenario.ts'
import { randomWorkload } from './workload.ts'

/** A scenario drawn from a seed: two to five replicas, most in a mesh, one run in five without faults. */
export function randomScenario(seed: number | string): Scenario {
  const random = createRandom(seed).fork('scenario')
  const replicas = 2 + random.below(4)
  const durationMs = 20_000 + random.below(25_000)
  const calm = random.below(5) === 0
  const clients = 2 + random.below(9)
  return {
    seed,
    simulation: {
      replicas,
      topology: (['mesh', 'mesh', 'mesh', 'mesh', 'line', 'ring', 'star'] as const)[random.below(7)] ?? 'mesh',
      network: randomNetwork(random),
      options: randomTimes(random)
    },
    workload: randomWorkload(random, { durationMs, clients, operations: clients * (4 + random.below(12)) }),
    faults: calm ? [] : randomFaultSchedule(random, { durationMs, faults: 1 + random.below(12), replicas }),
    clients,
    users: Math.max(1, clients - random.below(3)),
    topics: 1 + random.below(4),
    durationMs
  }
}

/** One in three has frames so small that a few presences are a transfer in slices, or buffers so small that peers push back. */
function randomNetwork(random: Random): Scenario['simulation']['network'] & object {
  return {
    conditions: { latencyMs: randomLatency(random) },
    linkTimeoutMs: 2_000 + random.below(13_000),
    maxFrameBytes: [65_536, 65_536, 4_096, 2_048][random.below(4)] as number,
    sendBufferBytes: [262_144, 262_144, 262_144, 8_192][random.below(4)] as number
  }
}

function randomLatency(random: Random): Latency {
  const draws = [1, { kind: 'uniform', minMs: 0.2, maxMs: 5 }, { kind: 'lognormal', medianMs: 10, sigma: 0.6 }] as const
  return draws[random.below(3)] ?? 1
}

function randomTimes(random: Random): Scenario['simulation']['options'] {
  const graceMs = [0, 2_000, 4_000][random.below(3)] as number
  return {
    heartbeatIntervalMs: 2_000,
    ttlMs: 6_000,
    graceMs,
    permdownAfterMs: 30_000,
    isolationHoldMs: 10_000,
    readyTimeoutMs: 2_000,
    lastSeenMs: 10_000,
    limits: { markLog: [4, 16, 64, 16_384][random.below(4)] as number }
  }
}
