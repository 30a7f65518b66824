import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  arbitraryFaultSchedule,
  arbitraryWorkload,
  createRandom,
  failureOf,
  randomFaultSchedule,
  randomScenario,
  randomWorkload,
  runScenario,
  shrinkList
} from '../../src/testing/index.ts'

const ascending = (times: readonly { readonly atMs: number }[]): boolean =>
  times.every(({ atMs }, index) => index === 0 || atMs >= (times[index - 1]?.atMs ?? 0))

describe('workloads and fault schedules', () => {
  test('those of one seed are the same, in order, and within their shape', () => {
    const draw = (seed: number) => ({
      workload: randomWorkload(createRandom(seed), { durationMs: 10_000, clients: 5, operations: 50 }),
      faults: randomFaultSchedule(createRandom(seed), { durationMs: 10_000, faults: 10, replicas: 3 })
    })
    expect(draw(1)).toEqual(draw(1))
    expect(draw(1)).not.toEqual(draw(2))
    for (let seed = 0; seed < 50; seed++) {
      const { workload, faults } = draw(seed)
      expect([ascending(workload), ascending(faults), workload.length, faults.length]).toEqual([true, true, 60, 10])
      expect([...workload, ...faults].every(({ atMs }) => atMs >= 0 && atMs <= 10_500)).toBe(true)
    }
  })

  test('weights of 0 leave a kind out', () => {
    const ops = randomWorkload(createRandom(1), { durationMs: 1_000, clients: 1, operations: 200, weights: { track: 1, update: 1 } })
    // Each client begins with connecting, once.
    expect(ops.filter(({ kind }) => kind !== 'track' && kind !== 'update').map(({ kind }) => kind)).toEqual(['connect'])
  })

  test('the arbitraries give schedules that run, and shrink to nothing', async () => {
    const base = randomScenario(1)
    const arbitrary = fc.record({
      faults: arbitraryFaultSchedule(fc, { durationMs: 10_000, faults: 4, replicas: 3 }),
      workload: arbitraryWorkload(fc, { durationMs: 10_000, clients: 3, operations: 20 })
    })
    await fc.assert(
      fc.asyncProperty(arbitrary, async ({ faults, workload }) => {
        expect([ascending(faults), ascending(workload)]).toEqual([true, true])
        await runScenario({ ...base, faults, workload, clients: 3, users: 3, durationMs: 10_000 })
      }),
      { numRuns: 8, seed: 1 }
    )
    const found = await fc.check(
      fc.asyncProperty(arbitrary, async ({ workload }) => !workload.some(({ kind }) => kind === 'kick')),
      { numRuns: 200, seed: 1 }
    )
    expect(found.counterexample?.[0].faults).toEqual([])
    expect(found.counterexample?.[0].workload.map(({ kind }) => kind)).toEqual(['kick'])
  })

  test('shrinkList finds the few items that matter', async () => {
    const items = Array.from({ length: 100 }, (_, index) => index)
    const needed = [3, 50, 99]
    expect(await shrinkList(items, async part => needed.every(item => part.includes(item)))).toEqual(needed)
    expect(await shrinkList(items, async () => true)).toEqual([])
    let runs = 0
    await shrinkList(items, async () => ++runs < 0, 10)
    expect(runs).toBe(10)
  })

  test('failureOf gives what a scenario throws, and undefined when it passes', async () => {
    expect(await failureOf(randomScenario(2))).toBeUndefined()
    const bad = { ...randomScenario(2), simulation: { ...randomScenario(2).simulation, replicas: 0 } }
    expect((await failureOf(bad))?.message).toContain('replicas is 0')
  })
})
