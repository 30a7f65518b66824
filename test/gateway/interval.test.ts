import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { GatewayOptions } from '../../src/net/gateway/options.ts'
import type { Json } from '../support/gateway/json.ts'
import { closeAll, joinTopic, openClient } from '../support/gateway/phoenix-client.ts'
import { startGateway } from '../support/gateway/serve-gateway.ts'
import { until } from '../support/net/until.ts'
import { type FakeWatcher, fakeWatcher } from './unit/fakes.ts'
import { type FeedWorld, pass, startFeedWorld, TOPIC } from './unit/feed-world.ts'

const EVERY_MS = 1_000
const HOLD_MS = 3_000
const INTERVAL = { abovePresences: 10, aboveFanOut: 1_000_000, everyMs: EVERY_MS, sample: 4, holdMs: HOLD_MS }

type Told = readonly [event: string, payload: Json]

/** What came since it was last asked. */
function told(watcher: FakeWatcher): Told[] {
  return watcher.texts.splice(0).map(text => {
    const [, , , event, payload] = JSON.parse(text)
    return [event, payload]
  })
}
const events = (watcher: FakeWatcher): string[] => told(watcher).map(([event]) => event)

async function fill(world: FeedWorld, from: number, to: number): Promise<void> {
  world.tracker.batch(() => {
    for (let i = from; i < to; i++) {
      world.tracker.connect(`user${i}`, { session: `s${i}` }).track(TOPIC, { i })
    }
  })
  await pass(0)
}

const leave = (world: FeedWorld, from: number, to: number): void =>
  world.tracker.batch(() => {
    for (let i = from; i < to; i++) {
      world.tracker.kick(`user${i}`)
    }
  })

async function start(interval: GatewayOptions['interval'] = {}): Promise<{ readonly world: FeedWorld; readonly watcher: FakeWatcher }> {
  const world = await startFeedWorld({ interval: { ...INTERVAL, ...interval } })
  const watcher = fakeWatcher()
  world.feeds.enter(TOPIC, 'list', watcher)
  await pass(100)
  expect(told(watcher)).toEqual([['presence_state', {}]])
  return { world, watcher }
}

