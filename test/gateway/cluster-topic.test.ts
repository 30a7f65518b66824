import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createTracker, type Tracker } from '../../src/index.ts'
import { ClusterTopic } from '../../src/net/gateway/page/index.ts'
import type { ClusterState, TailBatch, TopicRow, TopicsReply, UserReply, UsersReply } from '../../src/net/gateway/page/messages.ts'
import type { GatewayStats, SystemClient, SystemSession } from '../../src/net/gateway/types.ts'

/** A client that notes what it is pushed, and takes nothing while it is slow. */
class Onlooker implements SystemClient {
  readonly states: ClusterState[] = []
  readonly batches: TailBatch[] = []
  isSlow = false
  refused = 0

  push(event: string, payload: object): boolean {
    if (this.isSlow) {
      this.refused++
      return false
    }
    // What cannot travel as JSON must not get past.
    expect(JSON.parse(JSON.stringify(payload))).toEqual(payload)
    if (event === 'cluster') {
      this.states.push(payload as ClusterState)
    } else {
      expect(event).toBe('events')
      this.batches.push(payload as TailBatch)
    }
    return true
  }

  get state(): ClusterState {
    return this.states.at(-1) as ClusterState
  }

  /** Events in words, of all batches. */
  get told(): string[] {
    return this.batches
      .flatMap(({ events }) => events)
      .map(({ kind, topic, key, user, reason }) => [kind, topic, key ?? user, reason].filter(Boolean).join(' '))
  }
}

let tracker: Tracker
let topic: ClusterTopic
let gateway: Record<string, number>
const listening = (): number => listeners.added - listeners.removed
const listeners = { added: 0, removed: 0 }

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'] })
  tracker = createTracker()
  await tracker.start()
  await tracker.ready
  Object.assign(listeners, { added: 0, removed: 0 })
  count('addEventListener', 'added')
  count('removeEventListener', 'removed')
  gateway = { sockets: 3, framesOut: 0 }
  topic = new ClusterTopic({ tracker, gateway: (): GatewayStats => gateway })
})

afterEach(async () => {
  await tracker.stop()
  vi.useRealTimers()
})

function count(method: 'addEventListener' | 'removeEventListener', name: keyof typeof listeners): void {
  const original = tracker[method].bind(tracker)
  vi.spyOn(tracker, method).mockImplementation((...details) => {
    listeners[name]++
    original(...details)
  })
}

function look(): Onlooker & { readonly session: SystemSession } {
  const onlooker = new Onlooker()
  return Object.assign(onlooker, { session: topic.join(onlooker) })
}

const counts = (rows: readonly TopicRow[]): string[] => rows.map(({ topic: name, keys, presences }) => `${name} ${keys}/${presences}`)

