import { describe, expect, test } from 'vitest'
import { randomScenario, runScenario } from '../../src/testing/index.ts'

const SEEDS = process.env.ROLLCALL_LONG === undefined ? 300 : 3_000
const BATCH = 20

/** Safety after every step under faults, then everything heals, then liveness within a bound. `npm run sim:seeds` runs more. */
describe('random scenarios: I1 to I7, F6, T4, and nobody who is connected is reported offline', () => {
  for (let from = 1; from <= SEEDS; from += BATCH) {
    test(`seeds ${from} to ${from + BATCH - 1}`, async () => {
      for (let seed = from; seed < from + BATCH; seed++) {
        const { told, frames } = await runScenario(randomScenario(seed))
        expect(told + frames, `seed ${seed} did nothing`).toBeGreaterThan(0)
      }
    })
  }
})
