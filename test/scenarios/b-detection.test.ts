import { describe, expect, it } from 'vitest'
import type { SimReplica } from '../../src/testing/index.ts'
import { ready, startLone } from '../support/lone.ts'
import { crowd, keys, stateBytes, verdicts } from '../support/scenario.ts'
import { listed, runAlive, startCluster, told } from '../support/sim.ts'

// pub-B1, B3 to B6, B9, B13 and B15 are about samples, relays and streams, below what a tracker shows: test/tracker/{phi-accrual,membership}.test.ts.

const DAY_MS = 86_400_000
const SHORT = { graceMs: 1_000, permdownAfterMs: 60_000 }

const statusOf = (at: SimReplica, id: string): string | undefined => at.tracker.replicas().find(replica => replica.id === id)?.status

describe('(b) silence', () => {
  it.each([0, 250, 500, 750])(
    'pub-B2: with the defaults a peer stands still for 3 s, %i ms into its second: no leave, never down',
    async phaseMs => {
      const { sim, a, b } = await startCluster()
      const said = verdicts(a, 'b')
      const connections = crowd(b, 'b', 3)
      await sim.settle()
      await sim.run(phaseMs)
      sim.pause(b)
      await sim.run(3_000)
      sim.resume(b)
      await runAlive(sim, connections, 30_000)
      expect(told(sim, a, 'leaves')).toEqual([])
      expect(said).not.toContain('down')
      expect(listed(a).map(({ state }) => state)).toEqual(['online', 'online', 'online'])
    }
  )

  it('pub-B7: permdown comes at its time after the first silence, though everybody asks a thousand times', async () => {
    const { sim, a, b } = await startCluster({ replicas: 2, options: SHORT })
    crowd(b, 'b', 1)
    await sim.settle()
    sim.kill(b, { silent: true })
    const silentSinceMs = sim.nowMs - (a.tracker.replicas().find(({ id }) => id === 'b')?.silentMs as number)
    for (let i = 0; i < 1_000; i++) {
      expect(a.tracker.replicas()).toHaveLength(2)
      await sim.run((SHORT.permdownAfterMs - 1_000) / 1_000)
    }
    await sim.run(silentSinceMs + SHORT.permdownAfterMs - sim.nowMs - 1)
    expect(a.tracker.replicas()).toHaveLength(2)
    // A pulse later at most.
    await sim.run(1 + 250)
    expect(a.tracker.replicas()).toHaveLength(1)
  })

  it('pub-B10: one starts while all others hold a dead replica down: it never shows anything of it', async () => {
    const { sim, a, b, c } = await startCluster()
    crowd(c, 'c', 5)
    await sim.settle()
    sim.kill(c)
    while (statusOf(a, 'c') !== 'down' || statusOf(b, 'c') !== 'down') {
      await sim.run(250)
    }
    // In its grace: those who knew it list it still, as unknown.
    expect(listed(a).map(({ state }) => state)).toEqual(Array(5).fill('unknown'))
    const late = sim.add()
    await sim.run(60_000)
    expect(sim.diffs(late)).toEqual([])
    expect(late.tracker.replicas().map(({ id }) => id)).not.toContain('c')
  })

  it('pub-B20: the replica with the only connection of a user is killed: offline after detection and grace, once, everywhere', async () => {
    const { sim, a, b, c } = await startCluster()
    crowd(b, 'ann', 1)
    await sim.settle()
    const killedMs = sim.nowMs
    sim.kill(b)
    await sim.run(DAY_MS / 24)
    for (const replica of [a, c]) {
      const [online, offline, ...more] = sim.transitions(replica)
      expect([online?.type, offline?.type, more]).toEqual(['online', 'offline', []])
      expect((offline?.atMs as number) - killedMs).toBeGreaterThanOrEqual(15_000)
      expect((offline?.atMs as number) - killedMs).toBeLessThan(10_000 + 15_000 + 500)
      expect(replica.tracker.isOnline('ann0')).toBe(false)
    }
  })

  // A quarter of the report's 20 MB, on a quarter of the link.
  it('pub-B21: 5 MB of state on a link of 250 kB/s, which heartbeats share: nobody is suspected', async () => {
    const { sim, a, b } = await startCluster({ replicas: 2, checks: 'manual' })
    const said = [verdicts(a, 'b'), verdicts(b, 'a')]
    sim.slow(a, b, { bytesPerSecond: 250_000, latencyMs: 20 })
    const random = sim.random.fork('metas')
    a.tracker.batch(() => {
      for (let i = 0; i < 5_000; i++) {
        // Of random digits, as equal texts are sent once.
        const text = Array.from({ length: 110 }, () => random.nextFloat().toString().slice(2, 11)).join('')
        a.tracker.connect(`user:${i}`).track('room', { text })
      }
    })
    await sim.run(15_000)
    expect(b.tracker.count('room').keys).toBeLessThan(5_000)
    await sim.run(10_000)
    expect(b.tracker.count('room').keys).toBe(5_000)
    expect(stateBytes(sim, a, b)).toBeGreaterThan(4_500_000)
    expect(said).toEqual([[], []])
  })
})

