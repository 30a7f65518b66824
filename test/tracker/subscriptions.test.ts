import { describe, expect, it } from 'vitest'
import { type Presence, PresenceFold, type WatchEvent } from '../../src/index.ts'
import { ready, startLone } from '../support/lone.ts'

const keysOf = (event: WatchEvent | undefined): string[] => (event?.type === 'snapshot' ? event.presences.map(p => p.key) : []).sort()

describe('watch', () => {
  it('E1: one snapshot, then diffs; the fold equals list at every step', async () => {
    const { tracker } = await startLone()
    tracker.connect('ann').track('room')
    const watch = tracker.watch('room')
    const fold = new PresenceFold()
    const check = async (): Promise<number> => {
      const events = await ready(watch)
      for (const event of events) {
        fold.apply(event)
      }
      expect(new Map(fold.keys)).toEqual(tracker.list('room'))
      return events.length
    }
    expect(await check()).toBe(1)
    const bob = tracker.connect('bob')
    bob.track('room', { n: 1 })
    expect(await check()).toBe(1)
    bob.update('room', { n: 2 })
    expect(await check()).toBe(1)
    bob.close()
    expect(await check()).toBe(1)
    expect(fold.unknownRefs).toBe(0)
  })

  it('one who falls behind gets one merged diff: net effects only (E5)', async () => {
    const { tracker } = await startLone()
    const watch = tracker.watch('room')
    await ready(watch)
    const ann = tracker.connect('ann')
    const bob = tracker.connect('bob')
    ann.track('room', { n: 0 })
    for (let n = 1; n <= 100; n++) {
      ann.update('room', { n })
      bob.track('room')
      bob.untrack('room')
    }
    const events = await ready(watch)
    // The first diff was handed to the call of next() that waited; the rest was folded.
    expect(events.length).toBeLessThanOrEqual(2)
    const fold = new PresenceFold()
    for (const event of events) {
      fold.apply(event)
    }
    expect(new Map(fold.keys)).toEqual(tracker.list('room'))
  })

  it('the snapshot is taken when it is asked for, and never within a batch', async () => {
    const { tracker } = await startLone()
    const early = tracker.watch('room')
    let late: Promise<IteratorResult<WatchEvent>> | undefined
    tracker.batch(() => {
      tracker.connect('ann').track('room')
      late = tracker.watch('room').next()
      tracker.connect('bob').track('room')
    })
    expect(keysOf((await late)?.value)).toEqual(['ann', 'bob'])
    expect(keysOf((await ready(early))[0])).toEqual(['ann', 'bob'])
    expect(await ready(early)).toEqual([])
  })

  it('pub-D2: five thousand who come at once share one snapshot', async () => {
    const { tracker } = await startLone()
    tracker.batch(() => {
      for (let i = 0; i < 500; i++) {
        tracker.connect(`user:${i}`).track('room')
      }
    })
    const before = tracker.stats().snapshotsBuilt as number
    const all = await Promise.all(Array.from({ length: 5_000 }, () => tracker.watch('room').next()))
    expect((tracker.stats().snapshotsBuilt as number) - before).toBe(1)
    expect(new Set(all.map(({ value }) => value.presences)).size).toBe(1)
  })

  it('ends by return, by signal, and when the tracker stops; and leaves nothing behind', async () => {
    const { tracker } = await startLone()
    const controller = new AbortController()
    const [a, b, c] = [tracker.watch('x'), tracker.watch('x', { signal: controller.signal }), tracker.watch('x')]
    expect(tracker.stats().topicWatches).toBe(3)
    await Promise.all([a.next(), b.next(), c.next()])
    const waiting = b.next()
    controller.abort()
    expect(await waiting).toEqual({ value: undefined, done: true })
    await a.return?.()
    expect(tracker.stats().topicWatches).toBe(1)
    await tracker.stop()
    expect(await c.next()).toEqual({ value: undefined, done: true })
    expect(tracker.stats().topicNodes).toBe(0)
  })

  it('an aborted signal: the watch has ended before it began', async () => {
    const { tracker } = await startLone()
    const watch = tracker.watch('x', { signal: AbortSignal.abort() })
    expect(await watch.next()).toEqual({ value: undefined, done: true })
    expect(tracker.stats().topicWatches).toBe(0)
  })
})

describe('watchUsers and watchCount', () => {
  it('E8: tells what is so, then transitions of the watched users only', async () => {
    const { tracker, run } = await startLone()
    tracker.connect('ann')
    const watch = tracker.watchUsers(['ann', 'bob'])
    expect(await ready(watch)).toEqual([
      { type: 'online', user: 'ann' },
      { type: 'offline', user: 'bob' }
    ])
    const bob = tracker.connect('bob')
    tracker.connect('cid')
    bob.close()
    await run(16_000)
    const events = await ready(watch)
    expect(events).toEqual([
      { type: 'online', user: 'bob' },
      { type: 'offline', user: 'bob' }
    ])
  })

  it('pub-E1: counts only, the newest to one who comes late', async () => {
    const { tracker } = await startLone()
    const watch = tracker.watchCount('room')
    expect(await ready(watch)).toMatchObject([{ keys: 0, presences: 0 }])
    for (let i = 0; i < 10; i++) {
      tracker.connect(`user:${i % 5}`).track('room')
    }
    const events = await ready(watch)
    expect(events.at(-1)).toMatchObject({ keys: 5, presences: 10 })
    expect(events.length).toBeLessThanOrEqual(2)
  })
})