describe('interval mode of a topic', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('who watches is told the mode, then a state of the sample, then the counts', async () => {
    const { world, watcher } = await start()
    await fill(world, 0, 11)
    const [mode, state, counts, ...more] = told(watcher)
    expect([mode, more]).toEqual([['presence_mode', { mode: 'interval', sample: 4, interval_ms: EVERY_MS }], []])
    expect([state?.[0], Object.keys(state?.[1]).length]).toEqual(['presence_state', 4])
    expect(counts).toEqual(['presence_count', { keys: 11, presences: 11 }])
    expect(world.feeds.sampled).toBe(1)
    const newcomer = fakeWatcher('2')
    world.feeds.enter(TOPIC, 'list', newcomer)
    await pass(EVERY_MS + 1)
    expect(told(newcomer)).toEqual([mode, state, counts])
    expect(told(watcher)).toEqual([])
  })

  it('a watcher gets two frames per interval at most, however much changes', async () => {
    const { world, watcher } = await start()
    await fill(world, 0, 20)
    told(watcher)
    for (let ms = 0; ms < 10 * EVERY_MS; ms += 20) {
      leave(world, ms % 20, (ms % 20) + 1)
      await fill(world, 20 + ms, 21 + ms)
      await pass(20)
    }
    const frames = told(watcher)
    expect(frames.length).toBeGreaterThan(10)
    expect(frames.length).toBeLessThanOrEqual(22)
    expect(frames.at(-1)).toEqual(['presence_count', world.tracker.count(TOPIC)])
  })

  it('who is in the sample stays in it until he leaves; counts come when they change', async () => {
    const { world, watcher } = await start()
    await fill(world, 0, 11)
    const sample = Object.keys(told(watcher)[1]?.[1])
    await fill(world, 11, 500)
    await pass(EVERY_MS)
    expect(told(watcher)).toEqual([['presence_count', { keys: 500, presences: 500 }]])
    await pass(5 * EVERY_MS)
    expect(told(watcher)).toEqual([])
    world.tracker.kick(sample[0] as string)
    await pass(EVERY_MS)
    const [diff, counts] = told(watcher)
    expect([diff?.[0], Object.keys(diff?.[1].leaves), Object.keys(diff?.[1].joins).length]).toEqual(['presence_diff', [sample[0]], 1])
    expect(counts).toEqual(['presence_count', { keys: 499, presences: 499 }])
  })

  it('below 0.8 times the limit for holdMs it comes back, though nothing happens: the mode, then the whole state', async () => {
    const { world, watcher } = await start()
    await fill(world, 0, 11)
    leave(world, 0, 4)
    await pass(EVERY_MS)
    told(watcher)
    for (let ms = 0; ms < HOLD_MS - 500; ms += 250) {
      await pass(250)
      world.feeds.tick()
    }
    expect(events(watcher)).toEqual([])
    for (let ms = 0; ms < EVERY_MS; ms += 250) {
      await pass(250)
      world.feeds.tick()
    }
    await pass(EVERY_MS)
    const frames = told(watcher)
    expect(frames.map(([event]) => event)).toEqual(['presence_mode', 'presence_state'])
    expect([frames[0]?.[1], Object.keys(frames[1]?.[1]).length, world.feeds.sampled]).toEqual([{ mode: 'full' }, 7, 0])
    await fill(world, 100, 101)
    await pass(EVERY_MS)
    expect(events(watcher)).toEqual(['presence_diff'])
    const newcomer = fakeWatcher('2')
    world.feeds.enter(TOPIC, 'list', newcomer)
    await pass(100)
    expect(events(newcomer)).toEqual(['presence_state'])
  })

  it('counts are told after a mode that comes and goes, though they are the same as when it was left', async () => {
    const { world, watcher } = await start({ abovePresences: 10 })
    await fill(world, 0, 11)
    await fill(world, 11, 12)
    await pass(EVERY_MS)
    expect(told(watcher).at(-1)).toEqual(['presence_count', { keys: 12, presences: 12 }])
    leave(world, 0, 8)
    for (let ms = 0; ms < HOLD_MS + 2 * EVERY_MS; ms += 250) {
      await pass(250)
      world.feeds.tick()
    }
    expect(world.feeds.sampled).toBe(0)
    await fill(world, 100, 109)
    await pass(100)
    expect(told(watcher).at(-1)).toEqual(['presence_count', { keys: 13, presences: 13 }])
    leave(world, 100, 109)
    await pass(EVERY_MS)
    expect(told(watcher).at(-1)).toEqual(['presence_count', { keys: 4, presences: 4 }])
  })

  it('one who was too slow when the mode changed is told the mode that is then, and only if he was told another', async () => {
    const { world, watcher } = await start()
    watcher.takes = false
    await fill(world, 0, 11)
    await pass(EVERY_MS)
    watcher.takes = true
    world.feeds.resume(TOPIC, 'list', watcher)
    await pass(2 * EVERY_MS)
    expect(events(watcher)).toEqual(['presence_mode', 'presence_state', 'presence_count'])
    watcher.takes = false
    leave(world, 0, 9)
    for (let ms = 0; ms < HOLD_MS + 3 * EVERY_MS; ms += 250) {
      await pass(250)
      world.feeds.tick()
    }
    watcher.takes = true
    world.feeds.resume(TOPIC, 'list', watcher)
    await pass(100)
    expect(told(watcher).map(([event, payload]) => payload.mode ?? event)).toEqual(['full', 'presence_state'])
  })

  it('a lively topic goes there too, by changes times watchers, and back when it is calm', async () => {
    const { world } = await start({ abovePresences: 1_000_000, aboveFanOut: 100 })
    await fill(world, 0, 30)
    for (let i = 0; i < 19; i++) {
      world.feeds.enter(TOPIC, 'list', fakeWatcher(String(i)))
    }
    await pass(100)
    expect(world.feeds.sampled).toBe(0)
    for (let i = 30; i < 80; i++) {
      leave(world, i - 30, i - 29)
      await fill(world, i, i + 1)
      await pass(50)
    }
    expect(world.feeds.sampled).toBe(1)
    for (let ms = 0; ms < HOLD_MS + 15_000; ms += 250) {
      await pass(250)
      world.feeds.tick()
    }
    expect(world.feeds.sampled).toBe(0)
  })
})

