import { setTimeout as sleep } from 'node:timers/promises'
import { Socket } from 'phoenix'
import { afterEach, describe, expect, it } from 'vitest'
import { type Authorize, allow } from '../../src/net/gateway/index.ts'
import { closeLater } from '../support/gateway/close-all.ts'
import { openHouse } from '../support/gateway/hooks.ts'
import { closeAll, joinTopic, openClient } from '../support/gateway/phoenix-client.ts'
import { HandshakeError, openRaw, type RawClient } from '../support/gateway/raw-client.ts'
import { startGateway } from '../support/gateway/serve-gateway.ts'
import { until } from '../support/net/until.ts'

afterEach(closeAll)

const ROOM = 'room:1'
const SILENT = { presence: { present: false } }

/** A door that opens when the test says so. */
const gate = (): PromiseWithResolvers<void> => Promise.withResolvers<void>()

const events = ({ frames }: RawClient): string[] => frames.map(([joinRef, ref, , event]) => `${event} ${joinRef} ${ref}`)

describe('C1: frames', () => {
  it('answers a heartbeat exactly so', async () => {
    const { url } = await startGateway()
    const raw = await openRaw(url, { user: 'ann' })
    raw.send('[null,"4","phoenix","heartbeat",{}]')
    await raw.next()
    expect(raw.texts).toEqual(['[null,"4","phoenix","phx_reply",{"status":"ok","response":{}}]'])
  })

  it('a leave is answered, then the channel closed; then nothing more comes of the topic', async () => {
    const { url, tracker } = await startGateway()
    const raw = await openRaw(url, { user: 'ann' })
    await raw.request(ROOM, 'phx_join')
    await raw.next(([, , , event]) => event === 'presence_state')
    raw.send(['1', '9', ROOM, 'phx_leave', {}])
    await raw.next(([, , , event]) => event === 'phx_close')
    expect(raw.texts.slice(2)).toEqual([
      '["1","9","room:1","phx_reply",{"status":"ok","response":{}}]',
      '["1","1","room:1","phx_close",{}]'
    ])
    tracker.connect('bob').track(ROOM)
    raw.send([null, '10', 'phoenix', 'heartbeat', {}])
    await raw.next(([, ref]) => ref === '10')
    expect(raw.frames).toHaveLength(5)
  })

  it('leaving what was never joined is fine; any other event in it is of an unmatched topic', async () => {
    const { url } = await startGateway()
    const raw = await openRaw(url, { user: 'ann' })
    expect(await raw.request('room:never', 'phx_leave')).toEqual({ status: 'ok', response: {} })
    expect(await raw.request('room:never', 'update')).toEqual({ status: 'error', response: { reason: 'unmatched topic' } })
    expect(await raw.request('phoenix', 'update')).toEqual({ status: 'error', response: { reason: 'unmatched topic' } })
  })

  it('an event that is none of ours gets an error; one without a ref gets no answer', async () => {
    const { url } = await startGateway()
    const raw = await openRaw(url, { user: 'ann' })
    await raw.request(ROOM, 'phx_join')
    expect(await raw.request(ROOM, 'shout', { text: 'hi' })).toEqual({ status: 'error', response: { reason: 'unknown event' } })
    await raw.next(([, , , event]) => event === 'presence_state')
    const before = raw.frames.length
    raw.send(['1', null, ROOM, 'shout', {}])
    raw.send([null, null, 'phoenix', 'heartbeat', {}])
    expect(await raw.request('phoenix', 'heartbeat')).toEqual({ status: 'ok', response: {} })
    expect(raw.frames).toHaveLength(before + 1)
  })

  it('frames of an earlier join are ignored: they neither change nor leave the present one', async () => {
    const { url, tracker } = await startGateway()
    const raw = await openRaw(url, { user: 'ann' })
    await raw.request(ROOM, 'phx_join', { round: 1 })
    await raw.request(ROOM, 'phx_join', { round: 2 })
    raw.send(['1', '90', ROOM, 'update', { round: 'stale' }])
    raw.send(['1', '91', ROOM, 'phx_leave', {}])
    raw.send([null, '92', ROOM, 'untrack', {}])
    await raw.request(ROOM, 'update', { round: 3 })
    expect(tracker.get(ROOM, 'ann').map(({ meta }) => meta)).toEqual([{ round: 3 }])
    expect(raw.frames.filter(([, ref]) => ref?.startsWith('9'))).toEqual([])
  })

  it('a second join of a topic: the first is closed, then the second answered, and its presence does not flap, however long that takes', async () => {
    const slow: Authorize = async question => {
      await sleep(100)
      return openHouse(question)
    }
    const { url } = await startGateway({ gateway: { authorize: slow, authorizeCacheMs: 0 } })
    const watcher = await joinTopic(openClient(url, { user: 'watcher' }), ROOM, SILENT)
    const raw = await openRaw(url, { user: 'ann' })
    await raw.request(ROOM, 'phx_join')
    await raw.next(([, , , event]) => event === 'presence_state')
    await until('ann', () => watcher.keys().length === 1)
    await raw.request(ROOM, 'phx_join')
    await raw.next(([, , , event]) => event === 'presence_state')
    expect(events(raw)).toEqual(['phx_reply 1 1', 'presence_state 1 null', 'phx_close 1 1', 'phx_reply 2 2', 'presence_state 2 null'])
    await raw.request(ROOM, 'update', { now: true })
    await until('the update', () => watcher.changes.length > 1)
    expect(watcher.changes).toEqual(['join ann', 'more ann', 'fewer ann'])
  })

  it('two channels of one topic in one client: the first is left, the second is in it', async () => {
    const { url, tracker } = await startGateway()
    const client = openClient(url, { user: 'ann' })
    const first = await joinTopic(client, ROOM, { channel: 1 })
    const second = await joinTopic(client, ROOM, { channel: 2 })
    await second.synced()
    expect(first.channel.state).toBe('closed')
    expect(second.channel.state).toBe('joined')
    expect(tracker.get(ROOM, 'ann').map(({ meta }) => meta)).toEqual([{ channel: 2 }])
  })

  it('a topic that the tracker does not take is refused with the limit, whatever is wanted of it', async () => {
    const { url } = await startGateway()
    const raw = await openRaw(url, { user: 'ann' })
    const long = 'x'.repeat(300)
    for (const presence of [{}, { present: false }, { present: false, watch: 'counts' }]) {
      expect(await raw.request(long, 'phx_join', { presence })).toMatchObject({
        status: 'error',
        response: { reason: expect.stringContaining('has 300 bytes, allowed are 1 to 255'), code: 'ERR_INVALID_NAME' }
      })
    }
    expect(await raw.request(long, 'update')).toEqual({ status: 'error', response: { reason: 'unmatched topic' } })
    expect(raw.frames.every(([, , , event]) => event === 'phx_reply')).toBe(true)
  })

  it('with compression, small frames and a state of 1,000 members arrive whole', async () => {
    const { url, tracker } = await startGateway({ gateway: { compression: true } })
    for (let member = 0; member < 1_000; member++) {
      tracker.connect(`user:${member}`).track(ROOM, { member })
    }
    const raw = await openRaw(url, { user: 'ann', perMessageDeflate: true })
    expect(raw.ws.extensions).toContain('permessage-deflate')
    await raw.request(ROOM, 'phx_join', SILENT)
    const [, , , , state] = await raw.next(([, , , event]) => event === 'presence_state')
    expect(Object.keys(state)).toHaveLength(1_000)
  })

  it('joins and leaves of one topic in one burst, whatever the hook takes for each: the last word counts, and each is answered in order', async () => {
    const { url, tracker } = await startGateway({
      gateway: {
        limits: { frameBurst: 1_000 },
        authorize: async ({ action, payload }) => {
          await sleep(Math.random() * 10)
          return action === 'watch' || allow({ meta: { n: Number(payload.n) } })
        }
      }
    })
    const watcher = await joinTopic(openClient(url, { user: 'watcher' }), ROOM, SILENT)
    const raw = await openRaw(url, { user: 'ann' })
    for (let n = 1; n <= 30; n++) {
      raw.send([`${n}`, `${n}`, ROOM, 'phx_join', { n }])
      raw.send([`${n}`, `u${n}`, ROOM, 'update', { n: n + 100 }])
      if (n % 3 > 0) {
        raw.send([`${n}`, `l${n}`, ROOM, 'phx_leave', {}])
      }
      if (n % 5 === 0) {
        await sleep(5)
      }
    }
    await raw.next(([, ref]) => ref === 'u30')
    expect(tracker.get(ROOM, 'ann').map(({ meta }) => meta)).toEqual([{ n: 130 }])
    await until('the last word', () => watcher.list().ann?.[0]?.n === 130)
    expect(watcher.list().ann).toHaveLength(1)
    const closed = raw.frames.filter(([, , , event]) => event === 'phx_close').map(([joinRef]) => Number(joinRef))
    expect(closed).toEqual(Array.from({ length: 29 }, (_, n) => n + 1))
  })

  it('a binary payload is refused, and the socket lives on', async () => {
    const { url } = await startGateway()
    const client = openClient(url, { user: 'ann' })
    const room = await joinTopic(client, ROOM)
    await expect(room.push('update', new Uint8Array([1, 2, 3]).buffer)).rejects.toMatchObject({
      response: { reason: 'binary payloads are not taken' }
    })
    expect(await room.push('update', { fine: true })).toHaveProperty('ref')
    expect(client.closes).toEqual([])
  })

  it('a client of another version of the protocol is refused, and told which one is spoken', async () => {
    const { url } = await startGateway()
    const refused = await openRaw(url, { user: 'ann', vsn: '1.0.0' }).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(HandshakeError)
    expect(refused).toMatchObject({ status: 400, body: expect.stringContaining('vsn is \\"1.0.0\\", allowed is 2.0.0') })
  })
})

