import { connect } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { closeAll, joinTopic, openClient } from '../support/gateway/phoenix-client.ts'
import { type HandshakeError, openRaw, type RawClient } from '../support/gateway/raw-client.ts'
import { type ServedGateway, startGateway } from '../support/gateway/serve-gateway.ts'
import { until } from '../support/net/until.ts'

afterEach(closeAll)

const ROOM = 'room:1'

/** The numbers that go up and down: what is left when everybody has gone. */
function gauges({ gateway, tracker }: ServedGateway): Record<string, number | undefined> {
  const { sockets, channels, behind, bufferedBytes, feeds, watchers } = gateway.stats()
  const { connections, topicWatches } = tracker.stats()
  return { sockets, channels, behind, bufferedBytes, feeds, watchers, connections, topicWatches }
}
const NOBODY = { sockets: 0, channels: 0, behind: 0, bufferedBytes: 0, feeds: 0, watchers: 0, connections: 0, topicWatches: 0 }

const heartbeat = (ref: number): string => JSON.stringify([null, `h${ref}`, 'phoenix', 'heartbeat', {}])
const answered = (client: RawClient): (string | null)[] =>
  client.frames.filter(([, , , event]) => event === 'phx_reply').map(([, ref]) => ref)

/** One who watches and is beside whatever happens; `works` proves it. */
async function honest({ url }: ServedGateway): Promise<{ works(): Promise<void> }> {
  const client = await openRaw(url, { user: 'honest' })
  await client.request(ROOM, 'phx_join')
  return {
    async works() {
      expect(client.close).toBeUndefined()
      expect(await client.request('phoenix', 'heartbeat')).toEqual({ status: 'ok', response: {} })
      expect(await client.request(ROOM, 'update', { at: performance.now() })).toMatchObject({ status: 'ok' })
    }
  }
}

const refusal = (opening: Promise<unknown>): Promise<unknown> =>
  opening.then(
    () => 'it came in',
    (error: HandshakeError) => [error.status, error.body === '' ? '' : JSON.parse(error.body).error.reason]
  )

