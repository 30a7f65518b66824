import { describe, expect, test } from 'vitest'
import { createSimulation, randomScenario, runScenario } from '../../src/testing/index.ts'

describe('a simulation is a function of its seed and its script', () => {
  test('B3: the same seed gives the same trace hash, faults and all; another seed another', async () => {
    const hashes = new Set<string>()
    for (const seed of [11, 12, 13, 14, 15]) {
      const [first, second] = [await runScenario(randomScenario(seed)), await runScenario(randomScenario(seed))]
      expect(second).toEqual(first)
      hashes.add(first.traceHash)
    }
    expect(hashes.size).toBe(5)
  })

  test('two simulations that run by turns do not disturb each other', async () => {
    const script = async (sim: ReturnType<typeof createSimulation>): Promise<string> => {
      const [a, b] = sim.replicas
      a.tracker.connect('ann', { session: 's' }).track('room')
      await sim.run(1_000)
      sim.cut(a, b)
      await sim.run(8_000)
      sim.heal()
      await sim.settle()
      return sim.traceHash()
    }
    const alone = await script(createSimulation({ seed: 7 }))
    const [one, other] = await Promise.all([script(createSimulation({ seed: 7 })), script(createSimulation({ seed: 8 }))])
    expect(one).toBe(alone)
    expect(other).not.toBe(alone)
  })

  test('the hash covers what is told, not only what is sent', async () => {
    const tell = async (meta: { n: number }): Promise<string> => {
      const sim = createSimulation({ seed: 1, replicas: 1 })
      sim.replicas[0].tracker.connect('ann').track('room', meta)
      await sim.run(100)
      return sim.traceHash()
    }
    expect(await tell({ n: 1 })).toBe(await tell({ n: 1 }))
    expect(await tell({ n: 1 })).not.toBe(await tell({ n: 2 }))
  })
})