describe('(b) pauses of this process', () => {
  it('pub-B22: the machine sleeps for an hour: the sweep after it removes nobody', async () => {
    const { tracker, process, diffs, run } = await startLone()
    const connections = Array.from({ length: 20 }, (_, i) => tracker.connect(`user:${i}`))
    for (const connection of connections) {
      connection.track('room')
    }
    await run(44_000)
    process.pause()
    await run(3_600_000)
    process.resume()
    await run(500)
    expect(connections.every(connection => connection.open)).toBe(true)
    expect(connections.map(connection => connection.heartbeat())).toEqual(connections.map(() => true))
    expect(diffs.flatMap(({ leaves }) => leaves)).toEqual([])
  })

  it('pub-B18: idle for 24 hours with a heartbeat every 15 s: one join, no leave', async () => {
    const { tracker, diffs, transitions, run } = await startLone()
    const ann = tracker.connect('ann')
    ann.track('room')
    for (let ms = 0; ms < DAY_MS; ms += 15_000) {
      await run(15_000)
      expect(ann.heartbeat()).toBe(true)
    }
    expect(diffs.map(({ joins, leaves }) => [joins.length, leaves.length])).toEqual([[1, 0]])
    expect(transitions).toEqual(['online ann'])
    expect(await ready(tracker.watch('room'))).toMatchObject([{ presences: [{ key: 'ann' }] }])
  })
})

