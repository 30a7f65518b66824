import { describe, expect, test } from 'vitest'
import { PresenceFold } from '../../src/index.ts'
import { createSimulation, randomScenario, runScenario } from '../../src/testing/index.ts'

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

  test('a session that was closed on both sides of a split leaves nothing behind (seed 40)', async () => {
    const sim = createSimulation({ seed: 40, replicas: 2, options: { graceMs: 4_000 } })
    const [a, b] = sim.replicas
    await sim.settle()
    sim.cut(a, b)
    for (const replica of [a, b]) {
      const connection = replica.tracker.connect('ann', { session: 's' })
      connection.track('room')
      connection.close()
    }
    await sim.run(1_000)
    sim.heal()
    await sim.run(20_000)
    expect([sim.sizes(a).entries, sim.sizes(b).entries]).toEqual([0, 0])
  })

  test('an entry that expired does not hide the same session where it is connected now (seed 1047)', async () => {
    const sim = createSimulation({ seed: 1047, replicas: 2, options: { graceMs: 2_000, heartbeatIntervalMs: 2_000, ttlMs: 6_000 } })
    const [a, b] = sim.replicas
    await sim.settle()
    sim.cut(a, b)
    a.tracker.connect('ann', { session: 's' })
    await sim.run(5_000)
    b.tracker.connect('ann', { session: 's' })
    sim.heal()
    await sim.run(5_500)
    expect([sim.sizes(a).ownEntries, sim.transitions(b).map(({ type }) => type)]).toEqual([0, ['online']])
  })

  test('an origin whose hello was lost is asked for all the same (seed 1507)', async () => {
    const sim = createSimulation({ seed: 1507, replicas: 2 })
    const [a, b] = sim.replicas
    await sim.settle()
    b.tracker.connect('bob').track('room')
    await sim.settle()
    sim.restart(a)
    sim.hold(b, a, { types: ['hello'] })
    await sim.run(500)
    expect(sim.held(b, a).length).toBeGreaterThan(0)
    while (sim.held(b, a).length > 0) {
      sim.drop(b, a, 0)
    }
    sim.release(b, a)
    await sim.run(5_000)
    expect([...a.tracker.list('room').keys()]).toEqual(['bob'])
  })

  test('a replica that another one buried while it could not hear it comes back by way of a third, and nobody sees it go (seeds 1010, 10385)', async () => {
    const options = { graceMs: 0, permdownAfterMs: 60_000, isolationHoldMs: 5_000, heartbeatIntervalMs: 60_000, ttlMs: 600_000 }
    const sim = createSimulation({ seed: 1010, topology: 'line', options })
    const [a, b, c] = sim.replicas
    await sim.run(3_000)
    a.tracker.connect('ann').track('room')
    await sim.settle()
    sim.cut(b, c)
    await sim.run(70_000)
    expect(c.tracker.replicas().map(({ id }) => id)).toEqual(['c'])
    sim.heal()
    await sim.run(20_000)
    expect([...c.tracker.list('room').keys()]).toEqual(['ann'])
    for (const replica of [a, b]) {
      expect(sim.transitions(replica).map(({ type }) => type)).toEqual(['online'])
      expect(sim.diffs(replica).flatMap(({ leaves }) => leaves)).toEqual([])
    }
  })

  test('a replica that restarts with a clock an hour back, behind one that forgot it, is told how high to go (seed 22176)', async () => {
    const sim = createSimulation({ seed: 22_176, topology: 'star', options: { permdownAfterMs: 60_000 } })
    const [hub, b, c] = sim.replicas
    await sim.run(3_000)
    sim.kill(b)
    await sim.run(65_000)
    sim.restart(hub)
    sim.restart(b, { wallClockMs: b.wall() - 3_600_000 })
    b.tracker.connect('bob').track('room')
    await sim.run(15_000)
    expect([...c.tracker.list('room').keys()]).toEqual(['bob'])
  })

  test('a token of a replica where a closed entry hid a later one gives the later one where that is over (seed 10923)', async () => {
    const sim = createSimulation({ seed: 10_923, options: { graceMs: 2_000 } })
    const [a, b, c] = sim.replicas
    await sim.run(3_000)
    b.tracker.connect('ann', { session: 's' }).track('room')
    const again = b.tracker.connect('ann', { session: 's' })
    again.track('room')
    again.close()
    await sim.settle()
    // From now on a does not hear of the end of the closed entry, by no way.
    sim.hold(b, a)
    sim.hold(c, a, { types: ['digest', 'heartbeat'] })
    sim.hold(a, c, { types: ['digest', 'pull'] })
    await sim.run(3_000)
    c.tracker.connect('ann', { session: 's' }).track('room')
    await sim.run(100)
    expect([[...a.tracker.list('room').keys()], [...c.tracker.list('room').keys()]]).toEqual([[], ['ann']])
    const fold = new PresenceFold()
    const first = await sim.until(a.tracker.watch('room').next())
    fold.apply(first.value)
    const missed = await sim.until(c.tracker.watch('room', { since: first.value.token }).next())
    fold.apply(missed.value)
    expect([...fold.keys.keys()]).toEqual(['ann'])
  })

  test('heartbeats that a silent link held up are no proof that their sender knows less than its relays (seed 150)', async () => {
    await runScenario({
      ...randomScenario(150),
      faults: [
        { kind: 'cut', one: 2, two: 1, oneWay: true, atMs: 7_623, forMs: 8_267 },
        { kind: 'pause', replica: 3, atMs: 10_561, forMs: 3_671 }
      ],
      workload: [
        { kind: 'connect', client: 4, topic: 880, replica: 852, atMs: 8_575 },
        { kind: 'lose', client: 4, topic: 319, replica: 960, atMs: 15_351 }
      ]
    })
  })

  test('a live connection that is outranked by a close elsewhere shows again at its next heartbeat, also when the close came as a mark (seed 73330)', async () => {
    const sim = createSimulation({ seed: 73_330, replicas: 2 })
    const [a, b] = sim.replicas
    await sim.run(3_000)
    a.tracker.connect('ann', { session: 's' }).track('room')
    await sim.settle()
    sim.hold(a, b, { types: ['delta'] })
    const there = a.tracker.connect('ann', { session: 's' })
    there.track('room')
    await sim.run(100)
    const here = b.tracker.connect('ann', { session: 's' })
    here.track('room')
    await sim.run(100)
    there.close()
    await sim.run(100)
    sim.release(a, b)
    await sim.run(100)
    here.heartbeat()
    expect([...b.tracker.list('room').keys()]).toEqual(['ann'])
    await sim.settle()
    expect([...a.tracker.list('room').keys()]).toEqual(['ann'])
  })

  test('a token of a replica that has part of a transfer names the origin, so that one who hides it says who left (seed 72233)', async () => {
    const sim = createSimulation({ seed: 72_233, options: { graceMs: 1_000, isolationHoldMs: 0 }, network: { maxFrameBytes: 2_048 } })
    const [a, b, c] = sim.replicas
    await sim.run(3_000)
    for (let index = 0; index < 40; index++) {
      a.tracker.connect(`user:${index}`).track('room')
    }
    await sim.settle()
    sim.cut(a, c)
    sim.hold(b, c)
    await sim.run(12_000)
    expect(c.tracker.count('room').keys).toBe(0)
    sim.restart(b)
    sim.hold(a, b, { types: ['delta'] })
    sim.hold(c, b, { types: ['delta'] })
    await sim.run(200)
    sim.deliver(a, b, 0)
    await sim.run(10)
    const fold = new PresenceFold()
    const first = await sim.until(b.tracker.watch('room').next())
    fold.apply(first.value)
    expect(fold.size).toBeGreaterThan(0)
    expect(fold.size).toBeLessThan(40)
    const missed = await sim.until(c.tracker.watch('room', { since: first.value.token }).next())
    fold.apply(missed.value)
    expect([...fold.keys.keys()]).toEqual([...c.tracker.list('room').keys()])
  })
})