describe('listeners', () => {
  it('F5: one that throws, and one whose promise rejects, break nothing and are told to `error`', async () => {
    const { tracker, diffs } = await startLone()
    const errors: unknown[] = []
    tracker.addEventListener('error', ({ detail }) => void errors.push(detail.error))
    tracker.addEventListener('diff', () => {
      throw new Error('listener')
    })
    tracker.addEventListener('diff', (async () => {
      throw new Error('async listener')
    }) as never)
    tracker.connect('ann').track('room')
    tracker.connect('bob').track('room')
    await new Promise(resolve => setImmediate(resolve))
    expect(diffs).toHaveLength(2)
    expect(errors).toHaveLength(4)
    expect(tracker.stats().listenerErrors).toBe(4)
  })

  it('one that tracks and lists within an event sees the state after it, and events in order', async () => {
    const { tracker } = await startLone()
    const bot = tracker.connect('bot')
    const seen: string[] = []
    tracker.addEventListener('diff', ({ detail }) => {
      seen.push(detail.joins.map(p => p.key).join())
      if (detail.joins.some(p => p.key === 'ann')) {
        expect(tracker.count('room').keys).toBe(1)
        bot.track('room')
        expect(tracker.count('room').keys).toBe(2)
      }
    })
    tracker.connect('ann').track('room')
    expect(seen).toEqual(['ann', 'bot'])
  })

  it('pub-C3: what is handed out is frozen, and not our state', async () => {
    const { tracker, diffs } = await startLone()
    const given = { list: [1, 2] }
    tracker.connect('ann').track('room', given)
    given.list.push(3)
    const presence = diffs[0]?.joins[0] as Presence
    expect(Object.isFrozen(presence)).toBe(true)
    expect(() => (presence.meta.list as number[]).push(4)).toThrow()
    expect(tracker.get('room', 'ann')[0]?.meta).toEqual({ list: [1, 2] })
  })
})

describe('resume', () => {
  it('E4: a token gives what was missed, and only that', async () => {
    const { tracker } = await startLone()
    const ann = tracker.connect('ann')
    ann.track('room', { n: 1 })
    const bob = tracker.connect('bob')
    bob.track('room')
    const watch = tracker.watch('room')
    const fold = new PresenceFold()
    const [snapshot] = await ready(watch)
    fold.apply(snapshot as WatchEvent)
    await watch.return?.()
    ann.update('room', { n: 2 })
    bob.close()
    tracker.connect('cid').track('room')
    tracker.connect('dan').track('elsewhere')
    const [missed] = await ready(tracker.watch('room', { since: (snapshot as WatchEvent).token }))
    expect(missed).toMatchObject({
      type: 'diff',
      joins: [{ key: 'cid' }],
      leaves: [{ presence: { key: 'bob' } }],
      updates: [{ prev: { meta: { n: 1 } }, next: { meta: { n: 2 } } }],
      replace: []
    })
    fold.apply(missed as WatchEvent)
    expect(new Map(fold.keys)).toEqual(tracker.list('room'))
    const [nothing] = await ready(tracker.watch('room', { since: (missed as WatchEvent).token }))
    expect(nothing).toMatchObject({ type: 'diff', joins: [], leaves: [], updates: [], replace: [] })
  })

  it('past the change log: the list of that origin, as replace; the fold still equals list', async () => {
    const { tracker } = await startLone({ limits: { changeLog: 5 } })
    for (let i = 0; i < 20; i++) {
      tracker.connect(`user:${i}`).track('room')
    }
    const [snapshot] = await ready(tracker.watch('room'))
    const fold = new PresenceFold()
    fold.apply(snapshot as WatchEvent)
    for (let i = 0; i < 10; i++) {
      tracker.kick(`user:${i}`)
    }
    const [missed] = await ready(tracker.watch('room', { since: (snapshot as WatchEvent).token }))
    expect(missed).toMatchObject({ type: 'diff', replace: [{ replica: tracker.id }] })
    fold.apply(missed as WatchEvent)
    expect(new Map(fold.keys)).toEqual(tracker.list('room'))
  })

  it('a token that this cluster did not make gives a snapshot, and says why', async () => {
    const { tracker } = await startLone({ secret: 'ours' })
    const other = await startLone({ secret: 'theirs' }, 2)
    for (const since of ['', 'x', other.tracker.version(), `${tracker.version()}A`]) {
      const [event] = await ready(tracker.watch('room', { since }))
      expect(event).toMatchObject({ type: 'snapshot', reason: 'unknown-token' })
    }
  })

  it('a token of a replica that was never heard of: waits, then a snapshot with the reason', async () => {
    const { tracker, run } = await startLone()
    const other = await startLone({}, 2)
    other.tracker.connect('ann').track('room')
    const watch = tracker.watch('room', { since: other.tracker.version() })
    await run(1_000)
    const next = watch.next()
    await run(1_500)
    expect((await next).value).toMatchObject({ type: 'snapshot', reason: 'unknown-replica' })
  })

  it('B4: waitFor resolves for what is here, and rejects BEHIND for what is not', async () => {
    const { tracker, run } = await startLone()
    tracker.connect('ann').track('room')
    await tracker.waitFor(tracker.version())
    const other = await startLone({}, 2)
    other.tracker.connect('ann').track('room')
    const waiting = expect(tracker.waitFor(other.tracker.version(), { timeoutMs: 500 })).rejects.toMatchObject({ code: 'BEHIND' })
    await run(600)
    await waiting
    await expect(tracker.waitFor('x')).rejects.toMatchObject({ code: 'INVALID' })
    expect(tracker.stats().waiting).toBe(0)
  })
})