describe('(b) restarts', () => {
  it('pub-B8: ten restarts in ten minutes: one incarnation is up, the others are gone, and idle bytes stay the same', async () => {
    const { sim, a, b } = await startCluster({ replicas: 2, options: { ...SHORT, limits: { changeLog: 0 } } })
    const idleBytes = async (): Promise<number> => {
      const before = sim.bytes(a, b)
      await sim.run(20_000)
      return sim.bytes(a, b) - before
    }
    const first = await idleBytes()
    for (let i = 0; i < 10; i++) {
      sim.restart(a)
      crowd(a, 'ann', 1)
      await sim.run(60_000)
    }
    expect(b.tracker.replicas().map(({ id, status }) => [id, status])).toEqual([
      ['b', 'up'],
      ['a', 'up']
    ])
    await sim.run(SHORT.permdownAfterMs)
    expect(sim.sizes(b)).toMatchObject({ members: 1, held: 0, origins: 2 })
    expect(sim.sizes(b).graves).toBeLessThanOrEqual(1)
    expect(await idleBytes()).toBeLessThan(first * 1.2)
  })

  it.each([1, 2, 3])(
    'pub-B11: all five restart within a round; the messages of their former lives come afterwards, in any order (seed %i): all are up',
    async seed => {
      const { sim, replicas } = await startCluster({ replicas: 5, seed })
      const pairs = replicas.flatMap(from => replicas.filter(to => to !== from).map(to => [from, to] as const))
      for (const [from, to] of pairs) {
        sim.hold(from, to)
      }
      for (const replica of replicas) {
        crowd(replica, `old-${replica.name}`, 2)
      }
      await sim.run(3_000)
      // What was sent so far stays held; what the new lives send flows.
      for (const [from, to] of pairs) {
        sim.hold(from, to, { types: [] })
      }
      for (const replica of replicas) {
        sim.restart(replica)
        await sim.run(150)
        crowd(replica, `new-${replica.name}`, 1)
      }
      await sim.run(500)
      for (let left = sim.random.shuffle(pairs.flatMap(pair => sim.held(...pair).map(() => pair))); left.length > 0; left = left.slice(1)) {
        const [from, to] = left[0] as readonly [SimReplica, SimReplica]
        sim.deliver(from, to, sim.random.below(sim.held(from, to).length))
        await sim.run(sim.random.below(20))
      }
      await sim.run(5_000)
      for (const replica of replicas) {
        expect(replica.tracker.replicas().map(({ status }) => status)).toEqual(Array(5).fill('up'))
      }
      await sim.run(20_000)
      for (const replica of replicas) {
        expect(keys(replica)).toEqual(replicas.map(({ name }) => `new-${name}0`))
      }
    }
  )

  it('pub-B12: a goodbye is held, the replica is back, then the goodbye arrives: it is up, and its presences stay', async () => {
    const { sim, a, b } = await startCluster({ replicas: 2 })
    crowd(a, 'old', 1)
    await sim.settle()
    sim.hold(a, b, { types: ['bye'] })
    await sim.stop(a)
    sim.restart(a)
    await sim.run(2_000)
    const connections = crowd(a, 'new', 1)
    await sim.run(100)
    const joined = told(sim, b, 'joins').length
    const said = verdicts(b, 'a')
    expect(sim.deliver(a, b, 0)).toBe(true)
    await runAlive(sim, connections, 40_000)
    expect([said, statusOf(b, 'a')]).toEqual([[], 'up'])
    expect(keys(b)).toEqual(['new0'])
    expect(told(sim, b, 'joins')).toHaveLength(joined)
    expect(told(sim, b, 'leaves').map(({ presence }) => presence.key)).toEqual(['old0'])
  })

  // Where both are heard by one replica they are told apart and reported: pub-B14 in test/tracker/membership.test.ts. Here nobody hears both.
  it('pub-B14: two processes of one id at the two ends of a line, for five minutes: those between do not flap, nobody loses presences, and it calms down', async () => {
    const { sim, a, b, c } = await startCluster({ topology: 'line' })
    const said = [verdicts(b, 'c'), verdicts(c, 'b')]
    const twin = sim.add({ id: 'a' })
    // Heard of before anything is tracked: what c had been shown of the first one would rightly leave when the second supersedes it there.
    await sim.run(1_000)
    const connections = [a, b, c, twin].map(replica => {
      const connection = replica.tracker.connect(`at-${replica.name}`)
      connection.track('room')
      return connection
    })
    await runAlive(sim, connections, 300_000)
    expect(said).toEqual([[], []])
    expect([keys(a), keys(b)]).toEqual(Array(2).fill(['at-a', 'at-b', 'at-c']))
    expect([keys(c), keys(twin)]).toEqual(Array(2).fill(['at-b', 'at-c', 'at-d']))
    // Each takes the next incarnation when it hears of the other's: after 10, 20, 40, 80 s …
    expect(Math.max(...[a, twin].map(replica => sim.sizes(replica).reincarnations as number))).toBeLessThanOrEqual(6)
    expect([a, b, c, twin].flatMap(replica => told(sim, replica, 'leaves'))).toEqual([])
    sim.kill(twin)
    await runAlive(sim, connections.slice(0, 3), 60_000)
    for (const replica of [a, b, c]) {
      expect(keys(replica)).toEqual(['at-a', 'at-b', 'at-c'])
    }
  })

  it('pub-B16: a late heartbeat of the former life, newer than any of the present one: no verdict, no diff', async () => {
    const { sim, a, b } = await startCluster({ replicas: 2 })
    await runAlive(sim, crowd(a, 'old', 5), 60_000)
    sim.hold(a, b, { types: ['heartbeat'] })
    await sim.run(1_500)
    const late = sim.held(a, b).length - 1
    sim.hold(a, b, { types: [] })
    sim.restart(a)
    const connections = crowd(a, 'new', 2)
    await runAlive(sim, connections, 20_000)
    expect(keys(b)).toEqual(['new0', 'new1'])
    const said = verdicts(b, 'a')
    const before = sim.diffs(b).length
    expect(sim.deliver(a, b, late)).toBe(true)
    await runAlive(sim, connections, 20_000)
    expect(said.filter(verdict => verdict !== 'duplicate')).toEqual([])
    expect(sim.diffs(b)).toHaveLength(before)
    expect(statusOf(b, 'a')).toBe('up')
    expect(sim.sizes(b).diverged).toBe(0)
  })

  it('pub-B17: restarted 400 days later it is taken; ten years ahead of the receiver it is refused, and told', async () => {
    const { sim, a, b } = await startCluster({ replicas: 2 })
    sim.kill(a)
    sim.shiftWallClock(b, 400 * DAY_MS)
    sim.restart(a, { wallClockMs: b.wall() })
    await sim.run(5_000)
    expect(statusOf(b, 'a')).toBe('up')
    const codes: unknown[] = []
    sim.restart(a, { wallClockMs: b.wall() + 3_650 * DAY_MS, newId: true })
    a.tracker.addEventListener('error', ({ detail }) => void codes.push((detail.error as { code?: unknown }).code))
    crowd(a, 'ahead', 1)
    await sim.run(10_000)
    expect(statusOf(b, a.id)).toBeUndefined()
    expect(keys(b)).toEqual([])
    expect(codes).toEqual(['ERR_CLOCK_AHEAD'])
  })
})

describe('(b) goodbyes', () => {
  it('pub-B19: a replica stops and says so: its leaves come within a round, once; it says nothing more and keeps no timer', async () => {
    const { sim, a, b, c } = await startCluster()
    crowd(a, 'ann', 3)
    await sim.settle()
    await sim.until(a.tracker.stop({ announce: true }))
    const before = sim.traffic(a, b).frames
    await sim.run(1_000)
    for (const replica of [b, c]) {
      expect(told(sim, replica, 'leaves').map(({ reason }) => reason)).toEqual(['node-left', 'node-left', 'node-left'])
    }
    await sim.run(60_000)
    expect([sim.traffic(a, b).frames, sim.sizes(a).timers]).toEqual([before, 0])
    for (const replica of [b, c]) {
      expect(told(sim, replica, 'leaves')).toHaveLength(3)
      expect(replica.tracker.replicas().map(({ id }) => id)).not.toContain('a')
    }
  })
})
