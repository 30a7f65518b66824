import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { closeAll, type JoinedTopic, joinTopic, openClient, type PhoenixClient } from '../support/gateway/phoenix-client.ts'
import { openRaw, type RawClient } from '../support/gateway/raw-client.ts'
import { type ServedGateway, startGateway } from '../support/gateway/serve-gateway.ts'
import { startSuspendable } from '../support/gateway/suspendable.ts'
import { until } from '../support/net/until.ts'

afterEach(closeAll)

const ROOM = 'room:1'
const GRACE_MS = 600
const WATCHES = { presence: { present: false } }

const serve = (graceMs = GRACE_MS): Promise<ServedGateway> => startGateway({ trackerOptions: { graceMs } })

async function watch(url: string): Promise<JoinedTopic> {
  const room = await joinTopic(openClient(url, { user: 'watcher' }), ROOM, WATCHES)
  await room.synced()
  return room
}

async function joined(url: string, user: string, session?: string): Promise<RawClient> {
  const raw = await openRaw(url, { user, ...(session !== undefined && { session }) })
  await raw.request(ROOM, 'phx_join', { status: 'here' })
  await raw.next(([, , , event]) => event === 'presence_state')
  return raw
}

/** Proves that what was quiet was not deaf: a change, seen by the watcher. */
async function proveHearing({ tracker }: ServedGateway, watcher: JoinedTopic): Promise<void> {
  tracker.connect('proof').track(ROOM)
  await until('the watcher hears', () => watcher.keys().includes('proof'))
}

