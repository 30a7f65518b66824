import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { type CountEvent, createTracker, type Tracker, type TrackerOptions, type WatchEvent } from '../../src/index.ts'
import { createRandom, VirtualClock, VirtualProcess } from '../../src/testing/index.ts'
import { ready, startLone } from '../support/lone.ts'
import { crowd, keys, readIntervals, stateBytes, verdicts } from '../support/scenario.ts'
import { startCluster, told } from '../support/sim.ts'

// How long things take is the matter of bench/ (merge, connections): here what they are made of is counted.

/** The numbers of the reports; else a fifth of them, which takes seconds. */
const LONG = process.env.ROLLCALL_LONG !== undefined
const SHARE = LONG ? 1 : 0.2

/** A tracker of which nobody keeps what it tells. */
async function startQuiet(options: TrackerOptions): Promise<{ tracker: Tracker; host: VirtualProcess; run(ms: number): Promise<void> }> {
  const clock = new VirtualClock()
  const host = new VirtualProcess({ clock, random: createRandom(1), wallClockMs: Date.UTC(2026, 0, 1) })
  const tracker = createTracker({ ...options, environment: host.environment })
  await tracker.start()
  const run = async (ms: number): Promise<void> => {
    const endMs = clock.nowMs + ms
    while (clock.step(endMs)) {
      await Promise.resolve()
    }
  }
  return { tracker, host, run }
}

/** Bytes of live objects. */
function heapBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  collect()
  return process.memoryUsage().heapUsed
}

/** About so many bytes that no encoder can shorten. */
const noise = (random: { nextFloat(): number }, bytes: number): string =>
  Array.from({ length: Math.ceil(bytes / 9) }, () => random.nextFloat().toString().slice(2, 11)).join('')

