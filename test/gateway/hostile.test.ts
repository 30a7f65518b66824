import { connect, type Socket } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Authenticate, Authorize } from '../../src/net/gateway/rights/hooks.ts'
import { joinTopic, openClient } from '../support/gateway/phoenix-client.ts'
import { openRaw, type RawClient, type RawFrame } from '../support/gateway/raw-client.ts'
import { type ServedGateway, startGateway } from '../support/gateway/serve-gateway.ts'
import { NAUGHTY_NAMES } from '../support/naughty-names.ts'
import { until } from '../support/net/until.ts'
import { expectNothingUnhandled, ROOM, startScene } from './unit/scene.ts'

const LONG = process.env.ROLLCALL_LONG === '1'
const SEED = LONG ? Date.now() % 2 ** 31 : 4_711
const RUNS = LONG ? 2_000 : 60

expectNothingUnhandled()

/** Mallory's socket, opened anew when it was closed. */
async function reopen(served: ServedGateway, mallory: RawClient | undefined): Promise<RawClient> {
  return mallory === undefined || mallory.close !== undefined || mallory.ws.readyState !== mallory.ws.OPEN
    ? await openRaw(served.url, { user: 'mallory' })
    : mallory
}

const TOPICS = [ROOM, 'phoenix', 'room:2', '__proto__', 'realtime:x', '\u0000u', 'x'.repeat(300), '\ud800', 'rollcall:cluster']
const EVENTS = [
  'phx_join',
  'phx_leave',
  'heartbeat',
  'track',
  'update',
  'untrack',
  'presence',
  'access_token',
  'phx_reply',
  'phx_close',
  'presence_state',
  '__proto__'
]
const PAYLOADS: readonly fc.Arbitrary<unknown>[] = [
  fc.constant({}),
  fc.constant({ user: 'alice', userId: 'alice', key: 'alice', presence: { key: 'alice', watch: 'list', present: true } }),
  fc.record({
    presence: fc.record({ watch: fc.constantFrom('list', 'counts', 'none', 5, null), present: fc.constantFrom(true, false, 'x') })
  }),
  fc.record({ config: fc.record({ presence: fc.record({ key: fc.constantFrom('alice', '', '__proto__'), enabled: fc.boolean() }) }) }),
  fc.record({ event: fc.constantFrom('track', 'untrack', 'TRACK', 'x'), payload: fc.dictionary(fc.string(), fc.jsonValue()) }),
  fc.record({ access_token: fc.oneof(fc.string(), fc.jsonValue()) }),
  fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'phx_ref', 'toString')), fc.jsonValue()),
  fc.jsonValue()
]
const ref = fc.constantFrom<unknown>('1', '2', '3', null, '', 5, {}, 'x'.repeat(100))
const frame = fc.tuple(
  ref,
  ref,
  fc.oneof({ weight: 5, arbitrary: fc.constantFrom<unknown>(...TOPICS) }, { weight: 1, arbitrary: fc.jsonValue() }),
  fc.oneof({ weight: 5, arbitrary: fc.constantFrom<unknown>(...EVENTS) }, { weight: 1, arbitrary: fc.jsonValue() }),
  fc.oneof(...PAYLOADS)
)
/** A frame as text, with some characters changed, cut or doubled. */
const mutated = fc
  .tuple(
    frame,
    fc.array(fc.tuple(fc.nat(200), fc.constantFrom('', '"', '[', ']', '{', '}', ',', '\\', '\u0000', '😀', '1e999')), { maxLength: 4 })
  )
  .map(([parts, edits]) => {
    let text = JSON.stringify(parts)
    for (const [at, by] of edits) {
      text = text.slice(0, at) + by + text.slice(at + 1)
    }
    return text
  })
const sent: fc.Arbitrary<string | Buffer> = fc.oneof(
  { weight: 5, arbitrary: frame.map(parts => JSON.stringify(parts)) },
  { weight: 3, arbitrary: mutated },
  { weight: 1, arbitrary: fc.json() },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 200 }) },
  { weight: 2, arbitrary: fc.uint8Array({ maxLength: 200 }).map(bytes => Buffer.from(bytes)) }
)