describe('counts alone', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('pub-D15: one frame per window that changed them, whatever changed; encoded once for all', async () => {
    const world = await startFeedWorld({ diffWindowMs: 50 })
    const watchers = Array.from({ length: 50 }, (_, i) => fakeWatcher(String(i)))
    for (const watcher of watchers) {
      world.feeds.enter(TOPIC, 'counts', watcher)
    }
    await pass(100)
    for (let i = 0; i < 2_000; i += 10) {
      await fill(world, i, i + 10)
      await pass(25)
    }
    await pass(100)
    for (const watcher of watchers) {
      const frames = told(watcher)
      expect(frames.length).toBeLessThanOrEqual((200 * 25) / 50 + 3)
      expect(frames[0]).toEqual(['presence_count', { keys: 0, presences: 0 }])
      expect(frames.at(-1)).toEqual(['presence_count', { keys: 2_000, presences: 2_000 }])
    }
    leave(world, 0, 1)
    await fill(world, 0, 1)
    await pass(100)
    expect(told(watchers[0] as FakeWatcher).length).toBeLessThanOrEqual(2)
    expect([world.tally.diffEncodes, world.tally.snapshotEncodes]).toEqual([0, 0])
  })

  it('a newcomer gets the newest count at once', async () => {
    const world = await startFeedWorld()
    world.feeds.enter(TOPIC, 'counts', fakeWatcher())
    await fill(world, 0, 10)
    await pass(500)
    const newcomer = fakeWatcher('2')
    world.feeds.enter(TOPIC, 'counts', newcomer)
    await pass(1)
    expect(told(newcomer)).toEqual([['presence_count', { keys: 10, presences: 10 }]])
  })

  it('one who was too slow gets one, the newest; none when it has not changed', async () => {
    const world = await startFeedWorld()
    const slow = fakeWatcher()
    world.feeds.enter(TOPIC, 'counts', slow)
    await pass(100)
    told(slow)
    slow.takes = false
    for (let i = 0; i < 10; i++) {
      await fill(world, i, i + 1)
      await pass(60)
    }
    await pass(500)
    slow.takes = true
    expect(world.feeds.resume(TOPIC, 'counts', slow)).toBe(true)
    await pass(1)
    expect(told(slow)).toEqual([['presence_count', { keys: 10, presences: 10 }]])
    expect(world.feeds.resume(TOPIC, 'counts', slow)).toBe(false)
    await pass(500)
    expect(told(slow)).toEqual([])
  })

  it('who has left is told nothing, and with the last one the feed ends; every frame is counted', async () => {
    const world = await startFeedWorld()
    const [ann, bob] = [fakeWatcher(), fakeWatcher('2')]
    world.feeds.enter(TOPIC, 'counts', ann)
    world.feeds.enter(TOPIC, 'counts', bob)
    await fill(world, 0, 1)
    await pass(100)
    world.feeds.leave(TOPIC, 'counts', ann)
    await fill(world, 1, 2)
    await pass(100)
    expect([ann.texts.length < bob.texts.length, world.feeds.watchers]).toEqual([true, 1])
    expect(world.tally.countsSent).toBe(ann.texts.length + bob.texts.length)
    world.feeds.leave(TOPIC, 'counts', bob)
    world.feeds.leave(TOPIC, 'counts', bob)
    await pass(100)
    expect([world.feeds.size, world.feeds.watchers, vi.getTimerCount()]).toEqual([0, 0, 0])
    const { topicNodes } = world.tracker.stats()
    world.feeds.enter('empty', 'counts', ann)
    await pass(100)
    world.feeds.leave('empty', 'counts', ann)
    expect(world.tracker.stats().topicNodes).toBe(topicNodes)
  })
})

describe('interval mode over a socket', () => {
  afterEach(closeAll)

  it('INV-93: the list of an unchanged client shrinks to the sample and grows again; the counts are of all', async () => {
    const { tracker, url } = await startGateway({
      gateway: { interval: { abovePresences: 100, sample: 10, everyMs: 50, holdMs: 100 } }
    })
    const crowd = Array.from({ length: 150 }, (_, i) => tracker.connect(`user${i}`))
    for (const connection of crowd.slice(0, 90)) {
      connection.track('room:1')
    }
    const room = await joinTopic(openClient(url, { user: 'ann' }), 'room:1', { presence: { present: false } })
    await until('all are listed', () => room.keys().length === 90)
    for (const connection of crowd.slice(90)) {
      connection.track('room:1')
    }
    await until('a sample is listed', () => room.keys().length === 10)
    await until('the counts', () => room.frames('presence_count').at(-1)?.payload.keys === 150)
    for (const connection of crowd.slice(0, 100)) {
      connection.close()
    }
    await until('all are listed again', () => room.keys().length === 50)
    expect(room.frames('presence_mode').map(({ payload }) => payload.mode)).toEqual(['interval', 'full'])
    expect(room.keys()).toEqual([...tracker.list('room:1').keys()].sort())
    expect(room.changes.filter(change => change.startsWith('more') || change.startsWith('fewer'))).toEqual([])
  })
})
