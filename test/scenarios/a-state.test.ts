import { describe, expect, it } from 'vitest'
import type { Connection } from '../../src/index.ts'
import { createSimulation } from '../../src/testing/index.ts'
import { crowd, keys, readIntervals, stateBytes } from '../support/scenario.ts'
import { listed, runAlive, startCluster, told } from '../support/sim.ts'

/** Short times, where a scenario needs a replica to be dropped: permdown 15 s after the first silence. */
const SHORT = { graceMs: 1_000, permdownAfterMs: 15_000 }

const refs = (presences: readonly { readonly ref: string }[]): string[] => presences.map(({ ref }) => ref).sort()

describe('(a) intervals and their bounds', () => {
  const L = 20
  it.each([L - 1, L, L + 1, 10 * L])('pub-A1: two that changed %i presences while cut, logs of 20, meet: both list all', async changes => {
    const { sim, a, b } = await startCluster({ replicas: 2, options: { limits: { markLog: L } } })
    const before = [crowd(a, 'a', changes), crowd(b, 'b', changes)].flat()
    await sim.settle()
    sim.cut(a, b)
    for (const connection of before) {
      connection.update('room', { late: true })
    }
    crowd(a, 'late-a', 1)
    crowd(b, 'late-b', 1)
    await sim.run(2_000)
    // What was under way is lost: only the difference can be asked for.
    sim.breakLink(a, b)
    sim.heal()
    await sim.converge()
    expect(listed(a)).toHaveLength(2 * changes + 2)
    expect(listed(b).filter(({ meta }) => meta.late === true)).toHaveLength(2 * changes)
    // Nor is anything left that is not listed: the user's entry and the topic's of each, and heartbeats that agree (I6).
    await sim.run(3_000)
    expect([a, b].map(replica => sim.sizes(replica).entries)).toEqual(Array(2).fill(2 * (2 * changes + 2)))
  })

  it('pub-A4: all but one leave while a third is away: it gets the one that is left, and no answer is empty', async () => {
    const { sim, a, b, c } = await startCluster({ options: { graceMs: 0, limits: { markLog: 100 } } })
    const read = readIntervals(sim)
    crowd(a, 'one', 1)
    const many = crowd(b, 'n', 52)
    await sim.settle()
    sim.kill(c)
    await sim.run(1_000)
    for (const connection of many.slice(0, 51)) {
      connection.close()
    }
    await sim.stop(a, { announce: true })
    sim.restart(c)
    await sim.run(5_000)
    expect(keys(b)).toEqual(['n51'])
    expect(keys(c)).toEqual(['n51'])
    expect(read.length).toBeGreaterThan(0)
    expect(read.filter(({ interval: { from, to, since, asOf } }) => to === from && asOf === since)).toEqual([])
  })

  it('pub-A5: one comes back after another grew and a third stopped: it misses nothing', async () => {
    const { sim, a, b, c } = await startCluster({ options: { graceMs: 0, limits: { markLog: 50 } } })
    sim.kill(a)
    await sim.run(1_000)
    crowd(b, 'b', 70)
    crowd(c, 'c', 83)
    await sim.settle()
    await sim.stop(c, { announce: true })
    sim.restart(a)
    await sim.run(5_000)
    expect(keys(a)).toHaveLength(70)
    expect(keys(a)).toEqual(keys(b))
  })

  it('pub-A6: three rounds of a split with churn on both sides, a third one dies: equal within two rounds', async () => {
    const { sim, a, b, c } = await startCluster({ options: { graceMs: 0, limits: { markLog: 50 } } })
    for (let round = 0; round < 3; round++) {
      sim.cut(b, c)
      for (const replica of [b, c]) {
        const batch = crowd(replica, `${replica.name}${round}-`, 100)
        await sim.run(100)
        for (const connection of batch.slice(0, 50)) {
          connection.close()
        }
      }
      await sim.run(300)
      if (round === 2) {
        sim.kill(a)
        sim.breakLink(b, c)
      }
      sim.heal()
      await sim.run(round * 200)
    }
    await sim.run(2_000)
    expect(keys(b)).toHaveLength(300)
    expect(keys(c)).toEqual(keys(b))
  })

  it.each([1, 2, 3])(
    'pub-A7: seven start at once with 20 presences each, links of any latency (seed %i): 140 within six rounds',
    async seed => {
      const sim = createSimulation({
        seed,
        replicas: 7,
        network: { conditions: { latencyMs: { kind: 'uniform', minMs: 1, maxMs: 60 } } }
      })
      for (const replica of sim.replicas) {
        crowd(replica, replica.name, 20)
      }
      await sim.run(6_000)
      for (const replica of sim.replicas) {
        expect(keys(replica)).toHaveLength(140)
      }
    }
  )

  it('pub-A20: one joins a quiet cluster, and one lost the only message: repaired within two rounds, without another event', async () => {
    const { sim, a, c } = await startCluster()
    sim.hold(a, c, { types: ['delta'] })
    crowd(a, 'x', 1)
    await sim.run(100)
    expect(sim.held(a, c)).toHaveLength(1)
    sim.drop(a, c, 0)
    sim.heal()
    await sim.run(2_000)
    expect(keys(c)).toEqual(['x0'])
    const late = sim.add()
    await sim.run(2_000)
    expect(keys(late)).toEqual(['x0'])
  })

  it('pub-A19: one missed an update, and no log reaches back: repaired within two rounds, then no state is sent', async () => {
    const { sim, a, b } = await startCluster({ replicas: 2, options: { limits: { markLog: 0 } } })
    const [ann] = crowd(a, 'ann', 1) as [Connection]
    await sim.settle()
    sim.hold(a, b, { types: ['delta'] })
    ann.update('room', { n: 2 })
    await sim.run(100)
    sim.drop(a, b, 0)
    sim.heal()
    await sim.run(2_000)
    expect(listed(b)).toMatchObject([{ meta: { n: 2 } }])
    const before = [stateBytes(sim, a, b), stateBytes(sim, b, a)]
    await runAlive(sim, [ann], 60_000)
    expect([stateBytes(sim, a, b), stateBytes(sim, b, a)]).toEqual(before)
  })
})

