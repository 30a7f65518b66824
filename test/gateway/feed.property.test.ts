import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { GatewayOptions } from '../../src/net/gateway/options.ts'
import { fakeWatcher } from './unit/fakes.ts'
import { type FeedWorld, type Op, pass, startFeedWorld, TOPIC } from './unit/feed-world.ts'

const LONG = process.env.ROLLCALL_LONG === '1'
const RUNS = LONG ? 20_000 : 300
const SEED = LONG ? Date.now() % 2 ** 31 : 4_711

const below = (n: number): fc.Arbitrary<number> => fc.nat(n - 1)
const who = below(8)
const key = below(4)
const screen = below(4)
const n = below(3)

const change: fc.Arbitrary<Op> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ type: fc.constant('connect' as const), user: below(4), session: below(3) }) },
  { weight: 9, arbitrary: fc.record({ type: fc.constant('show' as const), who, key, n }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('untrack' as const), who, key }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constantFrom('close' as const, 'lost' as const), who }) }
)
const op: fc.Arbitrary<Op> = fc.oneof(
  { weight: 10, arbitrary: change },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('batch' as const), ops: fc.array(change, { maxLength: 6 }) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constantFrom('enter' as const, 'enter' as const, 'leave' as const, 'behind' as const, 'resume' as const),
      screen
    })
  },
  { weight: 5, arbitrary: fc.record({ type: fc.constant('window' as const), ms: fc.constantFrom(1, 20, 50, 100) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('clock' as const), ms: fc.constantFrom(10, 100, 300) }) },
  { weight: 2, arbitrary: fc.constant<Op>({ type: 'turn' }) },
  { weight: 1, arbitrary: fc.constant<Op>({ type: 'tick' }) }
)
const START: readonly Op[] = [...[0, 1, 2, 3].map(user => ({ type: 'connect' as const, user, session: 0 })), { type: 'enter', screen: 0 }]

/** All is checked at each frame, by the screens. Here: what is so when nothing happens any more. Returns how many changes of state were told. */
async function check(options: Partial<GatewayOptions>, ops: readonly Op[]): Promise<number> {
  const world = await startFeedWorld(options)
  await world.run([...START, ...ops])
  await world.quiesce()
  const isSampled = world.feeds.sampled > 0
  for (const each of world.screens.values()) {
    expect(each.shows(world.listing)).toBe(true)
    expect(each.mode).toBe(isSampled ? 'interval' : 'full')
    expect(isSampled ? each.counts : each.list.size).toEqual(isSampled ? world.tracker.count(TOPIC) : world.listing.size)
  }
  expect(world.failures).toEqual([])
  expect(world.tally.diffEncodes).toBe(world.tally.diffFlushes)
  expect(world.feeds.watchers).toBe(world.screens.size)
  await world.run([0, 1, 2, 3].map(index => ({ type: 'leave', screen: index })))
  await pass(200)
  expect([world.feeds.size, vi.getTimerCount(), world.tracker.stats().topicWatches]).toEqual([0, 0, 0])
  return world.tally.diffsSent + world.tally.snapshotsSent
}

const SMALL = { abovePresences: 4, sample: 2, everyMs: 100, holdMs: 50, aboveFanOut: 1_000_000 }

describe('a feed: what unchanged clients list', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  const KINDS: readonly (readonly [string, Partial<GatewayOptions>])[] = [
    ['INV-91: told of everything', {}],
    ['INV-91: without a window', { diffWindowMs: 0 }],
    ['INV-93: a topic that is now and then too large', { interval: SMALL }],
    ['INV-93: a topic that is now and then too lively', { interval: { ...SMALL, abovePresences: 1_000, aboveFanOut: 1 } }]
  ]
  it.each(KINDS)(
    `%s; ${RUNS} runs, seed ${SEED}`,
    async (_, options) => {
      let told = 0
      await fc.assert(
        fc.asyncProperty(fc.array(op, { minLength: 40, maxLength: 120, size: 'max' }), async ops => {
          told += await check(options, ops)
        }),
        { numRuns: RUNS, seed: SEED }
      )
      expect(told).toBeGreaterThan(8 * RUNS)
    },
    1_800_000
  )
})

