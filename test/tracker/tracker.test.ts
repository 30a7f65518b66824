import { describe, expect, it } from 'vitest'
import { createTracker, type MetaSchema } from '../../src/index.ts'
import { startLone } from '../support/lone.ts'

describe('E3: the four asserts of the reference algorithm', () => {
  it('two devices of one user give one Online', async () => {
    const { tracker, transitions } = await startLone()
    tracker.connect('ann')
    tracker.connect('ann')
    expect(transitions).toEqual(['online ann'])
    expect(tracker.isOnline('ann')).toBe(true)
    expect(tracker.user('ann').connections).toBe(2)
  })

  it('expiry, then grace, give one Offline', async () => {
    const { tracker, transitions, run } = await startLone()
    tracker.connect('ann')
    await run(45_000 + 500)
    expect(transitions).toEqual(['online ann'])
    await run(15_500)
    expect(transitions).toEqual(['online ann', 'offline ann'])
    await run(120_000)
    expect(transitions).toEqual(['online ann', 'offline ann'])
  })

  it('a disconnect and a reconnect inside the grace give nothing', async () => {
    const { tracker, transitions, run } = await startLone()
    const connection = tracker.connect('ann')
    connection.close()
    await run(14_000)
    tracker.connect('ann').heartbeat()
    await run(30_000)
    expect(transitions).toEqual(['online ann'])
  })

  it('a heartbeat for an expired connection returns false', async () => {
    const { tracker, run } = await startLone()
    const connection = tracker.connect('ann')
    expect(connection.heartbeat()).toBe(true)
    await run(46_000)
    expect(connection.heartbeat()).toBe(false)
    expect(tracker.heartbeat(connection.id)).toBe(false)
    expect(connection.signal.aborted).toBe(true)
    expect(connection.signal.reason).toMatchObject({ code: 'ERR_CONNECTION_ENDED', end: 'expired' })
  })
})

