import { InvariantError } from './invariant-error.ts'
import { runScenario, type Scenario } from './scenario.ts'
import { shrinkList } from './shrink.ts'

/** What a run of a scenario came to: an invariant, the name of an error, or nothing. */
export async function failureOf(scenario: Scenario): Promise<Error | undefined> {
  try {
    await runScenario(scenario)
    return undefined
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

/** What counts as the same failure: the invariant, or the kind of error. */
export function kindOf(error: Error): string {
  return error instanceof InvariantError ? error.invariant : `${error.name}: ${error.message.slice(0, 40)}`
}

/** A failing scenario with as few faults and operations as still fail in the same way. Runs it up to `maxRuns` times for each of the two. */
export async function shrinkScenario(scenario: Scenario, maxRuns = 150): Promise<Scenario> {
  const error = await failureOf(scenario)
  if (error === undefined) {
    return scenario
  }
  const kind = kindOf(error)
  const fails = async (candidate: Scenario): Promise<boolean> => {
    const found = await failureOf(candidate)
    return found !== undefined && kindOf(found) === kind
  }
  const faults = await shrinkList(scenario.faults, items => fails({ ...scenario, faults: items }), maxRuns)
  const workload = await shrinkList(scenario.workload, items => fails({ ...scenario, faults, workload: items }), maxRuns)
  return { ...scenario, faults, workload }
}
