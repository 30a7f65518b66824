import { once } from 'node:events'
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { createTracker } from '../../src/index.ts'
import type { Delivery } from '../../src/net/gateway/index.ts'
import { closeLater } from '../support/gateway/close-all.ts'
import { openLongPollClient } from '../support/gateway/long-poll-client.ts'
import { closeAll, joinTopic, openClient } from '../support/gateway/phoenix-client.ts'
import { RawPoller } from '../support/gateway/raw-poller.ts'
import { type ServedGateway, startGateway } from '../support/gateway/serve-gateway.ts'
import { until } from '../support/net/until.ts'

afterEach(closeAll)

const ROOM = 'room:1'
const WATCHES = { presence: { present: false } }
const FAST = { heartbeatIntervalMs: 200, ttlMs: 800, graceMs: 400 }

/** A proxy that knows nothing of WebSockets, as some companies have it. */
async function startOldProxy({ origin }: ServedGateway): Promise<{ readonly url: string }> {
  const server = createServer((request, response) => {
    const { url, method = 'GET' } = request
    const { upgrade: _, connection: __, ...headers } = request.headers
    const forwarded = httpRequest(`${origin}${url}`, { method, headers }, answer => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    forwarded.on('error', () => response.destroy())
    response.on('close', () => forwarded.destroy())
    request.pipe(forwarded)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closeLater(() => {
    server.close()
    server.closeAllConnections()
  })
  return { url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}/socket` }
}

/** In a session of the door, by hand: opened, joined, and told the state. */
async function joined({ origin }: ServedGateway, user: string, params: Record<string, string> = {}): Promise<RawPoller> {
  const poller = new RawPoller(origin, { user, ...params })
  expect(await poller.poll()).toMatchObject({ status: 410, token: expect.any(String) })
  expect(await poller.send(['1', '1', ROOM, 'phx_join', {}])).toMatchObject({ status: 200 })
  await poller.until('presence_state')
  return poller
}

describe('C1: long polls, by the npm client phoenix', () => {
  it('one batch of a session at a time: another one beside it is turned away, and the first is taken', async () => {
    const served = await startGateway()
    const poller = await joined(served, 'ann')
    const first = httpRequest(poller.url, { method: 'POST' })
    const answered = once(first, 'response')
    first.write('[null,"h1","phoenix",')
    // The first is on its way when another one is turned away.
    while ((await poller.send([null, 'h2', 'phoenix', 'heartbeat', {}])).status !== 429) {
      await sleep(5)
    }
    first.end('"heartbeat",{}]')
    const [response] = await answered
    expect(JSON.parse(Buffer.concat(await response.toArray()).toString()).status).toBe(200)
    expect((await poller.until('phx_reply')).map(([, ref]) => ref)).toContain('h1')
    expect((await poller.send([null, 'h3', 'phoenix', 'heartbeat', {}])).status).toBe(200)
  })

  it('joins, sees others by WebSocket, is seen by them, updates, leaves', async () => {
    const served = await startGateway()
    const ann = openLongPollClient(served.url, { user: 'ann' })
    const bob = openClient(served.url, { user: 'bob' })
    const polled = await joinTopic(ann, ROOM, { status: 'here' })
    const pushed = await joinTopic(bob, ROOM)
    await until('each sees both', () => polled.keys().length === 2 && pushed.keys().length === 2)
    await polled.push('update', { status: 'away' })
    await until('bob sees the update', () => pushed.list().ann?.[0]?.status === 'away')
    await pushed.push('update', { status: 'busy' })
    await until('ann sees the update', () => polled.list().bob?.[0]?.status === 'busy')
    await polled.leave()
    await until('ann has left', () => pushed.keys().join() === 'bob')
    expect(pushed.changes).toEqual(['join ann', 'join bob', 'more ann', 'fewer ann', 'more bob', 'fewer bob', 'leave ann'])
    expect(ann.closes).toEqual([])
  })

  it('where no WebSocket gets through, longPollFallbackMs falls back to it', async () => {
    const served = await startGateway()
    const { url } = await startOldProxy(served)
    const client = openClient(url, { user: 'ann', longPollFallbackMs: 2_000, keepFrames: false })
    const room = await joinTopic(client, ROOM)
    await room.synced()
    expect(room.keys()).toEqual(['ann'])
    expect((client.socket as unknown as { conn: object }).conn.constructor.name).toBe('LongPoll')
  })

  it('its authToken reaches authenticate', async () => {
    const tokens: unknown[] = []
    const served = await startGateway({
      gateway: {
        authenticate: ({ token, params }) => {
          tokens.push(token, { ...params })
          return { user: 'ann' }
        }
      }
    })
    const client = openLongPollClient(served.url, { authToken: 'secret~1', params: { tab: '7' } })
    await client.connected()
    expect(tokens).toEqual(['secret~1', { tab: '7' }])
  })

  it('250 messages at once come in batches of a hundred, and each is answered, in order', async () => {
    const served = await startGateway({ gateway: { limits: { framesPerSecond: 10_000, frameBurst: 10_000 } } })
    const client = openLongPollClient(served.url, { user: 'ann' })
    const room = await joinTopic(client, ROOM, { n: 0 })
    const order: number[] = []
    await Promise.all(Array.from({ length: 250 }, (_, n) => room.push('update', { n: n + 1 }).then(() => order.push(n + 1))))
    expect(order).toEqual(Array.from({ length: 250 }, (_, n) => n + 1))
    expect(served.tracker.get(ROOM, 'ann').map(({ meta }) => meta)).toEqual([{ n: 250 }])
  })

  it('one who sends more than it may is answered more slowly, and nothing is lost', async () => {
    const served = await startGateway({ gateway: { limits: { framesPerSecond: 200, frameBurst: 20 } } })
    const client = openLongPollClient(served.url, { user: 'ann' })
    const room = await joinTopic(client, ROOM, { n: 0 })
    const startMs = performance.now()
    await Promise.all(Array.from({ length: 250 }, (_, n) => room.push('update', { n: n + 1 })))
    expect(performance.now() - startMs).toBeGreaterThan(300)
    expect(served.gateway.stats().throttled).toBeGreaterThan(0)
  })

  it('a server that stops and comes again: the client comes back, with its session, and its list is the same', async () => {
    const tracker = createTracker({ graceMs: 20_000 })
    await tracker.start()
    closeLater(() => tracker.stop())
    const served = await startGateway({ tracker })
    tracker.connect('watcher').track(ROOM)
    const client = openLongPollClient(served.url, { user: 'ann', session: 'tab' })
    const room = await joinTopic(client, ROOM)
    await room.synced()
    const [before] = tracker.get(ROOM, 'ann')
    const diffs: unknown[] = []
    tracker.addEventListener('diff', ({ detail: { joins, leaves } }) => void diffs.push(...joins, ...leaves))
    await served.stop()
    await until('the client knows', () => client.closes.length > 0)
    await startGateway({ tracker, port: Number(new URL(served.origin).port) })
    await until('it is back', () => client.opens >= 2 && room.channel.state === 'joined')
    expect(tracker.get(ROOM, 'ann').map(({ ref }) => ref)).toEqual([before?.ref])
    expect(diffs).toEqual([])
    expect([...room.changes].sort()).toEqual(['join ann', 'join watcher'])
  })

  it('a session that is gone is opened anew, and the channels joined again', async () => {
    const served = await startGateway()
    const client = openLongPollClient(served.url, { user: 'ann' })
    const room = await joinTopic(client, ROOM)
    served.tracker.kick('ann')
    await until('it is back', () => client.opens === 2 && room.channel.state === 'joined')
    expect(client.closes).toMatchObject([{ code: 3_410 }])
  })

  it('one whom authenticate does not know is told so, and ends its attempts', async () => {
    const served = await startGateway({ gateway: { authenticate: () => null } })
    const client = openLongPollClient(served.url)
    await until('it has closed', () => client.closes.length > 0)
    expect(client.closes).toMatchObject([{ code: 1_008 }])
  })

  it('drained, it is sent on; its presence is held', async () => {
    const served = await startGateway()
    const client = openLongPollClient(served.url, { user: 'ann', session: 'tab' })
    await joinTopic(client, ROOM)
    await served.gateway.drain()
    await until('it was sent on', () => client.closes.length > 0)
    expect(served.gateway.size).toBe(0)
    expect(served.tracker.count(ROOM).keys).toBe(1)
  })

  it('B2: the same session by WebSocket, then by long poll, and back: nobody is told anything', async () => {
    const served = await startGateway()
    const watcher = await joinTopic(openClient(served.url, { user: 'watcher' }), ROOM, WATCHES)
    for (const open of [openClient, openLongPollClient, openClient]) {
      const client = open(served.url, { user: 'ann', session: 'tab' })
      const room = await joinTopic(client, ROOM, { status: 'here' })
      await room.synced()
      expect(room.keys()).toEqual(['ann'])
      await client.close()
    }
    expect(watcher.changes).toEqual(['join ann'])
  })
})

describe('long polls, by hand', () => {
  it('a client that polls lives, however seldom something happens; one that polls no more has expired after ttlMs', async () => {
    const served = await startGateway({ trackerOptions: FAST, gateway: { pingIntervalMs: 200 } })
    const poller = await joined(served, 'ann')
    for (const endMs = performance.now() + 3 * FAST.ttlMs; performance.now() < endMs; ) {
      expect((await poller.poll()).status).toBe(204)
    }
    expect(served.tracker.get(ROOM, 'ann')).toHaveLength(1)
    const startMs = performance.now()
    await until('ann has left', () => served.tracker.count(ROOM).keys === 0)
    expect(performance.now() - startMs).toBeGreaterThan(FAST.ttlMs)
    expect((await poller.poll()).status).toBe(410)
    expect(served.gateway.stats()['closed.expired']).toBe(1)
  })

  it('a token that is unknown, of another node, or of an earlier life is answered 410: by a poll, and by a batch', async () => {
    const [here, there] = [await startGateway(), await startGateway()]
    const poller = await joined(there, 'ann')
    for (const token of [poller.token, 'poll.unknown', 'poll.']) {
      const stranger = new RawPoller(here.origin, { user: 'ann' }, token)
      expect(await stranger.send(['1', '2', ROOM, 'phx_leave', {}])).toMatchObject({ status: 410 })
      expect(await stranger.poll()).toMatchObject({ status: 410, messages: [] })
    }
    expect(here.gateway.size).toBe(0)
    expect(there.tracker.count(ROOM).keys).toBe(1)
  })

  it('a poll that is held is answered when the gateway stops, and when a later poll comes', async () => {
    const served = await startGateway()
    const poller = await joined(served, 'ann')
    const first = poller.poll()
    await sleep(50)
    const second = poller.poll()
    expect((await first).status).toBe(204)
    await served.gateway.stop()
    expect((await second).status).toBe(410)
  })

  it('more than a hundred messages in one batch are refused; none of them counts', async () => {
    const served = await startGateway()
    const poller = await joined(served, 'ann')
    const many = Array.from({ length: 101 }, (_, n) => ['1', `${n + 2}`, ROOM, 'untrack', {}])
    expect((await poller.send(...many)).status).toBe(413)
    expect(served.tracker.count(ROOM).keys).toBe(1)
  })

  it('an answer that was lost on its way is the first thing that the next poll gets, before what came later, once', async () => {
    const served = await startGateway({ gateway: { limits: { bufferedBytes: 1_073_741_824 } } })
    const poller = await joined(served, 'ann')
    const breakOff = poller.pollDeaf()
    const large = 'x'.repeat(32 * 1_048_576)
    const send = (event: string, payload: object, timeoutMs: number): Promise<Delivery> =>
      served.gateway.deliver('ann', { topic: ROOM, event, payload }, { timeoutMs })
    expect(await send('first', { large }, 300)).toEqual({ sent: 1, acked: 0 })
    const second = send('second', {}, 60_000)
    breakOff()
    await until('the server knows', () => Number(served.gateway.stats().bufferedBytes) > large.length)
    const third = send('third', {}, 60_000)
    const events = (await poller.until('third')).map(([, , , event]) => event)
    expect(events).toEqual(['first', 'second', 'third'])
    const last = poller.poll()
    expect(await Promise.all([second, third])).toEqual([
      { sent: 1, acked: 1 },
      { sent: 1, acked: 1 }
    ])
    await served.gateway.stop()
    await last
  })

  it('pub-C16: a message is acked by the poll that follows it; a client that has gone acks nothing', async () => {
    const served = await startGateway()
    const client = openLongPollClient(served.url, { user: 'ann' })
    const room = await joinTopic(client, ROOM)
    const heard: unknown[] = []
    room.channel.on('ring', payload => void heard.push(payload))
    expect(await served.gateway.deliver('ann', { topic: ROOM, event: 'ring', payload: { n: 1 } })).toEqual({ sent: 1, acked: 1 })
    await until('the client has told it', () => heard.length > 0)
    expect(heard).toEqual([{ n: 1 }])
    const poller = await joined(served, 'bob')
    expect(await served.gateway.deliver('bob', { topic: ROOM, event: 'ring', payload: {} }, { timeoutMs: 200 })).toEqual({
      sent: 1,
      acked: 0
    })
    await poller.until('ring')
  })
})