describe('(a) replicas that go and come', () => {
  it('pub-A2: a laggard asks for what a restarted replica said in its former life: nothing of it comes back', async () => {
    const { sim, replicas, c } = await startCluster({ replicas: 4, options: SHORT })
    const d = replicas[3] as typeof c
    sim.hold(d, c, { types: ['delta'] })
    crowd(d, 'x', 1)
    await sim.run(100)
    sim.drop(d, c, 0)
    sim.kill(d)
    sim.heal()
    sim.restart(d)
    await sim.run(40_000)
    for (const replica of replicas) {
      expect(listed(replica)).toEqual([])
      expect(sim.sizes(replica)).toMatchObject({ entries: 0, held: 0 })
    }
    // Those of the former life that were told at all were told to have gone.
    expect(told(sim, c, 'joins')).toHaveLength(told(sim, c, 'leaves').length)
    expect(told(sim, d, 'joins')).toEqual([])
  })

  it('pub-A3: a rolling deploy, three times, new before old: in the end only live replicas have presences', async () => {
    const { sim, replicas } = await startCluster({ options: SHORT })
    let running = replicas
    for (const replica of running) {
      crowd(replica, replica.name, 10)
    }
    await sim.settle()
    for (let i = 0; i < 9; i++) {
      const fresh = sim.add({ options: SHORT })
      crowd(fresh, fresh.name, 10)
      await sim.run(1_000)
      sim.kill(running[0] as typeof fresh)
      running = [...running.slice(1), fresh]
      await sim.run(1_000)
    }
    await sim.run(17_000)
    for (const replica of running) {
      expect(keys(replica)).toEqual(running.flatMap(({ name }) => Array.from({ length: 10 }, (_, i) => `${name}${i}`)).sort())
      expect(replica.tracker.replicas().map(({ id }) => id)).toHaveLength(3)
      expect(sim.sizes(replica).entries).toBe(60)
    }
  })

  it('pub-A15: one was purged here, and another, who still holds it up, offers it: no join; when it speaks itself: a join', async () => {
    // A line: what a knows of c, b has told.
    const { sim, a, b, c } = await startCluster({ topology: 'line' })
    crowd(c, 'cid', 1)
    await sim.settle()
    sim.kill(c, { silent: true })
    expect(a.tracker.forget('c')).toBe(true)
    const joins = told(sim, a, 'joins').length
    await sim.run(5_000)
    expect(keys(b)).toEqual(['cid0'])
    crowd(b, 'bob', 1)
    await sim.run(5_000)
    expect(keys(a)).toEqual(['bob0'])
    expect(told(sim, a, 'joins')).toHaveLength(joins + 1)
    sim.restart(c)
    crowd(c, 'again', 1)
    await sim.run(5_000)
    expect(keys(a)).toEqual(['again0', 'bob0'])
  })

  it('pub-A17: a split of down, not permdown: leaves, then joins of the same refs, without a transfer; the owner sees nothing', async () => {
    const { sim, a, b } = await startCluster({ replicas: 2, options: { graceMs: 1_000 } })
    const connections = crowd(b, 'b', 10)
    await sim.settle()
    const shown = refs(listed(a))
    sim.cut(a, b)
    await runAlive(sim, connections, 30_000)
    expect(listed(a)).toEqual([])
    const before = stateBytes(sim, b, a)
    sim.heal()
    await runAlive(sim, connections, 5_000)
    expect(refs(told(sim, a, 'leaves').map(({ presence }) => presence))).toEqual(shown)
    expect(refs(told(sim, a, 'joins').slice(10))).toEqual(shown)
    expect(stateBytes(sim, b, a)).toBe(before)
    expect([told(sim, b, 'leaves').length, listed(b).length]).toEqual([0, 10])
  })

  it.each(['the same id', 'another id'])(
    'pub-A21: a restarted replica (%s) counts from one again: its first presence is seen at once',
    async kind => {
      const { sim, a, b, c } = await startCluster({ options: SHORT })
      for (const connection of crowd(a, 'old', 25)) {
        connection.update('room', { n: 1 })
      }
      await sim.settle()
      sim.kill(a)
      await sim.run(20_000)
      expect(b.tracker.replicas()).toHaveLength(2)
      // Nothing was kept over the restart, and the clock went back: no counter, no incarnation to go on from.
      sim.restart(a, { wallClockMs: a.wall() - 3_600_000, newId: kind === 'another id' })
      await sim.run(200)
      crowd(a, 'new', 1)
      await sim.run(50)
      for (const replica of [b, c]) {
        expect(keys(replica)).toEqual(['new0'])
      }
    }
  )

  it('pub-A23: what a replica sent before it was dropped arrives late: no join; when it speaks again: all its joins', async () => {
    const { sim, a, b } = await startCluster({ replicas: 2, options: SHORT })
    sim.hold(b, a, { types: ['delta'] })
    const connections = crowd(b, 'bob', 5)
    await sim.run(100)
    sim.pause(b)
    await sim.run(20_000)
    expect(a.tracker.replicas()).toHaveLength(1)
    expect(sim.deliver(b, a, 0)).toBe(true)
    await sim.run(100)
    expect(told(sim, a, 'joins')).toEqual([])
    sim.resume(b)
    sim.heal()
    await runAlive(sim, connections, 10_000)
    expect(keys(a)).toEqual(keys(b))
    expect(told(sim, a, 'joins')).toHaveLength(5)
  })
})