describe('frames of one who means harm', () => {
  it(`S3: whatever they are, nobody else’s presence changes, and nothing breaks; ${RUNS} runs, seed ${SEED}`, async () => {
    const scene = await startScene({ gateway: { page: true } })
    let mallory: RawClient | undefined
    await fc.assert(
      fc.asyncProperty(fc.array(sent, { minLength: 5, maxLength: 40, size: 'max' }), async frames => {
        mallory = await reopen(scene, mallory)
        for (const each of frames) {
          if (mallory.ws.readyState === mallory.ws.OPEN) {
            mallory.send(each)
          }
        }
        await scene.unharmed()
      }),
      { numRuns: RUNS, seed: SEED, endOnFailure: true }
    )
    mallory?.terminate()
    await until('only Alice is left', () => scene.gateway.size === 1)
    await until('and only her presence', () => [...scene.tracker.topics().keys()].join() === ROOM)
    const stats = scene.gateway.stats()
    expect(stats).toMatchObject({ sockets: 1, channels: 1, watchers: 1, feeds: 1, behind: 0 })
    expect(stats.malformed).toBeGreaterThan(RUNS / 4)
    expect(stats.joins).toBeGreaterThan(RUNS)
    expect(Object.keys(stats).length).toBeLessThan(60)
  })

  const MALFORMED: readonly (readonly [string, (client: RawClient) => void])[] = [
    ['no JSON', client => client.send('hello')],
    ['an object', client => client.send('{}')],
    ['four parts', client => client.send('[null,"1","phoenix","heartbeat"]')],
    ['a text as payload', client => client.send('[null,"1","phoenix","heartbeat","x"]')],
    ['no topic', client => client.send('[null,"1","","heartbeat",{}]')],
    ['bytes that are no UTF-8', client => client.ws.send(Buffer.from([0x5b, 0xff, 0xfe, 0x5d]), { binary: false })]
  ]
  it.each(MALFORMED)('%s: that socket is closed with 1007 and counted; others do not notice', async (_, send) => {
    const scene = await startScene()
    const mallory = await openRaw(scene.url, { user: 'mallory' })
    await mallory.request(ROOM, 'phx_join')
    send(mallory)
    expect(await mallory.closed()).toMatchObject({ code: 1007 })
    await until('it is counted', () => scene.gateway.stats()['closed.malformed'] === 1)
    expect(scene.gateway.stats()).toMatchObject({ malformed: 1, sockets: 1 })
    await scene.unharmed()
  })

  it('a join of the topic phoenix is refused: nobody could leave it', async () => {
    const scene = await startScene()
    const mallory = await openRaw(scene.url, { user: 'mallory' })
    expect(await mallory.request('phoenix', 'phx_join')).toEqual({ status: 'error', response: { reason: 'unmatched topic' } })
    expect(scene.tracker.topics().has('phoenix')).toBe(false)
  })

  it.each(['\u0000u', 'x'.repeat(300), '\ud800'])(
    'a topic that can be none is refused to one who only wants to watch, too',
    async topic => {
      const scene = await startScene()
      const mallory = await openRaw(scene.url, { user: 'mallory' })
      for (const watch of ['list', 'counts']) {
        const reply = await mallory.request(topic, 'phx_join', { presence: { present: false, watch } })
        expect(reply).toMatchObject({ status: 'error', response: { code: 'ERR_INVALID_NAME', reason: expect.stringContaining('topic') } })
      }
      expect(scene.gateway.stats()).toMatchObject({ channels: 1, watchers: 1, joinsRefused: 2 })
    }
  )

  it('a meta that is too large, too deep or no meta is refused with the reason, and the old one stands', async () => {
    const scene = await startScene()
    const mallory = await openRaw(scene.url, { user: 'mallory' })
    await mallory.request(ROOM, 'phx_join', { n: 1 })
    const deep = JSON.parse(`${'{"a":'.repeat(20)}1${'}'.repeat(20)}`)
    for (const payload of [{ large: 'x'.repeat(2_000) }, deep, { text: '\ud800' }]) {
      expect(await mallory.request(ROOM, 'update', payload)).toMatchObject({
        status: 'error',
        response: { reason: expect.stringMatching(/meta/) }
      })
    }
    expect(scene.tracker.get(ROOM, 'mallory')).toMatchObject([{ meta: { n: 1 } }])
  })
})