describe('limits of one socket', () => {
  it('frameBytes: a larger frame closes it with 1009; others do not notice', async () => {
    const served = await startGateway({ gateway: { limits: { frameBytes: 1_000 } } })
    const { works } = await honest(served)
    const client = await openRaw(served.url, { user: 'ann' })
    const frame = (bytes: number): string => {
      const empty = JSON.stringify([null, '1', 'phoenix', 'heartbeat', { x: '' }])
      return empty.replace('""', `"${'x'.repeat(bytes - empty.length)}"`)
    }
    client.send(frame(1_000))
    await client.next()
    client.send(frame(1_001))
    expect(await client.closed()).toMatchObject({ code: 1009 })
    await until('it is counted', () => served.gateway.stats()['closed.too large'] === 1)
    await works()
    expect(served.gateway.size).toBe(1)
  })

  it('frameBytes: by long poll the answer is 413, and the session ends', async () => {
    const served = await startGateway({ gateway: { limits: { frameBytes: 1_000 } } })
    const { token } = await (await fetch(`${served.origin}/socket/longpoll?user=ann&vsn=2.0.0`)).json()
    const url = `${served.origin}/socket/longpoll?token=${token}`
    const post = async (body: string): Promise<number> => (await (await fetch(url, { method: 'POST', body })).json()).status
    expect(await post(`${heartbeat(1)}\n${'['.repeat(1_001)}\n${heartbeat(2)}`)).toBe(413)
    expect(served.gateway.stats()).toMatchObject({ 'closed.too large': 1, framesIn: 1, sockets: 0 })
    expect([await post(heartbeat(3)), (await (await fetch(url)).json()).status]).toEqual([410, 410])
    const other = await (await fetch(`${served.origin}/socket/longpoll?user=bob&vsn=2.0.0`)).json()
    const large = await fetch(`${served.origin}/socket/longpoll?token=${other.token}`, { method: 'POST', body: '[\n'.repeat(1_000_000) })
    expect((await large.json()).status).toBe(413)
  })

  it('frameBytes: in fragments, too', async () => {
    const served = await startGateway({ gateway: { limits: { frameBytes: 1_000 } } })
    const client = await openRaw(served.url, { user: 'ann' })
    for (let i = 0; i < 6; i++) {
      client.ws.send('x'.repeat(200), { fin: false })
    }
    expect(await client.closed()).toMatchObject({ code: 1009 })
  })

  it('framesPerSecond: above it a socket is read more slowly; nothing is lost, heartbeats are answered, others are not slowed', async () => {
    const served = await startGateway({ gateway: { limits: { framesPerSecond: 100, frameBurst: 20 } } })
    const { works } = await honest(served)
    const client = await openRaw(served.url, { user: 'ann' })
    const startMs = performance.now()
    for (let i = 0; i < 150; i++) {
      client.send(heartbeat(i))
    }
    await works()
    await until('all are answered', () => answered(client).length === 150)
    client.send(heartbeat(150))
    await until('the last one is', () => answered(client).length === 151)
    expect(performance.now() - startMs).toBeGreaterThan(1_000)
    expect(answered(client)).toEqual(Array.from({ length: 151 }, (_, i) => `h${i}`))
    expect(client.close).toBeUndefined()
    expect(served.gateway.stats().throttled).toBeGreaterThanOrEqual(1)
  })

  it('throttledMs: one that never stops is closed with rate, and leaves nothing behind', async () => {
    const served = await startGateway({ gateway: { limits: { framesPerSecond: 50, frameBurst: 10, throttledMs: 300 } } })
    const { works } = await honest(served)
    const before = gauges(served)
    const client = await openRaw(served.url, { user: 'flood' })
    let sent = 0
    const flood = setInterval(() => {
      for (let i = 0; i < 5; i++) {
        client.send(JSON.stringify([null, String(++sent), `room:${sent}`, 'phx_join', { presence: { present: false } }]))
      }
    }, 10)
    const closed = await client.closed()
    clearInterval(flood)
    expect(closed).toEqual({ code: 1008, reason: 'rate' })
    expect(served.gateway.stats()['closed.rate']).toBe(1)
    await until('nothing is left of it', () => JSON.stringify(gauges(served)) === JSON.stringify(before))
    await works()
  })

  it('pings count as frames: one that sends nothing else, and reads nothing, cannot make the server keep the answers', async () => {
    const served = await startGateway({ gateway: { limits: { framesPerSecond: 50, frameBurst: 10, throttledMs: 300 } } })
    const { works } = await honest(served)
    const client = await openRaw(served.url, { user: 'flood' })
    client.stopReading()
    const flood = setInterval(() => {
      for (let i = 0; i < 50; i++) {
        client.ws.ping('x'.repeat(125))
      }
    }, 10)
    await until('it is closed', () => served.gateway.stats()['closed.rate'] === 1)
    clearInterval(flood)
    expect(served.gateway.stats().bufferedBytes).toBeLessThan(65_536)
    await works()
  })

  it('topicsPerSocket: one join more fails with Phoenix’s own reason; after a leave there is room', async () => {
    const served = await startGateway({ gateway: { limits: { topicsPerSocket: 3 } } })
    const client = await openRaw(served.url, { user: 'ann' })
    for (const topic of ['a', 'b', 'c']) {
      expect(await client.request(topic, 'phx_join')).toMatchObject({ status: 'ok' })
    }
    const full = { status: 'error', response: { reason: 'too many channels joined' } }
    expect(await client.request('d', 'phx_join')).toEqual(full)
    expect(await client.request('a', 'phx_join')).toMatchObject({ status: 'ok' })
    expect([served.gateway.stats().joinsRefused, served.tracker.list('d').size]).toEqual([1, 0])
    await client.request('a', 'phx_leave')
    expect(await client.request('d', 'phx_join')).toMatchObject({ status: 'ok' })
  })

  it('joinBytes: joins that are larger together fail, and nothing is kept of them; after a leave there is room', async () => {
    const served = await startGateway({ gateway: { limits: { joinBytes: 1_000 } } })
    const client = await openRaw(served.url, { user: 'ann' })
    const payload = { note: 'x'.repeat(400) }
    const large = { status: 'error', response: { reason: 'joins too large' } }
    expect(await client.request('a', 'phx_join', payload)).toMatchObject({ status: 'ok' })
    expect(await client.request('b', 'phx_join', payload)).toMatchObject({ status: 'ok' })
    for (let again = 0; again < 3; again++) {
      expect(await client.request('c', 'phx_join', payload)).toEqual(large)
      // A second join of a topic takes the place of the first.
      expect(await client.request('a', 'phx_join', payload)).toMatchObject({ status: 'ok' })
    }
    expect([served.gateway.stats().joinsRefused, served.tracker.list('c').size]).toEqual([3, 0])
    await client.request('a', 'phx_leave')
    expect(await client.request('c', 'phx_join', payload)).toMatchObject({ status: 'ok' })
  })

  it('pushes that wait for their turn are bounded, and each of them is answered', async () => {
    let slow = false
    const answers: (() => void)[] = []
    const served = await startGateway({
      gateway: {
        authorize: () => (slow ? new Promise(resolve => answers.push(() => resolve(true))) : true),
        limits: { frameBurst: 1_000 }
      }
    })
    const client = await openRaw(served.url, { user: 'ann' })
    await client.request(ROOM, 'phx_join')
    slow = true
    for (let i = 0; i < 400; i++) {
      client.send(['1', `p${i}`, ROOM, 'update', { i }])
    }
    const isFull = ([, , , , payload]: readonly unknown[]): boolean =>
      (payload as { response?: { reason?: string } }).response?.reason === 'too many pushes at once'
    await until('the last of them are refused', () => client.frames.filter(isFull).length === 400 - 256)
    slow = false
    for (const answer of answers) {
      answer()
    }
    await until('all are answered', () => answered(client).length === 401)
    expect(client.close).toBeUndefined()
  })
})