describe('pub-E10: a session that comes back', () => {
  it.each([
    ['with 1000', (raw: RawClient) => raw.ws.close(1_000)],
    ['with 1001, as a page that is left', (raw: RawClient) => raw.ws.close(1_001)],
    ['without a code', (raw: RawClient) => raw.ws.close()],
    ['with a code of its own', (raw: RawClient) => raw.ws.close(4_000, 'reload')],
    ['without a goodbye', (raw: RawClient) => raw.terminate()]
  ])('its socket closed %s, and it came back inside the grace: nobody was told, and its ref is the same', async (_, close) => {
    const served = await serve(20_000)
    const watcher = await watch(served.url)
    const first = await joined(served.url, 'ann', 'tab')
    await until('ann', () => watcher.keys().length === 1)
    const [before] = served.tracker.get(ROOM, 'ann')
    close(first)
    await first.closed()
    await until('the gateway knows', () => served.gateway.size === 1)
    const second = await joined(served.url, 'ann', 'tab')
    expect(second.frames.find(([, , , event]) => event === 'presence_state')?.[4]).toEqual({
      ann: { metas: [{ status: 'here', phx_ref: before?.ref }] }
    })
    await proveHearing(served, watcher)
    expect(watcher.changes).toEqual(['join ann', 'join proof'])
    expect(served.tracker.get(ROOM, 'ann')).toHaveLength(1)
  })

  it('back after the grace: one leave, one join', async () => {
    const served = await serve(100)
    const watcher = await watch(served.url)
    const first = await joined(served.url, 'ann', 'tab')
    first.terminate()
    await until('ann has left', () => watcher.changes.length === 2)
    await joined(served.url, 'ann', 'tab')
    await proveHearing(served, watcher)
    expect(watcher.changes).toEqual(['join ann', 'leave ann', 'join ann', 'join proof'])
  })

  it('the grace begins anew with each loss', async () => {
    const served = await serve()
    const watcher = await watch(served.url)
    const startMs = performance.now()
    let lostMs = 0
    for (let round = 0; round < 3; round++) {
      const raw = await joined(served.url, 'ann', 'tab')
      raw.terminate()
      await until('the gateway knows', () => served.gateway.size === 1)
      lostMs = performance.now()
      await sleep(round < 2 ? GRACE_MS * 0.6 : 0)
    }
    await until('ann has left', () => watcher.keys().length === 0)
    expect(lostMs - startMs).toBeGreaterThan(GRACE_MS)
    expect(performance.now() - lostMs).toBeGreaterThan(GRACE_MS - 20)
    expect(watcher.changes).toEqual(['join ann', 'leave ann'])
  })

  it('a client without a session is a new one each time; the old one has its grace', async () => {
    const served = await serve()
    const watcher = await watch(served.url)
    const first = await joined(served.url, 'ann')
    first.terminate()
    await joined(served.url, 'ann')
    await until('the old one has left', () => watcher.changes.includes('fewer ann'))
    expect(watcher.changes).toEqual(['join ann', 'more ann', 'fewer ann'])
  })

  it('a session that authenticate names goes before the client’s param', async () => {
    const served = await startGateway({
      gateway: {
        authenticate: ({ params: { user = '', session } }) => ({
          user,
          session: session?.startsWith('forged') ? 'of the token' : 'of watchers'
        })
      }
    })
    const watcher = await watch(served.url)
    const first = await joined(served.url, 'ann', 'forged 1')
    first.terminate()
    await until('the gateway knows', () => served.gateway.size === 1)
    await joined(served.url, 'ann', 'forged 2')
    await proveHearing(served, watcher)
    expect(watcher.changes).toEqual(['join ann', 'join proof'])
    expect(served.tracker.get(ROOM, 'ann')).toHaveLength(1)
  })

  it.each([
    ['tab', 1],
    ['', 2]
  ])('where authenticate names no session, the client’s param “%s” makes %i presence(s) of two sockets', async (session, presences) => {
    const served = await startGateway({ gateway: { authenticate: ({ params: { user = '' } }) => ({ user }) } })
    const first = await joined(served.url, 'ann', session)
    first.terminate()
    await until('the gateway knows', () => served.gateway.size === 0)
    await joined(served.url, 'ann', session)
    expect(served.tracker.get(ROOM, 'ann')).toHaveLength(presences)
  })

  it('while its old socket is half open: the new one has its presences, the old one is closed with 1000, nobody is told', async () => {
    const served = await serve(20_000)
    const watcher = await watch(served.url)
    const first = await joined(served.url, 'ann', 'tab')
    first.stopReading()
    await joined(served.url, 'ann', 'tab')
    first.resumeReading()
    expect(await first.closed()).toEqual({ code: 1_000, reason: 'taken over' })
    await proveHearing(served, watcher)
    expect(watcher.changes).toEqual(['join ann', 'join proof'])
    expect(served.tracker.get(ROOM, 'ann')).toHaveLength(1)
    expect(served.gateway.stats()['closed.taken over']).toBe(1)
  })

  it('phx_leave is a leave at once, whatever the grace; joining again is a join', async () => {
    const served = await serve(600_000)
    const watcher = await watch(served.url)
    const raw = await joined(served.url, 'ann', 'tab')
    await until('ann', () => watcher.keys().length === 1)
    await raw.request(ROOM, 'phx_leave')
    await until('ann has left', () => watcher.keys().length === 0)
    await raw.request(ROOM, 'phx_join', { status: 'here' })
    await until('ann is back', () => watcher.keys().length === 1)
    expect(watcher.changes).toEqual(['join ann', 'leave ann', 'join ann'])
  })

  it('the npm client, its network gone for a moment: its list does not flap either', async () => {
    const served = await serve(20_000)
    const watcher = await watch(served.url)
    const client = openClient(served.url, { user: 'ann', session: 'tab' })
    const room = await joinTopic(client, ROOM)
    await room.synced()
    for (let round = 1; round <= 3; round++) {
      served.cut()
      await until('it is back', () => client.opens === round + 1 && room.channel.state === 'joined')
    }
    await until('the watcher is back', () => watcher.channel.state === 'joined')
    await proveHearing(served, watcher)
    await until('so does the client', () => room.keys().includes('proof'))
    expect([watcher.changes, room.changes]).toEqual([
      ['join ann', 'join proof'],
      ['join ann', 'join proof']
    ])
  })

  it('a duplicated tab: two living clients of one session come to rest, each with its own presence', async () => {
    const served = await serve()
    const tabs: PhoenixClient[] = []
    const rooms: JoinedTopic[] = []
    for (const tab of [1, 2]) {
      const client = openClient(served.url, { user: 'ann', session: 'copied' })
      tabs.push(client)
      rooms.push(await joinTopic(client, ROOM, { tab }))
    }
    await until('both are in', () => served.tracker.count(ROOM).presences === 2 && rooms.every(({ channel }) => channel.state === 'joined'))
    const opens = tabs.map(client => client.opens)
    await sleep(500)
    expect(tabs.map(client => client.opens)).toEqual(opens)
    expect(Math.max(...opens)).toBeLessThan(6)
    expect(served.tracker.get(ROOM, 'ann').map(({ meta }) => meta.tab)).toEqual(expect.arrayContaining([1, 2]))
    expect(served.gateway.stats().twins).toBe(1)
  })
})