describe('requests of one who means harm', () => {
  /** Writes bytes to the server; resolves with what it answers until its first answer is whole, it closes, or is silent for `silenceMs`. */
  async function talk(
    { origin }: ServedGateway,
    chunks: readonly (string | Buffer)[],
    silenceMs: number,
    isOneAnswer = true
  ): Promise<string> {
    const socket: Socket = connect(Number(new URL(origin).port), '127.0.0.1')
    const answer: Buffer[] = []
    const over = Promise.withResolvers<void>()
    socket.on('data', (chunk: Buffer) => {
      answer.push(chunk)
      if (isOneAnswer && chunk.includes('\r\n\r\n')) {
        over.resolve()
      }
    })
    socket.on('error', () => over.resolve()).on('close', () => over.resolve())
    socket.setTimeout(silenceMs, () => over.resolve())
    for (const chunk of chunks) {
      socket.write(chunk)
    }
    await over.promise
    socket.destroy()
    return Buffer.concat(answer).toString('latin1')
  }
  const UPGRADE = (target: string, headers = ''): string =>
    `GET ${target} HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n${headers}\r\n`

  it(`raw bytes, before and after a handshake: nothing breaks; ${RUNS} runs, seed ${SEED}`, async () => {
    const scene = await startScene()
    const raw = fc.uint8Array({ minLength: 1, maxLength: 300, size: 'max' }).map(each => Buffer.from(each))
    /** A WebSocket frame with any flags, any kind, and a length that may be a lie. */
    const webSocketFrame = fc
      .tuple(fc.nat(255), fc.constantFrom(0, 1, 2, 3, 8, 9, 10, 11), fc.nat(125), fc.boolean(), raw)
      .map(([flags, kind, length, isTrue, body]) => {
        const payload = body.subarray(0, length)
        return Buffer.concat([Buffer.from([(flags & 0xf0) | kind, 0x80 | (isTrue ? payload.length : length), 0, 0, 0, 0]), payload])
      })
    const chunks = fc.array(fc.oneof(raw, webSocketFrame, webSocketFrame), { minLength: 1, maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(fc.boolean(), chunks, async (isUpgraded, each) => {
        await talk(scene, [...(isUpgraded ? [UPGRADE('/socket/websocket?user=mallory&vsn=2.0.0')] : []), ...each], 20, false)
      }),
      { numRuns: RUNS, seed: SEED }
    )
    await scene.unharmed()
    await until('only Alice is left', () => scene.gateway.size === 1)
    expect(scene.gateway.stats()['closed.malformed']).toBeGreaterThan(RUNS / 8)
  })

  it.each([
    ['an odd escape', '/socket/websocket?user=%zz%&vsn=2.0.0'],
    ['a user of broken UTF-8', '/socket/websocket?user=%ff%fe&vsn=2.0.0'],
    ['an absolute target', 'http://evil.example/socket/websocket?user=a&vsn=2.0.0'],
    ['a target that is no URL', 'http://['],
    ['two slashes', '//socket/websocket?user=a'],
    ['a path that goes up', '/x/../socket/websocket?user=a&vsn=2.0.0'],
    ['an asterisk', '*'],
    ['an unknown path', '/socket/__proto__?user=a'],
    ['a thousand params', `/socket/websocket?user=a&${'a=b&'.repeat(1_000)}vsn=2.0.0`],
    ['params that name built-in properties', '/socket/websocket?__proto__=a&constructor=b&user=toString&vsn=2.0.0']
  ])('%s as target of an upgrade is answered: taken or refused', async (_, target) => {
    const scene = await startScene()
    expect(await talk(scene, [UPGRADE(target)], 1_000)).toMatch(/^HTTP\/1.1 (101|400|403|404) /)
    expect(await talk(scene, [`GET ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`], 1_000)).toMatch(/^HTTP\/1.1 (400|404) /)
    await scene.unharmed()
  })

  it.each([
    ['no key', UPGRADE('/socket/websocket?user=a').replace(/sec-websocket-key.*\r\n/, '')],
    ['a key that is none', UPGRADE('/socket/websocket?user=a').replace(/sec-websocket-key: .*\r\n/, 'sec-websocket-key: x\r\n')],
    ['another version of WebSocket', UPGRADE('/socket/websocket?user=a').replace('version: 13', 'version: 7')],
    ['another protocol', UPGRADE('/socket/websocket?user=a').replace('upgrade: websocket', 'upgrade: h2c')],
    ['another method', UPGRADE('/socket/websocket?user=a').replace('GET', 'POST')],
    ['a subprotocol that is none', UPGRADE('/socket/websocket?user=a', 'sec-websocket-protocol: ,,\r\n')],
    ['a token that is no base64', UPGRADE('/socket/websocket?user=a', 'sec-websocket-protocol: phoenix, base64url.bearer.phx.$$$\r\n')],
    ['headers that are too large', UPGRADE('/socket/websocket?user=a', `x: ${'x'.repeat(20_000)}\r\n`)],
    ['two hosts', UPGRADE('/socket/websocket?user=a', 'host: y\r\n')]
  ])('a handshake with %s is answered, and leaves nobody in', async (_, request) => {
    const scene = await startScene()
    expect(await talk(scene, [request], 1_000)).toMatch(/^HTTP\/1.1 \d\d\d /)
    await until('nobody is left of it', () => scene.gateway.size === 1 && scene.tracker.stats().connections === 1)
    await scene.unharmed()
  })

  it('requests that stop half-way, and handshakes that are followed by nothing, cost others nothing', async () => {
    const scene = await startScene()
    const whole = UPGRADE('/socket/websocket?user=mallory&vsn=2.0.0')
    await Promise.all(Array.from({ length: 40 }, (_, i) => talk(scene, [whole.slice(0, Math.ceil((whole.length * (i + 1)) / 40))], 30)))
    await scene.unharmed()
    await until('all are gone', () => scene.gateway.size === 1)
  })

  it('those who hang up while authenticate thinks, in whatever way, leave nobody in, and take no place', async () => {
    const gates: (() => void)[] = []
    const authenticate: Authenticate = ({ params }) =>
      params.user === 'slow' ? new Promise(resolve => gates.push(() => resolve({ user: 'slow' }))) : { user: params.user ?? '' }
    const scene = await startScene({ gateway: { authenticate, limits: { sockets: 30 } } })
    const port = Number(new URL(scene.origin).port)
    const sockets = Array.from({ length: 20 }, (_, i) => {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => undefined)
      const poll = 'GET /socket/longpoll?user=slow&vsn=2.0.0 HTTP/1.1\r\nhost: x\r\n\r\n'
      socket.write(i % 2 === 0 ? UPGRADE('/socket/websocket?user=slow&vsn=2.0.0') : poll)
      return socket
    })
    await until('all are thought about', () => gates.length === 20)
    for (const [i, socket] of sockets.entries()) {
      if (i % 4 < 2) {
        socket.resetAndDestroy()
      } else {
        socket.end()
      }
    }
    await new Promise(resolve => setTimeout(resolve, 50))
    for (const open of gates) {
      open()
    }
    await scene.unharmed()
    await until('only Alice is left', () => scene.gateway.size === 1 && scene.tracker.stats().connections === 1)
    const more = await Promise.all(Array.from({ length: 29 }, (_, i) => openRaw(scene.url, { user: `user${i}` })))
    expect(more).toHaveLength(29)
  })

  it(`long polls of any kind: nothing breaks, and another’s session cannot be guessed; ${RUNS} runs, seed ${SEED}`, async () => {
    const scene = await startScene()
    const opened = await (await fetch(`${scene.origin}/socket/longpoll?user=mallory&vsn=2.0.0`)).json()
    const body = fc.oneof(
      fc
        .array(sent, { maxLength: 5, size: 'max' })
        .map(lines => lines.map(line => (typeof line === 'string' ? line : line.toString('base64'))).join('\n')),
      fc.string({ unit: 'binary', maxLength: 500, size: 'max' }),
      fc.constantFrom('', '\n', '\n\n\n', '[', 'AAAA', '[]\n'.repeat(200), 'x'.repeat(100_000))
    )
    const request = fc.record({
      method: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'HEAD', 'PATCH'),
      token: fc.oneof(
        { weight: 3, arbitrary: fc.constant(opened.token as string) },
        { weight: 2, arbitrary: fc.constantFrom('', 'null', 'poll.', 'poll.x', '__proto__', 'poll.__proto__', `${opened.token}x`) },
        { weight: 1, arbitrary: fc.string() }
      ),
      query: fc.constantFrom('&user=mallory', '&user=', '', '&user=alice&session=wrong', '&vsn=9', '&token=poll.a&token=poll.b', '&%'),
      headers: fc.constantFrom<Record<string, string>>(
        {},
        { origin: 'https://evil.example' },
        { 'content-type': 'x' },
        { 'x-phoenix-authtoken': 'x' }
      ),
      body
    })
    await fc.assert(
      fc.asyncProperty(request, async each => {
        const hasBody = !['GET', 'HEAD'].includes(each.method)
        const url = `${scene.origin}/socket/longpoll?token=${encodeURIComponent(each.token.toWellFormed())}${each.query}`
        const answer = await fetch(url, {
          method: each.method,
          headers: each.headers,
          signal: AbortSignal.timeout(100),
          ...(hasBody && { body: each.body })
        }).catch((error: Error) => error.name)
        if (typeof answer !== 'string') {
          expect([200, 204]).toContain(answer.status)
          await answer.arrayBuffer().catch(() => undefined)
        } else {
          expect(answer).toBe('TimeoutError')
        }
      }),
      { numRuns: 3 * RUNS, seed: SEED }
    )
    const touched = scene.tracker.get(ROOM, 'alice').filter(({ user }) => user === 'alice')
    expect(touched).toMatchObject([{ meta: { name: 'Alice' } }])
    expect(await scene.alice.request('phoenix', 'heartbeat')).toEqual({ status: 'ok', response: {} })
  })
})