describe('track, update, untrack', () => {
  it('T1: a second track of the same topic and key is refused and changes nothing', async () => {
    const { tracker, diffs } = await startLone()
    const connection = tracker.connect('ann')
    const ref = connection.track('room', { a: 1 })
    expect(() => connection.track('room', { a: 2 })).toThrowError(/already tracked/)
    expect(tracker.get('room', 'ann')).toMatchObject([{ ref, meta: { a: 1 } }])
    expect(diffs).toHaveLength(1)
    expect(connection.track('room', {}, { key: 'other' })).not.toBe(ref)
  })

  it('T2: when a connection is closed all its entries end, in one diff per topic', async () => {
    const { tracker, diffs } = await startLone()
    const connection = tracker.connect('ann')
    connection.track('a')
    connection.track('b')
    diffs.length = 0
    connection.close()
    expect(diffs.map(diff => [diff.topic, diff.leaves.map(leave => leave.reason)])).toEqual([
      ['a', ['closed']],
      ['b', ['closed']]
    ])
    expect(tracker.topics().size).toBe(0)
  })

  it('T3: untrack by topic, by ref and of all is idempotent and counts', async () => {
    const { tracker } = await startLone()
    const connection = tracker.connect('ann')
    const ref = connection.track('a')
    connection.track('b')
    connection.track('c')
    expect(connection.untrack(ref)).toBe(1)
    expect(connection.untrack(ref)).toBe(0)
    expect(connection.untrack('b')).toBe(1)
    expect(connection.untrack()).toBe(1)
    expect(connection.untrack()).toBe(0)
  })

  it('T5: an update is one event with prev, next and the changed names; the same meta is none', async () => {
    const { tracker, diffs } = await startLone()
    const connection = tracker.connect('ann')
    const ref = connection.track('room', { status: 'away', n: 1 })
    diffs.length = 0
    const next = connection.update('room', meta => ({ ...meta, status: 'here' }))
    expect(next).not.toBe(ref)
    expect(diffs).toHaveLength(1)
    expect(diffs[0]).toMatchObject({
      joins: [],
      leaves: [],
      updates: [{ prev: { ref }, next: { ref: next, prevRef: ref, meta: { status: 'here', n: 1 } }, changed: ['status'] }]
    })
    expect(connection.update('room', { n: 1, status: 'here' })).toBe(next)
    expect(diffs).toHaveLength(1)
  })

  it('T6: closing one of two tabs does not make the key leave', async () => {
    const { tracker } = await startLone()
    const one = tracker.connect('ann')
    const two = tracker.connect('ann')
    one.track('room', { tab: 1 })
    two.track('room', { tab: 2 })
    expect(tracker.count('room')).toEqual({ keys: 1, presences: 2 })
    one.close()
    expect(tracker.get('room', 'ann')).toMatchObject([{ meta: { tab: 2 } }])
    expect(tracker.count('room')).toEqual({ keys: 1, presences: 1 })
  })

  it('T9: metas and names are checked, with errors that say what is allowed', async () => {
    const { tracker } = await startLone({ limits: { entriesPerConnection: 1 } })
    const connection = tracker.connect('ann')
    expect(() => connection.track('room', { text: 'x'.repeat(2_000) })).toThrowError(/2011 bytes .* allowed are 1024/)
    expect(() => connection.track('room', { n: Number.NaN })).toThrowError(/NaN/)
    expect(() => connection.track('')).toThrowError(/topic/)
    expect(() => connection.track('\u0000u')).toThrowError(/reserved/)
    expect(() => connection.track('a\ud800')).toThrowError(/surrogate/)
    connection.track('room')
    expect(() => connection.track('room2')).toThrowError(/entriesPerConnection/)
    expect(tracker.topics().size).toBe(1)
  })

  it('T9: a schema checks metas, by topic if wished, and may change them', async () => {
    const schema: MetaSchema = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: value => {
          const { status } = value as { status?: unknown }
          return typeof status === 'string'
            ? { value: { status: status.trim() } }
            : { issues: [{ message: 'is no text', path: ['status'] }] }
        }
      }
    }
    const { tracker, diffs } = await startLone({ metaSchema: topic => (topic === 'strict' ? schema : undefined) })
    const connection = tracker.connect('ann')
    expect(() => connection.track('strict', { status: 5 })).toThrowError(/meta of "strict" at status: is no text/)
    expect(() => connection.track('strict')).toThrowError(expect.objectContaining({ code: 'ERR_META_INVALID' }))
    expect(diffs).toEqual([])
    connection.track('strict', { status: ' here ' })
    connection.track('free', { any: 1 })
    expect(tracker.get('strict', 'ann')[0]?.meta).toEqual({ status: 'here' })
    expect(() => connection.update('strict', { status: 1 })).toThrowError(/is no text/)
    expect(tracker.get('strict', 'ann')[0]?.meta).toEqual({ status: 'here' })
    expect(() => createTracker({ metaSchema: 5 as never })).toThrowError(/metaSchema is 5, allowed is a Standard Schema/)
    const late: MetaSchema = { '~standard': { version: 1, vendor: 'test', validate: async value => ({ value }) } }
    const asynchronous = await startLone({ metaSchema: late })
    expect(() => asynchronous.tracker.connect('ann').track('x')).toThrowError(/synchronous/)
  })

  it('E2: the first and the last presence of a key in a topic are events of their own', async () => {
    const { tracker } = await startLone()
    const events: string[] = []
    tracker.addEventListener('key:join', ({ type, detail }) => void events.push(`${type} ${detail.topic} ${detail.key}`))
    tracker.addEventListener('key:leave', ({ type, detail }) => void events.push(`${type} ${detail.topic} ${detail.key}`))
    const one = tracker.connect('ann')
    const two = tracker.connect('ann')
    one.track('room')
    two.track('room')
    two.update('room', { n: 1 })
    one.close()
    two.close()
    tracker.batch(() => {
      const brief = tracker.connect('bob')
      brief.track('room')
      brief.untrack('room')
    })
    expect(events).toEqual(['key:join room ann', 'key:leave room ann'])
  })

  it('T10: a batch of 10,000 tracks makes one diff per topic', async () => {
    const { tracker, diffs } = await startLone({ limits: { connectionsPerUser: 20_000 } })
    tracker.batch(() => {
      for (let i = 0; i < 10_000; i++) {
        tracker.connect(`user:${i}`).track(i % 2 === 0 ? 'even' : 'odd')
      }
    })
    expect(diffs.map(diff => diff.joins.length)).toEqual([5_000, 5_000])
  })

  it('a leave and a join of one ref inside a batch cancel out', async () => {
    const { tracker, diffs } = await startLone()
    const connection = tracker.connect('ann', { session: 's' })
    connection.track('room', { a: 1 })
    diffs.length = 0
    tracker.batch(() => {
      connection.untrack('room')
      connection.track('room', { a: 1 })
    })
    expect(diffs).toEqual([])
  })
})

