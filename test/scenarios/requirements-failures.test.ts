import { describe, expect, it } from 'vitest'
import type { Connection } from '../../src/index.ts'
import type { SimReplica } from '../../src/testing/index.ts'
import { crowd, keys, pick, readIntervals, split, stateBytes, verdicts } from '../support/scenario.ts'
import { listed, runAlive, startCluster, told } from '../support/sim.ts'

describe('replication', () => {
  it('R5, B5: a newcomer in a cluster of five lists everything one round trip after its first stream opens, and is sent it once', async () => {
    const { sim, replicas } = await startCluster({ replicas: 5, checks: 'manual', network: { conditions: { latencyMs: 50 } } })
    for (const replica of replicas) {
      crowd(replica, replica.name, 200)
    }
    await sim.settle()
    const read = readIntervals(sim)
    const opened: number[] = []
    const late = sim.add()
    sim.observe({
      // Its hello is read half a round trip after the stream opened.
      delivered: (from, _to, message) => void (from === late.name && message.type === 'hello' && opened.push(sim.nowMs - 50))
    })
    while (opened.length === 0) {
      await sim.run(1)
    }
    await sim.run((opened[0] as number) + 100 + 1 - sim.nowMs)
    expect(late.tracker.count('room').keys).toBe(1_000)
    await sim.run(10_000)
    const sent = read.filter(({ to }) => to === late.name).reduce((sum, { interval }) => sum + interval.adds.length, 0)
    expect(sent).toBeLessThanOrEqual(1.2 * 2_000)
    // Two entries per user, at less than the 60 bytes of R8.
    const bytes = replicas.reduce((sum, replica) => sum + stateBytes(sim, replica, late), 0)
    expect(bytes).toBeLessThan(2_000 * 60)
  })

  it('R9: a replica restarts under its id: it supersedes its former life on first contact, and who is back within the grace never left', async () => {
    const { sim, a, b, c } = await startCluster()
    const connect = (i: number): Connection => {
      const connection = a.tracker.connect(`user:${i}`, { session: 's' })
      connection.track('room')
      return connection
    }
    for (let i = 0; i < 20; i++) {
      connect(i)
    }
    await sim.settle()
    const said = verdicts(b, 'a')
    sim.restart(a)
    await sim.run(1_000)
    expect(said).toEqual(['permdown', 'up'])
    // Half of them come back.
    const back = Array.from({ length: 10 }, (_, i) => connect(i))
    await runAlive(sim, back, 40_000)
    for (const replica of [b, c]) {
      expect(told(sim, replica, 'joins')).toHaveLength(20)
      expect(
        told(sim, replica, 'leaves')
          .map(({ presence }) => presence.key)
          .sort()
      ).toEqual(Array.from({ length: 10 }, (_, i) => `user:${i + 10}`).sort())
      expect(keys(replica)).toHaveLength(10)
    }
  })

  it('R10: a replica is away for longer than the forget time: it is reset, and nothing that ended meanwhile comes back', async () => {
    const { sim, replicas, a, b, c } = await startCluster()
    const ann = a.tracker.connect('ann')
    ann.track('room')
    const cid = c.tracker.connect('cid')
    cid.track('room')
    const stays = c.tracker.connect('stays')
    stays.track('room')
    await sim.settle()
    split(sim, [a, b], [c])
    await sim.run(1_000)
    ann.close()
    cid.close()
    await runAlive(sim, [stays], 21 * 60_000)
    expect(a.tracker.replicas().map(({ id }) => id)).toEqual(['a', 'b'])
    const joined = replicas.map(replica => told(sim, replica, 'joins').length)
    sim.heal()
    await runAlive(sim, [stays], 30_000)
    for (const replica of replicas) {
      expect(keys(replica)).toEqual(['stays'])
    }
    // One join more where it had been dropped; none where it always was.
    expect(replicas.map((replica, i) => told(sim, replica, 'joins').length - (joined[i] as number))).toEqual([1, 1, 0])
    expect(c.tracker.replicas().every(({ status, complete }) => status === 'up' && complete)).toBe(true)
  })
})

