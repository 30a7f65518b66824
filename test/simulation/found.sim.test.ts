import { describe, expect, test } from 'vitest'
import { createSimulation } from '../../src/testing/index.ts'

/** What random scenarios found, each in its smallest form. The seed that found it stands with it. */
describe('found by simulation', () => {
  test('INV-21: a frame with the events of several replicas makes one diff per topic, and a listener who lists sees what he was told (seed 3)', async () => {
    const sim = createSimulation({ seed: 3, replicas: 3, topology: 'line' })
    const [a, b, c] = sim.replicas
    sim.kill(c)
    a.tracker.connect('ann').track('room')
    b.tracker.connect('bob').track('room')
    await sim.settle()
    sim.restart(c)
    await sim.settle()
    const joins = sim.diffs(c).map(diff => diff.joins.map(({ key }) => key).sort())
    expect(joins.filter(keys => keys.length > 0)).toEqual([['ann', 'bob']])
  })

  test('lastSeen is kept for its time, whatever the wall clock does (seed 5)', async () => {
    const sim = createSimulation({ seed: 5, replicas: 1, options: { graceMs: 0, lastSeenMs: 10_000 } })
    const [a] = sim.replicas
    a.tracker.connect('ann').close()
    await sim.run(1_000)
    sim.shiftWallClock(a, 3_600_000)
    expect(a.tracker.user('ann').lastSeen).not.toBeNull()
    sim.shiftWallClock(a, -7_200_000)
    await sim.run(10_000)
    expect([a.tracker.user('ann').lastSeen, sim.sizes(a).lastSeen]).toEqual([null, 0])
  })

  test('a session that was connected on both sides of a split leaves nothing behind (seed 40)', async () => {
    const sim = createSimulation({ seed: 40, replicas: 2, options: { graceMs: 2_000, heartbeatIntervalMs: 2_000, ttlMs: 6_000 } })
    const [a, b] = sim.replicas
    await sim.settle()
    sim.cut(a, b)
    b.tracker.connect('ann', { session: 's' })
    await sim.run(1_000)
    a.tracker.connect('ann', { session: 's' })
    await sim.run(5_000)
    sim.heal()
    await sim.run(20_000)
    expect([sim.sizes(a).entries, sim.sizes(b).entries]).toEqual([0, 0])
  })
})