describe('sessions and grace', () => {
  it('a session that comes back inside the grace keeps its ref, and nobody sees an event', async () => {
    const { tracker, diffs, transitions, run } = await startLone()
    const first = tracker.connect('ann', { session: 'tab' })
    const ref = first.track('room', { a: 1 })
    first.lost()
    await run(10_000)
    expect(tracker.get('room', 'ann')).toHaveLength(1)
    const second = tracker.connect('ann', { session: 'tab' })
    expect(second.track('room', { a: 1 })).toBe(ref)
    await run(60_000 - 20_000)
    second.heartbeat()
    await run(20_000)
    expect(diffs).toHaveLength(1)
    expect(transitions).toEqual(['online ann'])
  })

  it('L7: a clean end leaves at once; a lost connection after the grace, as expired', async () => {
    const { tracker, diffs, run } = await startLone()
    const connection = tracker.connect('ann')
    connection.track('room')
    connection.lost()
    await run(14_900)
    expect(diffs).toHaveLength(1)
    await run(400)
    expect(diffs[1]?.leaves).toMatchObject([{ reason: 'expired' }])
  })

  it('graceMs 0: a lost connection leaves at once, as Phoenix does', async () => {
    const { tracker, diffs, transitions } = await startLone({ graceMs: 0 })
    const connection = tracker.connect('ann')
    connection.track('room')
    connection.lost()
    expect(diffs[1]?.leaves).toMatchObject([{ reason: 'expired' }])
    expect(transitions).toEqual(['online ann', 'offline ann'])
  })

  it('a session that connects again while its old connection looks alive takes it over', async () => {
    const { tracker, diffs } = await startLone()
    const first = tracker.connect('ann', { session: 'tab' })
    const ref = first.track('room')
    const second = tracker.connect('ann', { session: 'tab' })
    expect(first.signal.reason).toMatchObject({ end: 'taken-over' })
    expect(second.track('room')).toBe(ref)
    expect(first.untrack()).toBe(0)
    expect(tracker.count('room').presences).toBe(1)
    expect(diffs).toHaveLength(1)
  })

  it('T7: late calls on an old connection touch nothing of the new one', async () => {
    const { tracker } = await startLone()
    const first = tracker.connect('ann', { session: 'tab' })
    first.track('room')
    const second = tracker.connect('ann', { session: 'tab' })
    second.track('room')
    first.close()
    first.lost()
    expect(first.heartbeat()).toBe(false)
    expect(tracker.heartbeat(first.id)).toBe(false)
    expect(second.open).toBe(true)
    expect(tracker.count('room').presences).toBe(1)
  })

  it('L5: a pause of the process is taken off deadlines and grace', async () => {
    const { tracker, process, transitions, run } = await startLone()
    const connection = tracker.connect('ann')
    await run(40_000)
    process.pause()
    await run(60_000)
    process.resume()
    await run(300)
    expect(connection.heartbeat()).toBe(true)
    connection.lost()
    process.pause()
    await run(60_000)
    process.resume()
    await run(10_000)
    expect(transitions).toEqual(['online ann'])
    await run(6_000)
    expect(transitions).toEqual(['online ann', 'offline ann'])
  })

  it('a kicked user leaves at once, and is offline', async () => {
    const { tracker, diffs, transitions } = await startLone()
    const connection = tracker.connect('ann')
    connection.track('room')
    expect(tracker.kick('ann')).toBe(1)
    expect(diffs[1]?.leaves).toMatchObject([{ reason: 'kicked' }])
    expect(transitions).toEqual(['online ann', 'offline ann'])
    expect(connection.signal.reason).toMatchObject({ end: 'kicked' })
  })
})