describe('what one is pushed who looks at the cluster', () => {
  it('the whole state at once: replicas, counts, topics, the gateway', () => {
    const ann = tracker.connect('ann')
    ann.track('room:1')
    ann.track('room:2')
    tracker.connect('bob').track('room:2')
    const { state, batches } = look()
    expect(state).toMatchObject({
      self: tracker.id,
      atMs: Date.now(),
      partial: false,
      isolated: false,
      replicasOmitted: 0,
      users: 2,
      connections: 2,
      topics: 2,
      presences: 3,
      gateway: { sockets: 3 }
    })
    expect(state.replicas).toMatchObject([{ id: tracker.id, status: 'up', phi: 0, lagMs: 0, complete: true, agrees: null }])
    expect(state.replicas[0]?.hash).toBe(tracker.replicas()[0]?.hash)
    expect(counts(state.top)).toEqual(['room:2 2/2', 'room:1 1/1'])
    expect(batches).toMatchObject([{ first: true, events: [], omitted: 0 }])
  })

  it('the state again when it changed, once a second, however often', () => {
    const onlooker = look()
    const connection = tracker.connect('ann')
    for (let i = 0; i < 50; i++) {
      connection.track(`room:${i}`)
      vi.advanceTimersByTime(10)
    }
    expect(onlooker.states).toHaveLength(1)
    vi.advanceTimersByTime(500)
    expect(onlooker.states).toHaveLength(2)
    expect(onlooker.state).toMatchObject({ topics: 50, presences: 50, users: 1 })
    connection.untrack()
    vi.advanceTimersByTime(1_000)
    expect(onlooker.states).toHaveLength(3)
    expect(onlooker.state).toMatchObject({ topics: 0, presences: 0, top: [] })
  })

  it('nothing while nothing changes, though the gateway counts its frames', () => {
    const onlooker = look()
    for (let i = 0; i < 20; i++) {
      gateway.framesOut = i
      vi.advanceTimersByTime(1_000)
    }
    expect(onlooker.states).toHaveLength(1)
    gateway.sockets = 4
    vi.advanceTimersByTime(1_000)
    expect(onlooker.states).toHaveLength(2)
  })

  it('the same object as all others: it is built once, and can be encoded once', () => {
    const onlookers = Array.from({ length: 20 }, look)
    tracker.connect('ann').track('room:1')
    const built = vi.spyOn(tracker, 'replicas')
    vi.advanceTimersByTime(1_000)
    expect(new Set(onlookers.map(({ state }) => state)).size).toBe(1)
    expect(new Set(onlookers.map(({ batches }) => batches.at(-1))).size).toBe(1)
    expect(built.mock.calls.length).toBeLessThanOrEqual(2)
  })

  it('the hundred largest topics, by presences and then by name, whatever came and went', () => {
    const onlooker = look()
    const connections = Array.from({ length: 20 }, (_, i) => tracker.connect(`user:${i}`))
    for (let i = 0; i < 20; i++) {
      for (let room = 0; room < 130; room++) {
        if ((room * 7 + i * 3) % 11 < 5) {
          connections[i]?.track(`room:${String(room).padStart(3, '0')}`)
        }
      }
    }
    for (let room = 0; room < 130; room += 3) {
      connections[room % 20]?.untrack(`room:${String(room).padStart(3, '0')}`)
    }
    connections[4]?.close()
    vi.advanceTimersByTime(1_000)
    const expected = [...tracker.topics()]
      .map(([name, each]) => ({ topic: name, ...each }))
      .sort((a, b) => b.presences - a.presences || (a.topic < b.topic ? -1 : 1))
    expect(onlooker.state.top).toEqual(expected.slice(0, 100))
    expect(onlooker.state.topics).toBe(expected.length)
    expect(onlooker.state.presences).toBe(expected.reduce((sum, { presences }) => sum + presences, 0))
  })

  it('the truth also after the tracker was stopped and started', async () => {
    tracker.connect('ann').track('room:1')
    const onlooker = look()
    await tracker.stop()
    await tracker.start()
    tracker.connect('bob').track('room:2')
    vi.advanceTimersByTime(1_000)
    expect(counts(onlooker.state.top)).toEqual(['room:2 1/1'])
    expect(onlooker.state.presences).toBe(1)
  })
})

describe('the tail of events', () => {
  it('tells joins, updates, leaves with their reason, users and where', () => {
    const onlooker = look()
    const connection = tracker.connect('ann')
    connection.track('room:1', { status: 'here' })
    connection.update('room:1', { status: 'away' })
    connection.untrack('room:1')
    vi.advanceTimersByTime(0)
    expect(onlooker.told).toEqual(['online ann', 'join room:1 ann', 'update room:1 ann', 'leave room:1 ann left'])
    const [, join] = onlooker.batches.flatMap(({ events }) => events)
    expect(join).toMatchObject({ replica: tracker.id, atMs: Date.now() })
  })

  it('comes in at most five batches a second, numbered without a gap', () => {
    const onlooker = look()
    const connection = tracker.connect('ann')
    vi.advanceTimersByTime(1_000)
    const before = onlooker.batches.length
    for (let i = 0; i < 100; i++) {
      connection.track(`room:${i}`)
      vi.advanceTimersByTime(10)
    }
    expect(onlooker.batches.length - before).toBeLessThanOrEqual(6)
    vi.advanceTimersByTime(200)
    const ids = onlooker.batches.flatMap(({ events }) => events).map(({ id }) => id)
    expect(ids).toEqual(Array.from({ length: 101 }, (_, i) => i))
  })

  it('a batch is bounded: of ten thousand that come at once a hundred are told, and the number of the others', () => {
    const onlooker = look()
    tracker.batch(() => {
      for (let i = 0; i < 100; i++) {
        const connection = tracker.connect(`user:${i}`)
        for (let room = 0; room < 100; room++) {
          connection.track(`room:${room}`)
        }
      }
    })
    vi.advanceTimersByTime(200)
    const batch = onlooker.batches.at(-1) as TailBatch
    expect(onlooker.batches).toHaveLength(2)
    expect(batch.events).toHaveLength(100)
    // The hundred users came online as well.
    expect(batch.omitted).toBe(100 * 100 + 100 - 100)
  })

  it('a newcomer gets the last two hundred', () => {
    const first = look()
    const connection = tracker.connect('ann')
    for (let i = 0; i < 300; i++) {
      connection.track(`room:${i}`)
      vi.advanceTimersByTime(50)
    }
    vi.advanceTimersByTime(200)
    const { batches } = look()
    expect(batches).toHaveLength(1)
    expect(batches[0]).toMatchObject({ first: true, tail: first.batches[0]?.tail })
    expect(batches[0]?.events).toHaveLength(200)
    expect(batches[0]?.events).toEqual(first.batches.flatMap(({ events }) => events).slice(-200))
  })

  it('tells of replicas and of isolation, even when everything else is too much', () => {
    const fire = capture()
    const onlooker = look()
    for (let i = 0; i < 150; i++) {
      fire('online', { user: `user:${i}` })
    }
    fire('replica:up', { id: 'b' })
    fire('replica:suspect', { id: 'b' })
    fire('replica:down', { id: 'b' })
    fire('replica:permdown', { id: 'b', reason: 'silent' })
    fire('replica:duplicate', { id: 'b' })
    fire('replica:diverged', { id: 'b', quarantined: true })
    fire('isolated', { isolated: true })
    fire('isolated', { isolated: false })
    vi.advanceTimersByTime(200)
    expect(onlooker.told.slice(100)).toEqual([
      'up',
      'suspect',
      'down',
      'permdown silent',
      'duplicate',
      'diverged quarantined',
      'isolated',
      'rejoined'
    ])
    expect(onlooker.batches.at(-1)?.omitted).toBe(50)
  })
})