describe('(d) large states', () => {
  it(`pub-D1: ${35_000 * SHARE} presences in ${5_000 * SHARE} topics, ${10_000 * SHARE} more arrive: in frames, between which lists are answered`, async () => {
    const [presences, topics, more] = [35_000 * SHARE, 5_000 * SHARE, 10_000 * SHARE]
    const { sim, a, b } = await startCluster({ replicas: 2, checks: 'manual', options: { limits: { changeLog: 0 } } })
    b.tracker.batch(() => {
      for (let i = 0; i < presences; i++) {
        b.tracker.connect(`user:${i}`).track(`room:${i % topics}`)
      }
    })
    await sim.settle()
    const read = readIntervals(sim)
    let lists = 0
    sim.observe({
      delivered: () => {
        expect(b.tracker.list(`room:${lists++ % topics}`).size).toBe(7)
      }
    })
    a.tracker.batch(() => {
      for (let i = 0; i < more; i++) {
        a.tracker.connect(`late:${i}`).track('lobby')
      }
    })
    await sim.settle()
    expect(b.tracker.count('lobby').keys).toBe(more)
    // A frame of 64 KiB is one merge: what blocks a reader at most.
    const merged = read.filter(({ to }) => to === 'b').map(({ interval }) => interval.adds.length)
    expect(merged.reduce((sum, adds) => sum + adds)).toBe(2 * more)
    expect(Math.max(...merged)).toBeLessThan(1_000)
    expect(lists).toBeGreaterThanOrEqual(merged.length)
    sim.checkInvariants()
  })

  it('pub-D4: a newcomer loads 5 MB in frames; its link breaks in the middle, twice: it goes on where it was, and nothing is lost', async () => {
    const { sim, a } = await startCluster({ replicas: 1, checks: 'manual' })
    const random = sim.random.fork('metas')
    a.tracker.batch(() => {
      for (let i = 0; i < 10_000; i++) {
        a.tracker.connect(`user:${i}`).track('room', { text: noise(random, 500) })
      }
    })
    const late = sim.add()
    sim.slow(a, late, { latencyMs: 5, bytesPerSecond: 1_000_000 })
    const counts: number[] = []
    for (let i = 0; i < 2; i++) {
      await sim.run(1_500)
      counts.push(late.tracker.count('room').keys)
      sim.breakLink(a, late)
    }
    // What is there is shown, and grows: a slice is safe by itself.
    expect(counts[0]).toBeGreaterThan(0)
    expect(counts[1]).toBeGreaterThan(counts[0] as number)
    expect(counts[1]).toBeLessThan(10_000)
    await sim.run(10_000)
    expect(late.tracker.count('room').keys).toBe(10_000)
    expect(late.tracker.list('room')).toEqual(a.tracker.list('room'))
    expect(stateBytes(sim, a, late)).toBeGreaterThan(5_000_000)
    // What was under way when it broke, twice at most a send buffer.
    expect(stateBytes(sim, a, late)).toBeLessThan(5_000_000 * 1.3)
  })

  it('pub-D5: a meta of 2 MiB: refused by track, with the limit; nothing is sent', async () => {
    const { sim, a, b } = await startCluster({ replicas: 2 })
    const ann = a.tracker.connect('ann')
    await sim.settle()
    const before = stateBytes(sim, a, b)
    expect(() => ann.track('room', { text: 'x'.repeat(2 ** 21) })).toThrowError(
      expect.objectContaining({ code: 'ERR_META_TOO_BIG', maxBytes: 1_024 })
    )
    await sim.run(1_000)
    expect([stateBytes(sim, a, b), a.tracker.count('room').keys]).toEqual([before, 0])
  })

  it(`pub-D6: one track with ${100_000 * SHARE} presences around costs the bytes and the entries of one; 10,000 in a batch are one diff per topic`, async () => {
    const cost = async (resident: number): Promise<[number, number]> => {
      const { sim, a, b } = await startCluster({ replicas: 2, checks: 'manual', options: { limits: { changeLog: 0 } } })
      crowd(a, 'user:', resident)
      await sim.settle()
      const ann = a.tracker.connect('ann')
      await sim.run(1_000)
      const read = readIntervals(sim)
      const before = stateBytes(sim, a, b)
      ann.track('room')
      await sim.run(1_000)
      return [stateBytes(sim, a, b) - before, read.reduce((sum, { interval }) => sum + interval.adds.length + interval.marks.length, 0)]
    }
    const [small, large] = [await cost(1_000), await cost(100_000 * SHARE)]
    expect([small[1], large[1]]).toEqual([1, 1])
    expect(large[0]).toBeLessThan(small[0] + 8)
    const { tracker, diffs } = await startLone()
    const ann = Array.from({ length: 10 }, (_, i) => tracker.connect(`user:${i}`))
    tracker.batch(() => {
      for (let i = 0; i < 10_000; i++) {
        ann[i % 10]?.track('room', {}, { key: `key:${i}` })
      }
    })
    expect(diffs.map(({ joins }) => joins.length)).toEqual([10_000])
  })

  it(`pub-D16: a replica of ten with ${10_000 * SHARE} presences dies: nine remove them without a word to each other, in one diff each`, async () => {
    const { sim, replicas } = await startCluster({
      replicas: 10,
      checks: 'manual',
      options: { graceMs: 1_000, permdownAfterMs: 30_000, limits: { changeLog: 0 } }
    })
    const [dead, ...others] = replicas as [(typeof replicas)[0], ...typeof replicas]
    crowd(dead, 'user:', 10_000 * SHARE)
    await sim.settle()
    const state = (): number => others.flatMap(from => others.map(to => stateBytes(sim, from, to))).reduce((sum, bytes) => sum + bytes)
    const before = state()
    sim.kill(dead)
    await sim.run(40_000)
    expect(state()).toBe(before)
    for (const replica of others) {
      expect(
        sim
          .diffs(replica)
          .filter(({ leaves }) => leaves.length > 0)
          .map(({ leaves }) => leaves.length)
      ).toEqual([10_000 * SHARE])
      expect(sim.sizes(replica)).toMatchObject({ entries: 0, topicNodes: 0, users: 0 })
    }
  })
})