describe('queries', () => {
  it('Q3, Q5, Q6: counts, topics and pages', async () => {
    const { tracker } = await startLone()
    for (const user of ['d', 'a', 'c', 'b']) {
      tracker.connect(user).track('room:1')
    }
    tracker.connect('z').track('lobby')
    expect(tracker.topics({ prefix: 'room:' })).toEqual(new Map([['room:1', { keys: 4, presences: 4 }]]))
    const page = tracker.list('room:1', { limit: 3 })
    expect([...page.keys()]).toEqual(['a', 'b', 'c'])
    expect([...tracker.list('room:1', { limit: 3, cursor: 'c' }).keys()]).toEqual(['d'])
    expect([...tracker.topicsOf('z').keys()]).toEqual(['lobby'])
    expect([...tracker.users()].sort()).toEqual(['a', 'b', 'c', 'd', 'z'])
    expect(tracker.list('\u0000u').size).toBe(0)
  })

  it('B9: the devices of a user, with what they said of themselves', async () => {
    const { tracker, run } = await startLone()
    tracker.connect('ann', { meta: { device: 'phone', status: 'away' } })
    await run(1)
    const desk = tracker.connect('ann', { meta: { device: 'desk' } })
    expect(tracker.connectionsOf('ann').map(({ meta }) => meta.device)).toEqual(['phone', 'desk'])
    desk.close()
    await run(16_000)
    expect(tracker.connectionsOf('ann')).toMatchObject([{ key: 'ann', meta: { device: 'phone', status: 'away' }, state: 'online' }])
    expect(tracker.connectionsOf('bob')).toEqual([])
  })

  it('stats tell topics with somebody in them, not those that the change log keeps', async () => {
    const { tracker } = await startLone()
    const connection = tracker.connect('ann')
    connection.track('x')
    connection.track('y')
    expect(tracker.stats().topics).toBe(2)
    connection.untrack()
    expect(tracker.stats()).toMatchObject({ topics: 0, topicNodes: 3 })
  })

  it('lastSeen: now while connected, the time of going afterwards, null in the end', async () => {
    const { tracker, process, run } = await startLone({ lastSeenMs: 60_000 })
    const connection = tracker.connect('ann')
    await run(1_000)
    const went = process.wallClockMs()
    connection.close()
    await run(30_000)
    expect(tracker.user('ann')).toEqual({ online: false, connections: 0, lastSeen: went })
    await run(60_000)
    expect(tracker.user('ann').lastSeen).toBeNull()
    expect(tracker.stats().lastSeen).toBe(0)
  })
})

describe('I5: nothing is left behind', () => {
  it('sizes return to the base line after everything has ended', async () => {
    const { tracker, run } = await startLone({ limits: { changeLog: 0 } })
    const base = tracker.stats()
    for (let i = 0; i < 500; i++) {
      const connection = tracker.connect(`user:${i % 50}`, i % 3 === 0 ? { session: `s${i}` } : {})
      connection.track(`room:${i % 7}`)
      connection.track(`own:${i}`)
      if (i % 2 === 0) {
        connection.close()
      }
    }
    await run(120_000)
    const left = tracker.stats()
    for (const name of ['entries', 'ownEntries', 'lingering', 'connections', 'topics', 'topicNodes', 'users', 'changeLog']) {
      expect([name, left[name]]).toEqual([name, base[name]])
    }
  })
})