describe('pub-F3: names that others trip over, through the npm client', () => {
  it('as users, topics, keys, and in metas: ordinary names, on both sides', async () => {
    const authorize: Authorize = ({ payload, action }) => (action === 'watch' ? true : (payload.meta as never))
    const scene = await startGateway({ gateway: { authorize } })
    const watcher = openClient(scene.url, { user: 'watcher' })
    for (const topic of NAUGHTY_NAMES) {
      const watched = await joinTopic(watcher, topic, { presence: { present: false } })
      const clients = await Promise.all(
        NAUGHTY_NAMES.map(async user => {
          const client = openClient(scene.url, { user })
          const meta = JSON.parse(`{${JSON.stringify(user)}: {"polluted": true}}`)
          return { client, user, room: await joinTopic(client, topic, () => ({ meta })) }
        })
      )
      await until('all are listed', () => watched.presence.list(key => key).length === NAUGHTY_NAMES.length)
      const listed = watched.presence.list((key, { metas }) => [key, metas]) as [string, Record<string, unknown>[]][]
      expect(listed.map(([key]) => key).sort()).toEqual([...NAUGHTY_NAMES].sort())
      for (const [key, [meta]] of listed) {
        expect(Object.getOwnPropertyNames(meta).sort()).toEqual([key, 'phx_ref'].sort())
      }
      await Promise.all(clients.map(({ room, client }) => room.leave().then(() => client.close())))
      await until('nobody is listed', () => watched.presence.list(key => key).length === 0)
      await watched.leave()
    }
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
    await until('all have gone', () => scene.tracker.topics().size === 0)
  })

  it.each(['', 'x'.repeat(10_000)])('as a user, one that can be none is refused', async user => {
    const scene = await startScene()
    await expect(openRaw(scene.url, { params: { user } })).rejects.toBeInstanceOf(Error)
    await scene.unharmed()
  })

  it('as a topic, one that can be none is refused with a reason, and the client lives on', async () => {
    const scene = await startScene()
    const ann = await openRaw(scene.url, { user: 'ann' })
    for (const topic of ['\ud800', 'x'.repeat(1_000)]) {
      expect(await ann.request(topic, 'phx_join')).toMatchObject({ status: 'error', response: { code: 'ERR_INVALID_NAME' } })
    }
    const frame: RawFrame = [null, '9', 'x'.repeat(1_025), 'phx_join', {}]
    ann.send(frame)
    expect(await ann.closed()).toMatchObject({ code: 1007 })
    await scene.unharmed()
  })
})
