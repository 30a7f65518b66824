import type { Message } from '../tracker/messages.ts'
import { Clients } from './clients.ts'
import { FaultInjector } from './fault-injector.ts'
import type { FaultSchedule } from './faults.ts'
import { InvariantError } from './invariant-error.ts'
import { checkMergeLaws } from './merge-laws.ts'
import { Oracle } from './oracle.ts'
import { createSimulation, type Simulation } from './simulation.ts'
import type { SimTrackerOptions, SimulationOptions } from './simulation-options.ts'
import { Watchers } from './watchers.ts'
import type { Workload } from './workload.ts'

/** Everything that a random run consists of. As data: `randomScenario` makes one from a seed, `shrinkScenario` makes one smaller. */
export interface Scenario {
  readonly seed: number | string
  readonly simulation: Omit<SimulationOptions, 'seed'> & { readonly options: SimTrackerOptions & ScenarioTimes; readonly replicas: number }
  readonly workload: Workload
  readonly faults: FaultSchedule
  readonly clients: number
  readonly users: number
  readonly topics: number
  /** How long faults and operations last. */
  readonly durationMs: number
}

/** Shorter than the defaults, so that a run of minutes sees all of them pass many times. */
export interface ScenarioTimes {
  readonly heartbeatIntervalMs: number
  readonly ttlMs: number
  readonly graceMs: number
  readonly permdownAfterMs: number
  readonly isolationHoldMs: number
  readonly readyTimeoutMs: number
  readonly lastSeenMs: number
}

export interface ScenarioResult {
  readonly seed: number | string
  readonly traceHash: string
  /** Virtual time. */
  readonly ms: number
  /** From the end of all faults until all replicas listed what the clients wanted. */
  readonly healedMs: number
  /** Frames that were read. */
  readonly frames: number
  /** Diffs and transitions that were told. */
  readonly told: number
}

/** With fewer marks kept, a full state without reasons may come before the new entries of those who moved. */
const SILENT_MARKS = 64

/** Upper bound of the time from a silence to the judgement down, with the default detector and links that break in 15 s at most. */
const DETECTION_MS = 20_000

/**
 * Runs a scenario: safety under faults, then all is healed and must be well within a bound, then everybody leaves and nothing may be left.
 *
 * @throws InvariantError, and whatever the code of a replica throws
 */
export async function runScenario(scenario: Scenario): Promise<ScenarioResult> {
  const { simulation, workload, faults, durationMs } = scenario
  const times = simulation.options
  const sim = createSimulation({ ...simulation, seed: scenario.seed })
  const counts = count(sim)
  const clients = new Clients(sim, workload, { ...scenario, ...times, reconnectWithinMs: times.graceMs * 2 + 500 })
  const goneMs = times.ttlMs + 2 * times.graceMs + times.isolationHoldMs + DETECTION_MS
  const oracle = new Oracle(sim, clients, {
    ...times,
    ghostMs: goneMs + times.permdownAfterMs + durationMs,
    knownMs: 8_000,
    calm: faults.length === 0,
    silentMoves: times.graceMs > 0 && (times.limits?.markLog ?? SILENT_MARKS) >= SILENT_MARKS
  })
  new Watchers(sim, { watchers: simulation.replicas, topics: scenario.topics, hopWithinMs: 8_000 })
  const injector = new FaultInjector(sim, faults)
  await sim.run(durationMs)
  injector.end()
  clients.quiet()
  const healedAtMs = sim.nowMs
  await within(sim, goneMs, 'liveness', () => oracle.whatIsWrong())
  const healedMs = sim.nowMs - healedAtMs
  await within(sim, goneMs, 'settle', () => sim.missing())
  await within(sim, goneMs, 'I1', () => sim.differing())
  sim.checkInvariants()
  checkMergeLaws(sim, counts.messages)
  await emptyOut(sim, clients, oracle, goneMs + times.permdownAfterMs + times.lastSeenMs)
  return { seed: scenario.seed, traceHash: sim.traceHash(), ms: sim.nowMs, healedMs, frames: counts.frames, told: counts.told }
}

/** Everybody closes: at the end nothing is listed, and nothing is kept (I5). */
async function emptyOut(sim: Simulation, clients: Clients, oracle: Oracle, withinMs: number): Promise<void> {
  clients.closeAll()
  await within(sim, withinMs, 'I5', () => oracle.whatIsWrong() ?? whatIsKept(sim))
}

const KEPT = ['entries', 'ownEntries', 'lingering', 'connections', 'users', 'lastSeen', 'waiting', 'queuedBytes'] as const

function whatIsKept(sim: Simulation): string | undefined {
  for (const replica of sim.replicas) {
    if (replica.state === 'running') {
      const sizes = sim.sizes(replica)
      const kept = KEPT.filter(name => (sizes[name] ?? 0) > 0).map(name => `${name} ${sizes[name]}`)
      if (kept.length > 0) {
        return `${replica.name} keeps ${kept.join()}`
      }
    }
  }
  return undefined
}

async function within(sim: Simulation, ms: number, invariant: string, missing: () => string | undefined): Promise<void> {
  try {
    await sim.engine.lookUntil(ms, missing)
  } catch (error) {
    if (error instanceof InvariantError) {
      throw error
    }
    if ((error as { code?: string }).code !== 'ERR_NOT_SETTLED') {
      throw error
    }
    const { seed, nowMs } = sim
    throw new InvariantError({
      invariant,
      replica: '*',
      finding: `after ${ms} ms: ${missing()}`,
      atMs: nowMs,
      seed,
      trace: sim.engine.trace.print()
    })
  }
}

function count(sim: Simulation): { frames: number; told: number; messages: Message[] } {
  const counts = { frames: 0, told: 0, messages: [] as Message[] }
  sim.observe({
    delivered: (_from, _to, message) => {
      counts.frames++
      if (message.type === 'delta' && counts.messages.length < 300) {
        counts.messages.push(message)
      }
    },
    diff: () => counts.told++,
    transition: () => counts.told++
  })
  return counts
}