describe('(d) churn', () => {
  it(`pub-D7: ${100_000 * SHARE} times connect, track in any topic, close, untrack again: every size and the heap are back`, async () => {
    const { tracker, host, run } = await startQuiet({ graceMs: 0, limits: { changeLog: 0 }, lastSeenMs: 0 })
    const churn = (times: number): number => {
      let untracked = 0
      for (let i = 0; i < times; i++) {
        const connection = tracker.connect(`user:${i % 1_000}`)
        connection.track(`room:${(i * 7_919) % 10_007}`)
        connection.close()
        untracked += connection.untrack()
      }
      return untracked
    }
    const [timers, sizes] = [host.timers, tracker.stats()]
    // So that the mark log and the pool of texts, which are bounded, are full.
    churn(20_000)
    await run(1_000)
    const heap = heapBytes()
    expect(churn(100_000 * SHARE)).toBe(0)
    await run(1_000)
    expect(host.timers).toBe(timers)
    for (const name of ['entries', 'ownEntries', 'lingering', 'connections', 'topicNodes', 'users', 'changeLog', 'lastSeen', 'waiting']) {
      expect([name, tracker.stats()[name]]).toEqual([name, sizes[name]])
    }
    expect([tracker.stats().entries, tracker.topics().size]).toEqual([0, 0])
    expect(heapBytes() - heap).toBeLessThan(5 * 2 ** 20)
  })

  it('pub-D8: caps of 100, ten thousand clients come and go one at a time: the next one is accepted', async () => {
    const { tracker, run } = await startLone({
      limits: { connections: 100, entriesPerReplica: 100, entriesPerTopic: 100, connectionsPerUser: 100 }
    })
    for (let i = 0; i < 10_000; i++) {
      const connection = tracker.connect('ann')
      connection.track('room')
      connection.close()
      // Users linger for the grace: 15 s.
      await run(250)
    }
    const next = tracker.connect('next')
    expect(next.track('room')).toBeTypeOf('string')
    const full = Array.from({ length: 38 }, (_, i) => tracker.connect(`user:${i}`))
    expect(() => full.concat(Array.from({ length: 2 }, (_, i) => tracker.connect(`more:${i}`)))).toThrowError(
      expect.objectContaining({ code: 'ERR_LIMIT', limit: 'entriesPerReplica' })
    )
  })
})

