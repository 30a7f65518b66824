import { describe, expect, test } from 'vitest'
import { createSimulation, replay, type SimReplica } from '../../src/testing/index.ts'
import { aroundTheNetsplit, hasIrcTrace, readIrcTrace } from '../support/irc-trace.ts'

const LONG = process.env.ROLLCALL_LONG !== undefined

const listed = (replica: SimReplica): Map<string, string[]> =>
  new Map([...replica.tracker.topics().keys()].sort().map(topic => [topic, [...replica.tracker.list(topic).keys()].sort()]))

/** Five public IRC channels in 2018, spread over replicas; skipped where the recording is absent. */
describe.runIf(hasIrcTrace)('a recorded year of presence', () => {
  test('the greatest netsplit of the year, on three replicas, while their own network splits: all list who is there', async () => {
    const events = aroundTheNetsplit(readIrcTrace(), LONG ? 20_000 : 2_000)
    const sim = createSimulation({ seed: 2018, replicas: 3, options: { graceMs: 5_000 }, network: { conditions: { latencyMs: 5 } } })
    const [a, b, c] = sim.replicas
    sim.schedule(60_000, () => sim.cut(a, b))
    sim.schedule(90_000, () => sim.heal())
    sim.schedule(120_000, () => sim.slow(b, c, { lossRate: 0.1, duplicateRate: 0.1, reorder: true }))
    sim.schedule(150_000, () => sim.heal())
    const expected = await replay(sim, events, { speed: LONG ? 60 : 120 })
    expect(sim.nowMs).toBeGreaterThan(150_000)
    await sim.settle()
    await sim.run(10_000)
    const users = new Map([...expected].sort().map(([topic, there]) => [topic, [...there].sort()]))
    expect(users.size).toBeGreaterThan(2)
    for (const replica of [a, b, c]) {
      expect(listed(replica)).toEqual(users)
    }
    sim.checkInvariants()
  })
})