describe('limits of all sockets', () => {
  it('sockets: the next one gets 503, until one has gone', async () => {
    const served = await startGateway({ gateway: { limits: { sockets: 2 } } })
    const first = await openRaw(served.url, { user: 'a' })
    await openRaw(served.url, { user: 'b' })
    expect(await refusal(openRaw(served.url, { user: 'c' }))).toEqual([503, 'sockets'])
    expect(served.gateway.stats()).toMatchObject({ 'refused.sockets': 1, sockets: 2 })
    first.terminate()
    await until('it has gone', () => served.gateway.size === 1)
    await openRaw(served.url, { user: 'c' })
  })

  it('socketsPerUser: his next one gets 429, others come in', async () => {
    const served = await startGateway({ gateway: { limits: { socketsPerUser: 2 } } })
    const first = await openRaw(served.url, { user: 'ann' })
    await openRaw(served.url, { user: 'ann' })
    expect(await refusal(openRaw(served.url, { user: 'ann' }))).toEqual([429, 'socketsPerUser'])
    await openRaw(served.url, { user: 'bob' })
    expect(served.gateway.stats()).toMatchObject({ 'refused.socketsPerUser': 1, sockets: 3 })
    first.ws.close()
    await until('it has gone', () => served.gateway.size === 2)
    await openRaw(served.url, { user: 'ann' })
  })

  it('socketsPerUser: a newer token is no way around it', async () => {
    const served = await startGateway({
      gateway: { limits: { socketsPerUser: 1 }, authenticate: ({ token, params }) => ({ user: token ?? params.user ?? 'nobody' }) }
    })
    const ann = await openRaw(served.url, { user: 'ann' })
    const other = await openRaw(served.url, { user: 'guest' })
    const reply = await other.request(ROOM, 'phx_join', { access_token: 'ann' })
    expect(reply).toMatchObject({ status: 'error', response: { reason: expect.stringContaining('socketsPerUser') } })
    expect(served.tracker.connectionsOf('ann')).toHaveLength(1)
    expect(await ann.request(ROOM, 'phx_join')).toMatchObject({ status: 'ok' })
  })

  it('socketsPerAddress: the next one of it gets 429; the address is what addressOf says', async () => {
    const addressOf = ({ headers }: { headers: Record<string, unknown> }): string => String(headers['x-forwarded-for'] ?? 'none')
    const served = await startGateway({ gateway: { limits: { socketsPerAddress: 1 }, addressOf } })
    const from = (address: string) => openRaw(served.url, { user: 'ann', headers: { 'x-forwarded-for': address } })
    const first = await from('10.0.0.1')
    expect(await refusal(from('10.0.0.1'))).toEqual([429, 'socketsPerAddress'])
    await from('10.0.0.2')
    expect(served.gateway.stats()['refused.socketsPerAddress']).toBe(1)
    first.terminate()
    await until('it has gone', () => served.gateway.size === 1)
    await from('10.0.0.1')
  })

  it('who is refused, and who hangs up before he is let in, takes no place', async () => {
    let hold: Promise<void> | undefined
    const served = await startGateway({
      gateway: {
        limits: { sockets: 3 },
        authenticate: async ({ params }) => {
          await hold
          return params.user === undefined ? null : { user: params.user }
        }
      }
    })
    for (let i = 0; i < 10; i++) {
      expect(await refusal(openRaw(served.url))).toEqual([403, 'unauthenticated'])
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    hold = promise
    const port = Number(new URL(served.origin).port)
    for (let round = 0; round < 5; round++) {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => undefined)
      socket.write('GET /socket/websocket?user=ann&vsn=2.0.0 HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n')
      socket.write('sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n\r\n')
      await new Promise(done => socket.once('connect', done))
      socket.resetAndDestroy()
    }
    resolve()
    hold = undefined
    for (const user of ['a', 'b', 'c']) {
      await until('there is room', () => served.gateway.size <= 2)
      await openRaw(served.url, { user })
    }
    expect(await refusal(openRaw(served.url, { user: 'd' }))).toEqual([503, 'sockets'])
  })

  it('origins: a page of another host gets 403, by WebSocket and by long poll', async () => {
    const served = await startGateway()
    expect(await refusal(openRaw(served.url, { user: 'a', headers: { origin: 'https://evil.example' } }))).toEqual([403, 'origin'])
    await openRaw(served.url, { user: 'a', headers: { origin: served.origin } })
    const poll = await fetch(`${served.origin}/socket/longpoll?user=a&vsn=2.0.0`, { headers: { origin: 'https://evil.example' } })
    expect([(await poll.json()).status, poll.headers.get('access-control-allow-origin')]).toEqual([403, null])
    const listed = await startGateway({ gateway: { origins: ['https://app.example'] } })
    await openRaw(listed.url, { user: 'a', headers: { origin: 'https://app.example' } })
    expect(await refusal(openRaw(listed.url, { user: 'a', headers: { origin: listed.origin } }))).toEqual([403, 'origin'])
    expect([served.gateway.stats()['refused.origin'], listed.gateway.stats()['refused.origin']]).toEqual([2, 1])
  })

  it('vsn: another version of the protocol gets 400', async () => {
    const served = await startGateway()
    for (const vsn of ['1.0.0', '3.0.0', '2', '', '2.0.0; drop', '__proto__']) {
      expect(await refusal(openRaw(served.url, { user: 'a', vsn }))).toEqual([400, 'version'])
    }
    await openRaw(served.url, { user: 'a', vsn: '2.1.0' })
    expect(served.gateway.stats()['refused.version']).toBe(6)
  })

  it('compression is off unless it is asked for, and then frameBytes counts what comes out', async () => {
    const plain = await startGateway()
    const offered = await openRaw(plain.url, { user: 'a', perMessageDeflate: true })
    expect(offered.ws.extensions).toBe('')
    const packed = await startGateway({ gateway: { compression: true, limits: { frameBytes: 10_000 } } })
    const client = await openRaw(packed.url, { user: 'a', perMessageDeflate: true })
    expect(client.ws.extensions).toContain('permessage-deflate')
    expect(await client.request(ROOM, 'phx_join', { text: 'x'.repeat(500) })).toMatchObject({ status: 'ok' })
    client.send(JSON.stringify([null, '9', ROOM, 'track', { bomb: 'x'.repeat(1_000_000) }]))
    expect(await client.closed()).toMatchObject({ code: 1009 })
  })
})

