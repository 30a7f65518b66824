/**
 * Runs random scenarios, seed by seed, and prints those that fail:
 *
 *     npm run sim:seeds -- --seeds 20000 --from 1      many, on all cores
 *     npm run sim:seeds -- --seed 4711 [--shrink]      one, with its trace
 *
 * A program for Node; nothing imports it.
 */
import { fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { randomScenario } from './random-scenario.ts'
import { runScenario } from './scenario.ts'
import { failureOf, kindOf, shrinkScenario } from './shrink-scenario.ts'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    workers: { type: 'string', default: String(availableParallelism()) },
    shrink: { type: 'boolean', default: false },
    step: { type: 'string' }
  }
})

interface Report {
  readonly done: number
  readonly failed?: { readonly seed: number; readonly kind: string; readonly message: string }
}

if (values.seed !== undefined) {
  await runOne(Number(values.seed))
} else if (values.step !== undefined) {
  await runShare(Number(values.from), Number(values.seeds), Number(values.step))
} else {
  await runAll(Number(values.from), Number(values.seeds), Number(values.workers))
}

async function runOne(seed: number): Promise<void> {
  const scenario = randomScenario(seed)
  const startMs = performance.now()
  const error = await failureOf(scenario)
  if (error === undefined) {
    const again = await runScenario(scenario)
    console.log(JSON.stringify({ ...again, realMs: Math.round((performance.now() - startMs) / 2) }))
    return
  }
  console.log(error instanceof Error && error.name === 'InvariantError' ? error.message : error)
  process.exitCode = 1
  if (values.shrink) {
    const { simulation, faults, workload } = await shrinkScenario(scenario)
    console.log(JSON.stringify({ simulation, faults, workload }, null, 1))
  }
}

/** Every `step`-th of the seeds, reported to the parent process. */
async function runShare(from: number, seeds: number, step: number): Promise<void> {
  for (let seed = from; seed < from + seeds; seed += step) {
    const error = await failureOf(randomScenario(seed))
    const report: Report =
      error === undefined ? { done: seed } : { done: seed, failed: { seed, kind: kindOf(error), message: error.message } }
    process.send?.(report)
  }
  process.disconnect?.()
}

async function runAll(from: number, seeds: number, workers: number): Promise<void> {
  const startMs = performance.now()
  const failed: NonNullable<Report['failed']>[] = []
  let done = 0
  const share = (worker: number): Promise<void> =>
    new Promise(resolve => {
      const args = ['--from', String(from + worker), '--seeds', String(seeds - worker), '--step', String(workers)]
      const child = fork(new URL(import.meta.url), args)
      child.on('message', (report: Report) => {
        done++
        if (report.failed !== undefined) {
          failed.push(report.failed)
          const { seed, kind, message } = report.failed
          console.log(`seed ${seed} fails: ${kind}: ${message.split('\n')[0]}`)
        }
        if (done % 500 === 0) {
          console.log(`${done} of ${seeds} seeds, ${failed.length} failed, ${((performance.now() - startMs) / 1_000).toFixed(0)} s`)
        }
      })
      child.on('exit', (code, signal) => {
        if (code !== 0) {
          console.log(`worker ${worker} ended ${signal === null ? `with code ${code}` : `by ${signal}`}: not all of its seeds were run`)
          process.exitCode = 1
        }
        resolve()
      })
    })
  await Promise.all(Array.from({ length: Math.min(workers, seeds) }, (_, worker) => share(worker)))
  const seconds = ((performance.now() - startMs) / 1_000).toFixed(1)
  console.log(`${done} seeds from ${from}: ${failed.length} failed, in ${seconds} s`)
  const [first] = failed.sort((a, b) => a.seed - b.seed)
  if (first !== undefined) {
    console.log(`\n${first.message}\n\nRun it again: npm run sim:seeds -- --seed ${first.seed} --shrink`)
    process.exitCode = 1
  }
}
