import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createTracker, type Tracker } from '../../../src/index.ts'
import { Feeds } from '../../../src/net/gateway/feeds/feeds.ts'
import { Tally } from '../../../src/net/gateway/tally.ts'
import { closeAll, joinTopic, openClient } from '../../support/gateway/phoenix-client.ts'
import { startGateway } from '../../support/gateway/serve-gateway.ts'
import { until } from '../../support/net/until.ts'
import { fakeWatcher, resolved } from './fakes.ts'
import { pass, startFeedWorld, TOPIC } from './feed-world.ts'

describe('feeds', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('are there as long as somebody watches: one per topic and mode', async () => {
    const { feeds, tracker } = await startFeedWorld()
    const [ann, bob] = [fakeWatcher(), fakeWatcher('2')]
    feeds.enter(TOPIC, 'list', ann)
    feeds.enter(TOPIC, 'list', bob)
    feeds.enter(TOPIC, 'counts', ann)
    feeds.enter('room:2', 'list', ann)
    expect([feeds.size, feeds.watchers, tracker.stats().topicWatches]).toEqual([3, 4, 2])
    feeds.leave(TOPIC, 'list', ann)
    feeds.leave('room:2', 'list', ann)
    feeds.leave('room:3', 'list', ann)
    expect([feeds.size, feeds.watchers, feeds.resume('room:2', 'list', ann)]).toEqual([2, 2, false])
    feeds.close()
    expect([feeds.size, feeds.watchers, tracker.stats().topicWatches]).toEqual([0, 0, 0])
    await pass(100)
    expect([bob.texts, vi.getTimerCount()]).toEqual([[], 0])
  })

  it('end without an error when the tracker stops, and begin anew with it', async () => {
    const { feeds, tracker, failures } = await startFeedWorld()
    const ann = fakeWatcher()
    feeds.enter(TOPIC, 'list', ann)
    feeds.enter(TOPIC, 'counts', ann)
    await pass(100)
    await tracker.stop()
    await pass(100)
    expect([failures, feeds.size]).toEqual([[undefined, undefined], 0])
    await tracker.start()
    ann.texts.length = 0
    feeds.enter(TOPIC, 'list', ann)
    await pass(100)
    expect(ann.texts).toHaveLength(1)
    feeds.close()
  })

  it('a topic that can be none is refused by name, and leaves nothing', async () => {
    const { feeds, tracker } = await startFeedWorld()
    for (const mode of ['list', 'counts'] as const) {
      expect(() => feeds.enter('', mode, fakeWatcher())).toThrowError(expect.objectContaining({ name: 'InvalidNameError' }))
    }
    expect([feeds.size, tracker.stats().topicWatches]).toEqual([0, 0])
  })

  it('one that fails is told with its error, is over, and another takes its place', async () => {
    const watch = vi.fn(() => ({ next: () => Promise.reject(new Error('lost')), return: async () => ({ value: undefined, done: true }) }))
    const told: unknown[] = []
    const feeds = new Feeds({ watch } as unknown as Tracker, resolved(), new Tally(), (...each) => told.push(each))
    feeds.enter(TOPIC, 'list', fakeWatcher())
    await pass(0)
    expect([told, feeds.size]).toEqual([[[TOPIC, 'list', new Error('lost')]], 0])
    feeds.enter(TOPIC, 'list', fakeWatcher())
    expect(watch).toHaveBeenCalledTimes(2)
    feeds.close()
  })
})

describe('a feed that fails', () => {
  afterEach(closeAll)

  it('makes those who watched it join again: no list stands still unnoticed, and nobody is seen to go', async () => {
    const tracker = createTracker()
    await tracker.start()
    const lost = Promise.withResolvers<never>()
    let watches = 0
    const failing = new Proxy(tracker, {
      get(target, name) {
        if (name === 'watch' && ++watches === 1) {
          return (topic: string) => {
            const watch = target.watch(topic)
            return { next: () => Promise.race([watch.next(), lost.promise]), return: () => watch.return?.() }
          }
        }
        const value = Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      }
    })
    const { url, gateway } = await startGateway({ tracker: failing })
    const client = openClient(url, { user: 'ann', rejoinAfterMs: () => 20 })
    const room = await joinTopic(client, TOPIC)
    const counts = await joinTopic(openClient(url, { user: 'bob' }), TOPIC, { presence: { watch: 'counts' } })
    await until('both are listed', () => room.keys().length === 2)
    lost.reject(new Error('lost'))
    await until('ann has joined again', () => watches === 2 && room.channel.state === 'joined')
    tracker.connect('cid').track(TOPIC)
    await until('the list goes on', () => room.keys().join() === 'ann,bob,cid')
    expect(room.changes).toEqual(['join ann', 'join bob', 'join cid'])
    expect([room.errors, counts.errors, client.opens, gateway.stats().watchers]).toEqual([[{ reason: 'interrupted' }], [], 1, 2])
    await tracker.stop()
  })
})
