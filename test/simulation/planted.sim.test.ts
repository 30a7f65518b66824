import { describe, expect, test } from 'vitest'
import { failureOf, kindOf, randomScenario } from '../../src/testing/index.ts'
import { PLANTED_FAULTS, type PlantedFault } from '../support/faults.ts'

const WITHIN_MS = 60_000

interface Found {
  readonly seed: number
  readonly kind: string
  readonly ms: number
}

/** The first seed that fails with the fault and passes without it. Gives up after a minute. */
async function find({ plant }: PlantedFault): Promise<Found | undefined> {
  const startMs = performance.now()
  for (let seed = 1; performance.now() - startMs < WITHIN_MS; seed++) {
    const remove = plant()
    const error = await failureOf(randomScenario(seed)).finally(remove)
    if (error !== undefined && (await failureOf(randomScenario(seed))) === undefined) {
      return { seed, kind: kindOf(error), ms: performance.now() - startMs }
    }
  }
  return undefined
}

/** A test of the tests: what is built in wrongly on purpose must be found by the random scenarios, each within a minute. */
describe.runIf(process.env.ROLLCALL_LONG !== undefined)('planted faults are found', () => {
  for (const fault of PLANTED_FAULTS) {
    test(`B3: ${fault.name}`, { timeout: 2 * WITHIN_MS }, async () => {
      const found = await find(fault)
      console.log(
        `${fault.name}: ${found === undefined ? 'not found' : `seed ${found.seed}, ${found.kind}, ${(found.ms / 1_000).toFixed(1)} s`}`
      )
      expect(found).toBeDefined()
    })
  }
})