describe('failure handling', () => {
  it('F5: listeners that throw, reject or never settle delay neither replication nor heartbeats, and each throw is told', async () => {
    const { sim, replicas, a, b, c } = await startCluster()
    const errors: unknown[] = []
    b.tracker.addEventListener('error', ({ detail }) => {
      errors.push((detail.error as Error).message)
      throw new Error('in the listener of errors, too')
    })
    // Errors of the script itself would stop the simulation: only these are expected.
    const mine = Object.assign(new Error('mine'), { code: 'ERR_MINE' })
    b.tracker.addEventListener('diff', () => {
      throw mine
    })
    b.tracker.addEventListener('diff', () => new Promise(() => {}))
    b.tracker.addEventListener('diff', () => Promise.reject(mine))
    b.tracker.addEventListener('online', () => new Promise(() => {}))
    const said = [a, c].map(replica => verdicts(replica, 'b'))
    const connections = replicas.map(replica => replica.tracker.connect(replica.name))
    for (let n = 0; n < 20; n++) {
      for (const connection of connections) {
        connection.track(`room:${n}`)
      }
      await sim.run(25)
      for (const replica of replicas) {
        expect(replica.tracker.count(`room:${n}`).keys).toBe(3)
      }
    }
    await runAlive(sim, connections, 60_000)
    expect(said).toEqual([[], []])
    expect(errors.length).toBe(2 * sim.diffs(b).length)
  })

  it('F5: a listener that blocks its thread for 60 s stops its own replica only: the others go on, it loses nothing, and its users never left for it', async () => {
    const { sim, replicas, a, b, c } = await startCluster()
    const connections = replicas.map(replica => replica.tracker.connect(replica.name))
    let blocks = true
    b.tracker.addEventListener('diff', () => {
      if (blocks) {
        blocks = false
        sim.pause(b)
        sim.schedule(60_000, () => sim.resume(b))
      }
    })
    for (const connection of connections) {
      connection.track('room')
    }
    await sim.run(1_000)
    expect([keys(a), keys(c)].map(list => list.filter(key => key !== 'b'))).toEqual([
      ['a', 'c'],
      ['a', 'c']
    ])
    await runAlive(sim, [connections[0], connections[2]] as Connection[], 60_000)
    await runAlive(sim, connections, 20_000)
    for (const replica of replicas) {
      expect(keys(replica)).toEqual(['a', 'b', 'c'])
    }
    expect(told(sim, b, 'leaves')).toEqual([])
  })

  it.each([1, 2, 3])(
    'F6: crash, restart, partition and clock jumps, around clients that are gone: nothing of them after ttl, grace and the forget time (seed %i)',
    async seed => {
      const times = { ttlMs: 30_000, graceMs: 5_000, permdownAfterMs: 60_000 }
      const { sim, replicas } = await startCluster({ replicas: 4, seed, options: times })
      const random = sim.random.fork('f6')
      for (const replica of replicas) {
        crowd(replica, replica.name, 3)
      }
      await sim.settle()
      // From now on no client says anything.
      const goneMs = sim.nowMs
      const faults: ((one: SimReplica, two: SimReplica) => void)[] = [
        (one, two) => sim.cut(one, two),
        (one, two) => sim.heal(one, two),
        one => sim.kill(one),
        one => sim.restart(one),
        one => sim.restart(one, { wallClockMs: one.wall() - 3_600_000 }),
        one => sim.shiftWallClock(one, random.below(2) === 0 ? 3_600_000 : -3_600_000)
      ]
      const bound = times.ttlMs + times.graceMs + times.permdownAfterMs + 30_000
      while (sim.nowMs < goneMs + bound) {
        const one = pick(random, replicas)
        pick(random, faults)(
          one,
          pick(
            random,
            replicas.filter(replica => replica !== one)
          )
        )
        await sim.run(random.below(4_000))
      }
      for (const replica of replicas.filter(({ state }) => state === 'running')) {
        expect(listed(replica)).toEqual([])
        expect([...replica.tracker.users()]).toEqual([])
      }
    }
  )
})