describe('C1: how sockets are closed, and that the npm client comes back', () => {
  it.each([
    ['kicked', 1_008, (served: ServedGateway) => void served.tracker.kick('ann')],
    ['malformed', 1_007, (_: ServedGateway, { socket }: PhoenixClient) => (socket as unknown as { conn: WebSocket }).conn.send('{}')],
    [
      'too large',
      1_009,
      (_: ServedGateway, { socket }: PhoenixClient) => (socket as unknown as { conn: WebSocket }).conn.send('x'.repeat(40_000))
    ],
    ['taken over', 1_000, ({ url }: ServedGateway) => void openRaw(url, { user: 'ann', session: 'tab' })]
  ])('%s: %i', async (reason, code, end) => {
    const served = await serve(20_000)
    const client = openClient(served.url, { user: 'ann', session: 'tab' })
    const room = await joinTopic(client, ROOM)
    end(served, client)
    await until('it is back', () => client.opens >= 2 && room.channel.state === 'joined')
    // The library that speaks WebSocket closes by itself then, and gives no reason.
    expect(client.closes[0]).toEqual({ code, reason: reason === 'too large' ? '' : reason })
    expect(served.tracker.get(ROOM, 'ann')).toHaveLength(1)
    expect(served.gateway.stats()[`closed.${reason}`]).toBeGreaterThanOrEqual(1)
  })

  it('kicked: the presences leave at once, and whom authenticate turns away stays away', async () => {
    let isBanned = false
    const served = await startGateway({
      trackerOptions: { graceMs: 600_000 },
      gateway: {
        authenticate: ({ params: { user = '', session } }) => (isBanned && user === 'ann' ? null : { user, session: session ?? user })
      }
    })
    const watcher = await watch(served.url)
    const client = openClient(served.url, { user: 'ann', session: 'tab' })
    await joinTopic(client, ROOM)
    await until('ann', () => watcher.keys().length === 1)
    isBanned = true
    expect(served.tracker.kick('ann')).toBe(1)
    await until('ann has left', () => watcher.keys().length === 0)
    await until('it was turned away', () => client.closes.length >= 3)
    expect(client.opens).toBe(1)
    expect(watcher.changes).toEqual(['join ann', 'leave ann'])
  })

  it('stopped: 1001, and the server goes on without a gateway', async () => {
    const served = await serve()
    const raw = await joined(served.url, 'ann')
    await served.gateway.stop()
    expect(await raw.closed()).toEqual({ code: 1_001, reason: 'stopped' })
    expect(served.tracker.count(ROOM).keys).toBe(1)
    served.server.on('request', (_, response) => void response.end('the owner’s'))
    expect(await (await fetch(`${served.origin}/socket/longpoll`)).text()).toBe('the owner’s')
  })

  it('the tracker is stopped under it: 1001, newcomers are turned away', async () => {
    const served = await serve()
    const raw = await joined(served.url, 'ann')
    await served.tracker.stop()
    expect(await raw.closed()).toEqual({ code: 1_001, reason: 'stopped' })
    await expect(openRaw(served.url, { user: 'bob' })).rejects.toMatchObject({ status: 503 })
  })

  it('pub-E9: drained: 1012 for all, newcomers are sent on with 503, presences are held', async () => {
    const served = await startGateway({ trackerOptions: { graceMs: 20_000 }, gateway: { drainMs: 300 } })
    const clients = await Promise.all(['ann', 'bob', 'carol'].map(user => joined(served.url, user, user)))
    const drained = served.gateway.drain()
    await expect(openRaw(served.url, { user: 'dave' })).rejects.toMatchObject({ status: 503, body: expect.stringContaining('draining') })
    await drained
    for (const client of clients) {
      expect(await client.closed()).toEqual({ code: 1_012, reason: 'draining' })
    }
    expect(served.gateway.size).toBe(0)
    expect([...served.tracker.list(ROOM).keys()]).toEqual(['ann', 'bob', 'carol'])
  })
})

