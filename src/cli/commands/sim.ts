import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pc from 'picocolors'
import { resolveCommand } from '../config.ts'
import { formatDuration } from '../durations.ts'
import { EXIT, messageOf, UsageError } from '../errors.ts'
import { SIM } from '../setting-tables.ts'
import type { Settings } from '../settings.ts'
import { formatMs } from '../sim/charts.ts'
import { generateTrace } from '../sim/generator.ts'
import { Progress } from '../sim/progress.ts'
import { makeReport, type SimReport } from '../sim/report.ts'
import { renderPage } from '../sim/report-page.ts'
import { Simulation, type SimulationOptions } from '../sim/simulation.ts'
import { readTrace, type Trace, thinned } from '../sim/trace.ts'
import { trackerOptions } from '../tuning.ts'
import { packageVersion } from '../version.ts'

/** From the end of a fault until all is known again: redial with backoff, a transfer, two gossip periods, on a busy machine. */
const RECOVERY_MS = 15_000
/** A change, the flush window, a late loop, and the client's next heartbeat where two replicas held it. */
const PROPAGATION_MS = 4_000

/** Runs a simulation. Exit status 1 when a check failed, 130 when it was interrupted. */
export async function sim(flags: Record<string, unknown>): Promise<void> {
  const { settings, given } = resolveCommand(SIM, flags)
  prepareOut(settings.out)
  const { trace, runMs, speed } = await prepareTrace(settings, given('for'))
  const interrupt = new AbortController()
  const onSignal = (): void => interrupt.abort()
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  const progress = new Progress()
  const options: SimulationOptions = {
    replicas: settings.replicas,
    trace,
    speed,
    runMs,
    faults: settings.faults,
    faultEveryMs: settings.faultEvery,
    seed: settings.seed,
    cluster: `sim-${process.pid}`,
    options: trackerOptions(settings),
    bounds: {
      propagationMs: PROPAGATION_MS + 2 * settings.gossipPeriod,
      recoveryMs: RECOVERY_MS,
      detectionMs: (settings.acceptablePause ?? 2 * settings.gossipHeartbeat) + 10 * settings.gossipHeartbeat,
      graceMs: settings.grace
    },
    signal: interrupt.signal,
    progress: (phase, done, details) => progress.show(phase, done, details)
  }
  const startedAt = new Date()
  const simulation = new Simulation(options)
  try {
    await simulation.run()
  } finally {
    progress.stop()
  }
  const context = { version: packageVersion(), startedAt, startMs: simulation.log.startMs, interrupted: interrupt.signal.aborted }
  const report = makeReport(simulation, options, context)
  writeFileSync(join(settings.out, 'report.json'), `${JSON.stringify(report, null, 2)}\n`)
  writeFileSync(join(settings.out, 'report.html'), renderPage(report))
  console.log(settings.json ? JSON.stringify(report) : summarize(report, settings.out))
  process.exitCode = interrupt.signal.aborted ? EXIT.interrupted : report.ok ? EXIT.ok : EXIT.failed
}

async function prepareTrace(settings: Settings<typeof SIM>, isForGiven: boolean): Promise<{ trace: Trace; runMs: number; speed: number }> {
  if (settings.trace === undefined) {
    const lengthMs = settings.for
    const topics = Math.max(1, Math.round(settings.users / 25))
    const trace = generateTrace({ seed: settings.seed, users: settings.users, topics, lengthMs, ratePerSecond: settings.rate })
    return { trace: thinned(trace, settings.sample, settings.seed), runMs: lengthMs, speed: 1 }
  }
  const trace = thinned(await readTrace(settings.trace), settings.sample, settings.seed)
  if (trace.events.length === 0) {
    throw new UsageError(`--sample ${settings.sample} leaves no user of ${settings.trace}; give a larger share`)
  }
  const speed = settings.speed ?? Math.max(0.001, trace.lengthMs / settings.for)
  // With a speed and no time, the trace says how long.
  const runMs = settings.speed !== undefined && !isForGiven ? trace.lengthMs / speed + 1_000 : settings.for
  return { trace, runMs, speed }
}

// Before the run, not after it.
function prepareOut(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true })
    writeFileSync(join(directory, 'report.json'), '')
  } catch (error) {
    throw new UsageError(`--out ${directory}: ${messageOf(error)}; give a directory that can be written to`)
  }
}

function summarize(report: SimReport, out: string): string {
  const { numbers, measures, detection } = report
  const lines = report.checks.flatMap(({ name, ok, looked, failures, examples }) => [
    `${looked === 0 ? pc.yellow('–') : ok ? pc.green('✓') : pc.red('✗')} ${name} ${pc.dim(looked === 0 ? '(never looked at)' : ok ? `(${looked} times)` : `(${failures} of ${looked} failed)`)}`,
    ...examples.slice(0, 3).map(example => pc.red(`    ${example}`))
  ])
  const rssMb = Math.max(...numbers.replicas.map(replica => replica.rssMaxMb))
  lines.push(
    '',
    `joins        p50 ${formatMs(measures.joins.p50Ms)}, p99 ${formatMs(measures.joins.p99Ms)}; under faults p50 ${formatMs(measures.joinsUnderFaults.p50Ms)}, p99 ${formatMs(measures.joinsUnderFaults.p99Ms)}`,
    `converged    p50 ${formatMs(measures.convergence.p50Ms)}, p99 ${formatMs(measures.convergence.p99Ms)}`,
    `work         ${numbers.operations} operations in ${formatDuration(numbers.droveSeconds * 1_000)}, ${numbers.operationsPerSecondMean.toFixed(0)}/s; ${numbers.bytesPerOperationAndPeer.toFixed(0)} bytes for each and each peer`,
    ...detection.map(({ kind, pairs, unknownMedianMs, unknownMaxMs, unnoticed }) => {
      const found =
        unknownMedianMs === null ? 'never noticed' : `unknown after ${formatMs(unknownMedianMs)}, at most ${formatMs(unknownMaxMs ?? 0)}`
      return `${kind.padEnd(12)} ${found} ${pc.dim(`(${pairs} pairs${unnoticed > 0 ? `, ${unnoticed} did not notice` : ''})`)}`
    }),
    `memory       at most ${rssMb.toFixed(0)} MB in one replica; ${measures.falseSuspicions.length} false suspicions; settled in ${formatDuration(numbers.settledSeconds * 1_000)}`,
    ...(numbers.stalls > 0
      ? [
          pc.yellow(
            `machine      stood still ${numbers.stalls} times, ${numbers.stalledSeconds.toFixed(1)} s in all: too little processor for exact checks meanwhile`
          )
        ]
      : []),
    '',
    report.ok ? pc.green('all checks passed') : pc.red('a check failed'),
    pc.dim(`${join(out, 'report.html')}, ${join(out, 'report.json')}`)
  )
  return lines.join('\n')
}