describe('C1: channels, as the client’s own suite expects of a server', () => {
  it('left while the join is still being decided: it is never shown, and can be joined again', async () => {
    const door = gate()
    const asked: string[] = []
    const served = await startGateway({
      gateway: {
        authorize: async ({ user, action }) => {
          asked.push(`${user} ${action}`)
          await (user === 'ann' ? door.promise : undefined)
          return action === 'watch' ? true : allow({ meta: {} })
        }
      }
    })
    const watcher = await joinTopic(openClient(served.url, { user: 'watcher' }), ROOM, SILENT)
    const client = openClient(served.url, { user: 'ann' })
    await client.connected()
    const channel = client.socket.channel(ROOM)
    const answers: string[] = []
    channel.join().receive('ok', () => answers.push('ok'))
    await until('the hook is asked', () => asked.includes('ann present'))
    channel.leave()
    const raw = await openRaw(served.url, { user: 'ann' })
    raw.send(['1', '1', ROOM, 'phx_join', {}])
    raw.send(['1', '2', ROOM, 'phx_leave', {}])
    await raw.next(([, , , event]) => event === 'phx_close')
    door.resolve()
    const again = await joinTopic(client, ROOM)
    await until('ann, once', () => watcher.keys().length === 1)
    expect(answers).toEqual([])
    expect(events(raw)).toEqual(['phx_reply 1 2', 'phx_close 1 1'])
    expect(watcher.changes).toEqual(['join ann'])
    expect(again.list().ann).toHaveLength(1)
  })

  it('a join that takes longer than the client waits is left and tried again; then it is in, once', async () => {
    const door = gate()
    const served = await startGateway({
      gateway: { authorizeCacheMs: 0, authorize: ({ action }) => door.promise.then(() => (action === 'watch' ? true : allow())) }
    })
    const client = openClient(served.url, { user: 'ann', timeout: 100, rejoinAfterMs: () => 50 })
    const channel = client.socket.channel(ROOM)
    const answers: string[] = []
    channel
      .join()
      .receive('timeout', () => answers.push('timeout'))
      .receive('ok', () => answers.push('ok'))
    await until('it was tried twice', () => answers.length >= 2)
    door.resolve()
    await until('it is in', () => answers.includes('ok'))
    expect(answers.slice(0, -1).every(answer => answer === 'timeout')).toBe(true)
    expect(served.tracker.count(ROOM).presences).toBe(1)
  })

  it('a join that is refused tells why, and is tried again until it is allowed', async () => {
    let isOpen = false
    const served = await startGateway({
      gateway: { authorizeCacheMs: 0, authorize: ({ action }) => isOpen && (action === 'watch' ? true : allow()) }
    })
    const client = openClient(served.url, { user: 'ann', rejoinAfterMs: () => 30 })
    const channel = client.socket.channel(ROOM)
    const answers: unknown[] = []
    channel
      .join()
      .receive('error', response => answers.push(response))
      .receive('ok', () => answers.push('ok'))
    await until('two refusals', () => answers.length >= 2)
    isOpen = true
    await until('it is in', () => answers.at(-1) === 'ok')
    expect(answers.slice(0, 2)).toEqual([{ reason: 'unauthorized' }, { reason: 'unauthorized' }])
  })

  it('pushes before the join, and while the connection is away, arrive after it, in order', async () => {
    const served = await startGateway()
    const client = openClient(served.url, { user: 'ann', session: 'tab' })
    const channel = client.socket.channel(ROOM, { n: 0 })
    const answers: string[] = []
    const push = (n: number): void => void channel.push('update', { n }).receive('ok', () => answers.push(`ok ${n}`))
    channel.join()
    push(1)
    push(2)
    await until('both', () => answers.length === 2)
    client.breakOff()
    await until('the client knows', () => channel.state === 'errored')
    push(3)
    push(4)
    await until('all', () => answers.length === 4)
    expect(answers).toEqual(['ok 1', 'ok 2', 'ok 3', 'ok 4'])
    expect(served.tracker.get(ROOM, 'ann').map(({ meta }) => meta)).toEqual([{ n: 4 }])
  })

  it('many pushes at once are answered, each with its own, in order', async () => {
    const served = await startGateway({
      gateway: {
        authorize: async ({ action, payload }) => {
          await sleep(Math.random() * 3)
          return action === 'watch' || allow({ meta: { n: Number(payload.n) } })
        }
      }
    })
    const client = openClient(served.url, { user: 'ann' })
    const room = await joinTopic(client, ROOM, { n: 0 })
    const order: number[] = []
    await Promise.all(Array.from({ length: 50 }, (_, n) => room.push('update', { n: n + 1 }).then(() => order.push(n + 1))))
    expect(order).toEqual(Array.from({ length: 50 }, (_, n) => n + 1))
    expect(served.tracker.get(ROOM, 'ann').map(({ meta }) => meta)).toEqual([{ n: 50 }])
  })

  it('untracked, one watches on and is not listed; tracked again, one is', async () => {
    const served = await startGateway()
    const room = await joinTopic(openClient(served.url, { user: 'ann' }), ROOM, { n: 1 })
    await room.synced()
    expect(await room.push('untrack')).toEqual({})
    await until('ann is not listed', () => room.keys().length === 0)
    await expect(room.push('update', { n: 2 })).rejects.toMatchObject({ response: { reason: 'not present' } })
    expect(await room.push('track', { n: 3 })).toHaveProperty('ref')
    await until('ann is listed', () => room.list().ann?.[0]?.n === 3)
  })
})