describe('pub-C16: deliver', () => {
  const message = { topic: ROOM, event: 'ring', payload: { from: 'bob' } }

  it('tells how many clients of the user have it: all that live, on each of their tabs', async () => {
    const served = await serve()
    const clients = [openClient(served.url, { user: 'ann' }), openClient(served.url, { user: 'ann' })]
    const rooms = await Promise.all(clients.map(client => joinTopic(client, ROOM)))
    const heard: unknown[] = []
    for (const { channel } of rooms) {
      channel.on('ring', payload => void heard.push(payload))
    }
    await joined(served.url, 'bob')
    expect(await served.gateway.deliver('ann', message)).toEqual({ sent: 2, acked: 2 })
    expect(heard).toEqual([message.payload, message.payload])
  })

  it('a client that is listed, but does not read, acks nothing within the time given', async () => {
    const served = await serve()
    const dead = await joined(served.url, 'ann')
    dead.stopReading()
    const startMs = performance.now()
    expect(await served.gateway.deliver('ann', message, { timeoutMs: 300 })).toEqual({ sent: 1, acked: 0 })
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(299)
    expect(performance.now() - startMs).toBeLessThan(2_000)
    expect(served.tracker.get(ROOM, 'ann')).toHaveLength(1)
    await joined(served.url, 'ann')
    expect(await served.gateway.deliver('ann', message, { timeoutMs: 300 })).toEqual({ sent: 2, acked: 1 })
  })

  it('one that goes while it is waited for is not waited for any longer', async () => {
    const served = await serve()
    const raw = await joined(served.url, 'ann')
    raw.stopReading()
    const delivered = served.gateway.deliver('ann', message, { timeoutMs: 600_000 })
    served.cut()
    expect(await delivered).toEqual({ sent: 1, acked: 0 })
  })

  it('one that has not joined the topic, and one of another user, is sent nothing', async () => {
    const served = await serve()
    const raw = await openRaw(served.url, { user: 'ann' })
    await joined(served.url, 'bob')
    expect(await served.gateway.deliver('ann', message)).toEqual({ sent: 0, acked: 0 })
    expect(await served.gateway.deliver('nobody', message)).toEqual({ sent: 0, acked: 0 })
    await raw.request('phoenix', 'heartbeat')
    expect(raw.frames).toHaveLength(1)
  })
})

describe('pub-B22: a gateway that stood still', () => {
  // Longer than a busy machine makes the clients' own process wait.
  const TTL_MS = 4_000
  const replica = { heartbeatIntervalMs: 200, ttlMs: TTL_MS, graceMs: 500 }

  it('for longer than ttlMs removes nobody: each client is still there, by whatever way it came', async () => {
    const { url, suspend, resume } = await startSuspendable(replica, { pingIntervalMs: 250 })
    const watcher = openClient(url, { user: 'watcher' })
    const watched = await joinTopic(watcher, ROOM, WATCHES)
    const clients = Array.from({ length: 20 }, (_, n) => openClient(url, { user: `user:${n}`, session: `tab:${n}` }))
    const rooms = await Promise.all(clients.map(client => joinTopic(client, ROOM)))
    await until('all are seen', () => watched.keys().length === 20)
    const refs = JSON.stringify(watched.list())
    suspend()
    await sleep(1.5 * TTL_MS)
    resume()
    await rooms[0]?.push('update', { back: true })
    await until('the gateway is alive', () => watched.changes.length > 20)
    await sleep(1.25 * TTL_MS)
    expect(watched.changes.slice(20)).toEqual(['more user:0', 'fewer user:0'])
    expect([watcher, ...clients].flatMap(({ closes }) => closes)).toEqual([])
    expect(watched.keys()).toEqual(Object.keys(JSON.parse(refs)).sort())
  })

  it('C1: clients whose heartbeat it did not answer break off, and come back: with sessions, nobody is told anything', async () => {
    const { url, suspend, resume } = await startSuspendable({ ...replica, graceMs: 5_000 }, { pingIntervalMs: 250 })
    const watched = await joinTopic(openClient(url, { user: 'watcher' }), ROOM, WATCHES)
    const clients = Array.from({ length: 5 }, (_, n) =>
      openClient(url, { user: `user:${n}`, session: `tab:${n}`, heartbeatIntervalMs: 200 })
    )
    const rooms = await Promise.all(clients.map(client => joinTopic(client, ROOM)))
    await until('all are seen', () => watched.keys().length === 5)
    suspend()
    await until('all have noticed', () => rooms.every(({ errors }) => errors.length > 0))
    await sleep(TTL_MS)
    resume()
    await until('all are back', () => clients.every(({ opens }) => opens >= 2) && rooms.every(({ channel }) => channel.state === 'joined'))
    await rooms[0]?.push('update', { back: true })
    await until('the update is seen', () => watched.changes.includes('fewer user:0'))
    expect(rooms.map(({ errors }) => errors[0])).toEqual(rooms.map(() => ({ source: 'transport', reason: 'heartbeat_timeout' })))
    expect(watched.changes.slice(5)).toEqual(['more user:0', 'fewer user:0'])
  })
})