describe('what clients do often', () => {
  it('pub-D14: 100 updates within a second: none is lost, the last wins, the client is not closed, watchers get a diff per window', async () => {
    const served = await startGateway({ gateway: { diffWindowMs: 50 } })
    const watcher = await joinTopic(openClient(served.url, { user: 'watcher' }), ROOM, { presence: { present: false } })
    const client = openClient(served.url, { user: 'ann' })
    const room = await joinTopic(client, ROOM, { n: 0 })
    await until('ann is listed', () => watcher.keys().includes('ann'))
    const startMs = performance.now()
    const replies = Array.from({ length: 100 }, (_, n) => room.push('update', { n: n + 1 }))
    expect(await Promise.all(replies)).toHaveLength(100)
    await until('the last one is shown', () => watcher.list().ann?.[0]?.n === 100)
    const windows = Math.ceil((performance.now() - startMs) / 50) + 2
    expect(watcher.frames('presence_diff').length).toBeLessThanOrEqual(windows)
    expect([client.opens, client.closes]).toEqual([1, []])
    expect(watcher.changes.filter(change => change === 'leave ann')).toEqual([])
  })

  it('pub-D15: 2,000 who join a topic: a frame per window for each watcher, and bytes in proportion', async () => {
    const served = await startGateway({ gateway: { diffWindowMs: 50 } })
    const watchers = await Promise.all(Array.from({ length: 5 }, (_, i) => openRaw(served.url, { user: `watcher${i}` })))
    for (const watcher of watchers) {
      await watcher.request(ROOM, 'phx_join', { presence: { present: false } })
      await watcher.next(([, , , event]) => event === 'presence_state')
    }
    const counter = await openRaw(served.url, { user: 'counter' })
    await counter.request(ROOM, 'phx_join', { presence: { present: false, watch: 'counts' } })
    const startMs = performance.now()
    for (let i = 0; i < 2_000; i += 10) {
      for (let j = i; j < i + 10; j++) {
        served.tracker.connect(`user${j}`).track(ROOM, { name: `User ${j}` })
      }
      await new Promise(resolve => setTimeout(resolve, 10))
    }
    await until('the count is told', () => counter.frames.at(-1)?.[4].keys === 2_000)
    const shown = (watcher: RawClient): number =>
      watcher.frames
        .filter(([, , , event]) => event === 'presence_diff')
        .reduce((sum, [, , , , { joins }]) => sum + Object.keys(joins).length, 0)
    await until('all are told of all', () => watchers.every(watcher => shown(watcher) === 2_000))
    const windows = Math.ceil((performance.now() - startMs) / 50) + 2
    for (const watcher of [...watchers, counter]) {
      expect(watcher.frames.length).toBeLessThanOrEqual(windows + 2)
    }
    const bytes = watchers[0]?.texts.reduce((sum, text) => sum + text.length, 0) ?? 0
    expect(bytes).toBeLessThan(2_000 * 120 + windows * 100)
    expect(counter.texts.every(text => text.length < 120)).toBe(true)
  })

  it('pub-D7: 1,000 × open, join, leave or close: everything is as before', async () => {
    const served = await startGateway({ trackerOptions: { graceMs: 0 } })
    const port = Number(new URL(served.origin).port)
    const handles = (): number => process.getActiveResourcesInfo().filter(name => name === 'Timeout' || name === 'TCPSocketWrap').length
    const before = handles()
    const round = async (i: number): Promise<void> => {
      const client = await openRaw(served.url, { user: `user${i % 50}`, session: `s${i}` })
      const mode = ['list', 'counts', 'none'][i % 3]
      await client.request(`room:${i % 97}`, 'phx_join', { presence: { watch: mode } })
      if (i % 2 === 0) {
        await client.request(`room:${i % 97}`, 'phx_leave')
      }
      if (i % 5 === 0) {
        client.terminate()
      } else {
        client.ws.close()
      }
    }
    for (let i = 0; i < 1_000; i += 20) {
      await Promise.all(Array.from({ length: 20 }, (_, j) => round(i + j)))
    }
    await until('all have gone', () => JSON.stringify(gauges(served)) === JSON.stringify(NOBODY))
    await until('no timer and no socket is left', () => handles() <= before + 1)
    expect([served.tracker.topics().size, port > 0, served.server.listenerCount('upgrade')]).toEqual([0, true, 1])
    expect(served.gateway.stats()['closed.gone']).toBe(1_000)
    expect(served.gateway.stats().rememberedAnswers).toBeLessThanOrEqual(10_000)
  })
})