describe('a feed: what is encoded', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  /** Counts what comes, and keeps which buffers it was made of. */
  function counting(parts: Set<Buffer>) {
    const counted = { joinRef: '1', takes: true, states: 0, diffs: 0 }
    return Object.assign(counted, {
      send: ({ bytes }: { readonly bytes: Buffer }) => {
        counted.diffs++
        parts.add(bytes)
      },
      sendParts: (sent: readonly Buffer[]) => {
        counted.states++
        parts.add(sent[1] as Buffer)
      }
    })
  }

  const track = (world: FeedWorld, from: number, to: number): void =>
    world.tracker.batch(() => {
      for (let i = from; i < to; i++) {
        world.tracker.connect(`user${i}`).track(TOPIC, { name: `User ${i}` })
      }
    })

  it('INV-92, pub-D2: 5,000 who watch a topic of 5,000 from the same turn on share one encoded snapshot', async () => {
    const world = await startFeedWorld()
    track(world, 0, 5_000)
    const parts = new Set<Buffer>()
    const watchers = Array.from({ length: 5_000 }, () => counting(parts))
    for (const watcher of watchers) {
      world.feeds.enter(TOPIC, 'list', watcher)
    }
    await pass(100)
    expect(watchers.every(({ states, diffs }) => states === 1 && diffs === 0)).toBe(true)
    expect([world.tally.snapshotEncodes, world.tally.snapshotsSent, parts.size]).toEqual([1, 5_000, 1])
    expect(world.tracker.stats().topicWatches).toBe(1)

    const more = Array.from({ length: 100 }, () => counting(parts))
    for (const watcher of more) {
      world.feeds.enter(TOPIC, 'list', watcher)
    }
    await pass(100)
    expect([world.tally.snapshotEncodes, world.tally.snapshotsSent, parts.size]).toEqual([1, 5_100, 1])
  })

  it('INV-92: a window is encoded once, whatever the number of watchers; one that tells nothing is not encoded', async () => {
    const world = await startFeedWorld()
    const parts = new Set<Buffer>()
    const watchers = Array.from({ length: 200 }, () => counting(parts))
    for (const watcher of watchers) {
      world.feeds.enter(TOPIC, 'list', watcher)
    }
    await pass(100)
    for (let i = 0; i < 50; i++) {
      track(world, i, i + 1)
      await pass(10)
    }
    await pass(100)
    const { diffEncodes, diffFlushes, diffsSent, snapshotEncodes } = world.tally
    expect(snapshotEncodes).toBe(1)
    expect(diffEncodes).toBe(diffFlushes)
    expect(diffEncodes).toBeLessThanOrEqual(12)
    expect(diffsSent).toBe(200 * diffEncodes)
    expect(parts.size).toBe(1 + diffEncodes)
    world.tracker.batch(() => {
      const nobody = world.tracker.connect('nobody')
      nobody.track(TOPIC)
      nobody.close()
    })
    await pass(100)
    expect(world.tally.diffEncodes).toBe(diffEncodes)
  })

  it('pub-D15: 2,000 who come within 10 s are at most one frame per window for each watcher', async () => {
    const world = await startFeedWorld()
    const watchers = Array.from({ length: 20 }, () => counting(new Set()))
    for (const watcher of watchers) {
      world.feeds.enter(TOPIC, 'list', watcher)
    }
    await pass(100)
    for (let i = 0; i < 2_000; i += 5) {
      track(world, i, i + 5)
      await pass(25)
    }
    await pass(100)
    for (const { states, diffs } of watchers) {
      expect(states).toBe(1)
      expect(diffs).toBeLessThanOrEqual(10_000 / 50 + 1)
    }
  })

  it('pub-D14: 100 updates within a second are one frame per window, and the last one wins', async () => {
    const world = await startFeedWorld()
    const ann = world.tracker.connect('ann')
    ann.track(TOPIC, { n: 0 })
    const watcher = fakeWatcher()
    world.feeds.enter(TOPIC, 'list', watcher)
    await pass(100)
    for (let n = 1; n <= 100; n++) {
      ann.update(TOPIC, { n })
      await pass(10)
    }
    await pass(100)
    const diffs = watcher.texts.slice(1).map(text => JSON.parse(text)[4])
    expect(diffs.length).toBeLessThanOrEqual(1_000 / 50 + 1)
    expect(diffs.at(-1).joins.ann.metas[0].n).toBe(100)
  })
})