describe('(d) many who look, and many changes', () => {
  it('pub-D10: two devices of a user say away and active by turns, every 50 ms for a minute: the user is online once, and stays so', async () => {
    const { sim, replicas, a, b } = await startCluster()
    const phone = a.tracker.connect('ann', { meta: { status: 'away' } })
    const laptop = b.tracker.connect('ann', { meta: { status: 'active' } })
    phone.track('room', { status: 'away' })
    laptop.track('room', { status: 'active' })
    for (let i = 0; i < 1_200; i++) {
      const device = i % 2 === 0 ? phone : laptop
      device.update('room', { status: i % 4 < 2 ? 'away' : 'active' })
      await sim.run(50)
      expect(replicas.map(({ tracker }) => tracker.isOnline('ann'))).toEqual([true, true, true])
    }
    for (const replica of replicas) {
      expect(sim.transitions(replica).map(({ type }) => type)).toEqual(['online'])
      expect(told(sim, replica, 'joins')).toHaveLength(2)
      expect(told(sim, replica, 'leaves')).toEqual([])
    }
  })

  it('pub-D11: one of 100 watchers does not read 10,000 diffs: it costs one merged diff, and the others get theirs', async () => {
    const { tracker } = await startQuiet({ limits: { changeLog: 0 } })
    const watches = Array.from({ length: 100 }, () => tracker.watch('room'))
    const [stalled, ...others] = watches as [(typeof watches)[0], ...typeof watches]
    for (const watch of watches) {
      await ready(watch)
    }
    const ann = tracker.connect('ann')
    ann.track('room', { n: 0 })
    const before = heapBytes()
    for (let n = 1; n <= 10_000; n++) {
      ann.update('room', { n })
      if (n % 2_000 === 0) {
        for (const watch of others) {
          expect((await ready<WatchEvent>(watch)).at(-1)).toMatchObject({ updates: [{ next: { meta: { n } } }] })
        }
      }
    }
    expect(heapBytes() - before).toBeLessThan(2 * 2 ** 20)
    // The read that waited for the first event has it; all that came after it is one.
    expect(await ready<WatchEvent>(stalled)).toMatchObject([
      { type: 'diff', joins: [{ meta: { n: 0 } }] },
      { type: 'diff', joins: [], leaves: [], updates: [{ prev: { meta: { n: 0 } }, next: { meta: { n: 10_000 } } }] }
    ])
  })

  it('pub-D12: with one replica hung and one dead, list answers at once, with what is known', async () => {
    const { sim, a, b, c } = await startCluster()
    for (const replica of [a, b, c]) {
      crowd(replica, replica.name, 2)
    }
    await sim.settle()
    sim.pause(b)
    sim.kill(c)
    expect(keys(a)).toEqual(['a0', 'a1', 'b0', 'b1', 'c0', 'c1'])
    await sim.run(8_000)
    expect(keys(a)).toHaveLength(6)
    expect(a.tracker.list('room')).toBeInstanceOf(Map)
    expect(a.tracker.get('room', 'b0')).toMatchObject([{ state: 'unknown' }])
  })

  it('pub-D14: a hundred updates of one presence within a second: one per flush window is sent, the last one wins, and nothing is refused', async () => {
    const { sim, a, b } = await startCluster({ replicas: 2 })
    const ann = a.tracker.connect('ann')
    ann.track('room', { n: 0 })
    await sim.settle()
    const read = readIntervals(sim)
    const before = told(sim, b, 'updates').length
    for (let n = 1; n <= 100; n++) {
      expect(ann.update('room', { n })).toBeTypeOf('string')
      await sim.run(10)
    }
    await sim.run(100)
    expect(read.length).toBeLessThanOrEqual(1_000 / 20 + 1)
    expect(read.every(({ interval }) => interval.adds.length === 1)).toBe(true)
    expect(told(sim, b, 'updates').length - before).toBe(read.length)
    expect(b.tracker.get('room', 'ann')).toMatchObject([{ meta: { n: 100 } }])
    expect(ann.open).toBe(true)
  })

  it('pub-D15: 2,000 join one topic within ten seconds: a watcher elsewhere gets one diff per flush window, one who counts the same number of small events', async () => {
    const { sim, a, b } = await startCluster({ replicas: 2, checks: 'manual' })
    const said = verdicts(b, 'a')
    const counting = b.tracker.watchCount('room')
    await ready(counting)
    const counts: CountEvent[] = []
    const watch = b.tracker.watch('room')
    await ready(watch)
    const events: WatchEvent[] = []
    const before = stateBytes(sim, a, b)
    for (let i = 0; i < 2_000; i++) {
      a.tracker.connect(`user:${i}`).track('room')
      await sim.run(5)
      events.push(...(await ready<WatchEvent>(watch)))
      counts.push(...(await ready(counting)))
    }
    await sim.settle()
    events.push(...(await ready<WatchEvent>(watch)))
    counts.push(...(await ready(counting)))
    expect(events.length).toBeLessThanOrEqual(10_000 / 20 + 1)
    expect(counts.length).toBeLessThanOrEqual(events.length)
    expect(counts.at(-1)).toEqual({ type: 'count', topic: 'room', keys: 2_000, presences: 2_000 })
    expect(events.reduce((sum, event) => sum + (event.type === 'diff' ? event.joins.length : 0), 0)).toBe(2_000)
    // Two entries per user, the user's own and the topic's, in frames of eight: 60 bytes per entry (R8) is not exceeded.
    expect(stateBytes(sim, a, b) - before).toBeLessThan(2 * 2_000 * 60)
    expect(said).toEqual([])
  })
})