/** Calls the topic's listeners as the tracker would. */
function capture(): (name: string, detail: object) => void {
  const heard = new Map<string, (event: { readonly detail: object }) => void>()
  vi.mocked(tracker.addEventListener).mockImplementation((name, listener) => void heard.set(name, listener as never))
  return (name, detail) => heard.get(name)?.({ detail })
}

describe('one who reads slowly', () => {
  it('gets nothing meanwhile, then the newest state and the last events, each once', () => {
    const onlooker = look()
    const other = look()
    onlooker.isSlow = true
    const connection = tracker.connect('ann')
    for (let i = 0; i < 30; i++) {
      connection.track(`room:${i}`)
      vi.advanceTimersByTime(200)
    }
    expect(onlooker.states).toHaveLength(1)
    onlooker.isSlow = false
    connection.track('soon')
    vi.advanceTimersByTime(200)
    expect(onlooker.told).toEqual(other.told)
    vi.advanceTimersByTime(1_000)
    expect(onlooker.states).toHaveLength(2)
    expect(onlooker.state).toBe(other.state)
    expect(onlooker.batches.at(-1)).toMatchObject({ first: true })
    connection.track('more')
    vi.advanceTimersByTime(1_000)
    expect(onlooker.batches.at(-1)).toBe(other.batches.at(-1))
    expect(onlooker.told).toEqual(other.told)
  })
})

describe('nothing is left behind', () => {
  it('no listener and no timer before somebody joins, and none after the last one has left', () => {
    expect([listening(), vi.getTimerCount()]).toEqual([0, TRACKER_TIMERS])
    const onlookers = [look(), look()]
    tracker.connect('ann').track('room:1')
    expect(listening()).toBeGreaterThan(0)
    onlookers[0]?.session.leave()
    onlookers[0]?.session.leave()
    expect(topic.size).toBe(1)
    onlookers[1]?.session.leave()
    expect([topic.size, listening(), vi.getTimerCount()]).toEqual([0, 0, TRACKER_TIMERS])
    const pushed = onlookers.map(({ states, batches }) => states.length + batches.length)
    vi.advanceTimersByTime(5_000)
    expect(onlookers.map(({ states, batches }) => states.length + batches.length)).toEqual(pushed)
  })

  it('who joins after that sees what is so now, and a tail that began anew', () => {
    const before = look()
    const connection = tracker.connect('ann')
    connection.track('room:1')
    vi.advanceTimersByTime(1_000)
    before.session.leave()
    connection.track('room:2')
    vi.advanceTimersByTime(1_000)
    const after = look()
    expect(counts(after.state.top)).toEqual(['room:1 1/1', 'room:2 1/1'])
    expect(after.told).toEqual([])
    expect(after.batches[0]?.tail).not.toBe(before.batches[0]?.tail)
    connection.track('room:3')
    vi.advanceTimersByTime(1_000)
    expect(after.told).toEqual(['join room:3 ann'])
  })
})