describe('C1: sockets, as the client’s own suite expects of a server', () => {
  it('answers its ping', async () => {
    const { url } = await startGateway()
    const { socket, connected } = openClient(url, { user: 'ann' })
    await connected()
    const rtt = await new Promise<number>(resolve => socket.ping(resolve))
    expect(rtt).toBeLessThan(5_000)
  })

  it('authToken reaches authenticate by the subprotocol, and the handshake chooses “phoenix”', async () => {
    const tokens: (string | undefined)[] = []
    const { url } = await startGateway({
      gateway: {
        authenticate: ({ token, params }) => {
          tokens.push(token, JSON.stringify(params))
          return { user: 'ann' }
        }
      }
    })
    const client = openClient(url, { authToken: 'a~token.with+odd/chars' })
    await client.connected()
    expect(tokens).toEqual(['a~token.with+odd/chars', '{}'])
    expect((client.socket as unknown as { conn: WebSocket }).conn.protocol).toBe('phoenix')
  })

  it('params are asked for at each connect, and reach authenticate without the protocol’s own', async () => {
    const seen: unknown[] = []
    const { url } = await startGateway({
      gateway: {
        authenticate: ({ params }) => {
          seen.push({ ...params })
          return { user: 'ann' }
        }
      }
    })
    let attempt = 0
    const client = openClient(url, { params: () => ({ attempt: String(++attempt), name: 'ä&=?' }) })
    await client.connected()
    client.breakOff()
    await until('it is back', () => client.opens === 2)
    expect(seen).toEqual([
      { attempt: '1', name: 'ä&=?' },
      { attempt: '2', name: 'ä&=?' }
    ])
  })

  it('one whom authenticate does not know is refused before it is a WebSocket, and tries again', async () => {
    let isKnown = false
    const { url, gateway } = await startGateway({ gateway: { authenticate: () => (isKnown ? { user: 'ann' } : null) } })
    const client = openClient(url)
    await until('it was refused twice', () => client.closes.length >= 2)
    isKnown = true
    await client.connected()
    expect(client.closes.every(({ code }) => code === 1006)).toBe(true)
    expect(gateway.stats()['refused.unauthenticated']).toBeGreaterThanOrEqual(2)
  })

  it('one that answers neither pings nor sends is closed after ttlMs with 1001, and its presence has its grace', async () => {
    const served = await startGateway({
      trackerOptions: { heartbeatIntervalMs: 100, ttlMs: 400, graceMs: 400 },
      gateway: { pingIntervalMs: 50 }
    })
    const watcher = await joinTopic(openClient(served.url, { user: 'watcher' }), ROOM, SILENT)
    const raw = await openRaw(served.url, { user: 'ann', autoPong: false })
    const startMs = performance.now()
    await raw.request(ROOM, 'phx_join')
    expect(await raw.closed()).toEqual({ code: 1001, reason: 'expired' })
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(390)
    expect(watcher.keys()).toEqual(['ann'])
    await until('ann has left', () => watcher.keys().length === 0)
    expect(watcher.changes).toEqual(['join ann', 'leave ann'])
    expect(served.gateway.stats()['closed.expired']).toBe(1)
  })

  it('one that sends nothing, but answers pings, stays', async () => {
    const served = await startGateway({
      trackerOptions: { heartbeatIntervalMs: 400, ttlMs: 800, graceMs: 0 },
      gateway: { pingIntervalMs: 100 }
    })
    const raw = await openRaw(served.url, { user: 'ann' })
    await raw.request(ROOM, 'phx_join')
    await until('many pings', () => raw.pings >= 6)
    expect(raw.close).toBeUndefined()
    expect(served.tracker.count(ROOM).presences).toBe(1)
  })

  it('a heartbeat that is not answered makes the client break off and come back: nobody is told anything', async () => {
    const served = await startGateway()
    const watcher = await joinTopic(openClient(served.url, { user: 'watcher' }), ROOM, SILENT)
    let isDeaf = false
    class HardOfHearing extends WebSocket {
      override set onmessage(handler: ((event: MessageEvent) => void) | null) {
        super.onmessage = event => void (isDeaf || handler?.(event))
      }
    }
    const client = openClient(served.url, {
      user: 'ann',
      session: 'tab',
      heartbeatIntervalMs: 100,
      transport: HardOfHearing,
      keepFrames: false
    })
    const room = await joinTopic(client, ROOM)
    await room.synced()
    isDeaf = true
    await until('it has broken off', () => room.errors.length > 0)
    isDeaf = false
    await until('it is back', () => client.opens >= 2 && room.channel.state === 'joined')
    await until('watcher sees ann', () => watcher.keys().length === 1)
    expect(room.errors[0]).toMatchObject({ reason: 'heartbeat_timeout' })
    expect(watcher.changes).toEqual(['join ann'])
    expect(room.changes).toEqual(['join ann'])
  })

  it('the client’s own disconnect, with a code and a reason, is a close as any other', async () => {
    const served = await startGateway({ trackerOptions: { graceMs: 0 } })
    const socket = new Socket(served.url, { params: { user: 'ann' } })
    closeLater(() => new Promise<void>(resolve => socket.disconnect(resolve)))
    socket.connect()
    socket.channel(ROOM).join()
    await until('ann', () => served.tracker.count(ROOM).keys === 1)
    socket.disconnect(undefined, 4_321, 'done')
    await until('nobody', () => served.tracker.count(ROOM).keys === 0 && served.gateway.size === 0)
    expect(served.gateway.stats()['closed.gone']).toBe(1)
  })
})