/** The tracker's own pulse. */
const TRACKER_TIMERS = 1

describe('what one may ask', () => {
  const ask = async <T>(event: string, payload: Record<string, unknown>): Promise<T> => (await look().session.handle(event, payload)) as T

  it('topics that begin with a text, in pages of a hundred', async () => {
    const connection = tracker.connect('ann')
    for (let i = 0; i < 250; i++) {
      connection.track(`room:${String(i).padStart(3, '0')}`)
    }
    connection.track('lobby')
    const pages: TopicsReply[] = []
    for (let cursor: string | null = ''; cursor !== null; cursor = pages.at(-1)?.cursor ?? null) {
      pages.push(await ask('topics', { prefix: 'room:', cursor }))
    }
    expect(pages.map(({ topics }) => topics.length)).toEqual([100, 100, 50])
    expect(pages.flatMap(({ topics }) => topics.map(row => row.topic))).toEqual([...tracker.topics({ prefix: 'room:' }).keys()])
    expect((await ask<TopicsReply>('topics', { prefix: 'lob' })).topics).toEqual([{ topic: 'lobby', keys: 1, presences: 1 }])
  })

  it('users online that begin with a text, a hundred at most, and how many there are', async () => {
    for (let i = 0; i < 150; i++) {
      tracker.connect(`user:${i}`)
    }
    tracker.connect('ann')
    const all = await ask<UsersReply>('users', {})
    expect([all.users.length, all.more, all.total]).toEqual([100, true, 151])
    expect(await ask('users', { prefix: 'an' })).toEqual({ users: ['ann'], more: false, total: 151 })
    expect(await ask('users', { prefix: 'user:14' })).toMatchObject({ users: expect.arrayContaining(['user:14', 'user:149']), more: false })
  })

  it('why a user is online: devices, and where he is', async () => {
    const phone = tracker.connect('ann', { meta: { device: 'phone' } })
    tracker.connect('ann', { meta: { device: 'desk' } })
    phone.track('room:1', { status: 'here' })
    vi.advanceTimersByTime(3_000)
    const reply = await ask<UserReply>('user', { user: 'ann' })
    expect(reply).toMatchObject({ user: 'ann', online: true, connections: 2, omitted: 0 })
    expect(reply.why).toBe(`ann is online by 2 connections, with 1 presence held by ${tracker.id}`)
    expect(reply.devices.map(({ meta }) => meta)).toEqual([{ device: 'phone' }, { device: 'desk' }])
    expect(reply.presences).toMatchObject([
      { topic: 'room:1', key: 'ann', replicaStatus: 'up', state: 'online', ageMs: 3_000, provenMsAgo: 0 }
    ])
    expect(await ask('user', { user: 'nobody' })).toMatchObject({
      online: false,
      connections: 0,
      lastSeenMs: null,
      devices: [],
      presences: []
    })
  })

  it('of a user with a thousand presences a hundred, and the number of the others', async () => {
    const connection = tracker.connect('ann')
    for (let i = 0; i < 1_000; i++) {
      connection.track(`room:${i}`)
    }
    const reply = await ask<UserReply>('user', { user: 'ann' })
    expect([reply.presences.length, reply.omitted]).toEqual([100, 900])
  })

  it.each([
    ['dance', {}, 'unknown event; allowed are topics, users and user'],
    ['user', {}, 'user is missing: a text that names one'],
    ['user', { user: 7 }, 'user is missing: a text that names one'],
    ['user', { user: '' }, 'user is missing: a text that names one']
  ])('nothing else: %s %j is told what is allowed', async (event, payload, message) => {
    await expect(ask(event, payload)).rejects.toMatchObject({ name: 'PushError', message })
  })

  it('odd payloads ask for everything', async () => {
    tracker.connect('ann').track('room:1')
    for (const payload of [{ prefix: 7, cursor: {} }, { prefix: null }, JSON.parse('{"__proto__":{"prefix":"x"}}')]) {
      expect((await ask<TopicsReply>('topics', payload)).topics).toHaveLength(1)
      expect((await ask<UsersReply>('users', payload)).users).toEqual(['ann'])
    }
  })
})
