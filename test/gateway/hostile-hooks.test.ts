import { describe, expect, it } from 'vitest'
import type { Authenticate, Authorize } from '../../src/net/gateway/rights/hooks.ts'
import { closeAll } from '../support/gateway/close-all.ts'
import { HandshakeError, openRaw } from '../support/gateway/raw-client.ts'
import { startGateway } from '../support/gateway/serve-gateway.ts'
import { expectNothingUnhandled, ROOM, startScene } from './unit/scene.ts'

expectNothingUnhandled()

const throwing = (message: string) => (): never => {
  throw new Error(message)
}

describe('hooks that do not do what they should', () => {
  const odd = (identity: unknown): Authenticate =>
    (({ params }) => (params.user === 'alice' || params.user === 'bob' ? { user: params.user } : identity)) as Authenticate
  const later = (answer: unknown): Promise<unknown> => new Promise(resolve => setTimeout(() => resolve(answer), 1))

  const IDENTITIES: readonly (readonly [string, unknown])[] = [
    ['a number', 5],
    ['true', true],
    ['a text', 'mallory'],
    ['an array', ['mallory']],
    ['a function', () => ({ user: 'mallory' })],
    ['a symbol', Symbol('mallory')],
    ['a promise of a number', Promise.resolve(5)],
    ['an identity of nobody', {}],
    ['an identity whose user is undefined', { user: undefined }],
    ['an identity whose user is empty', { user: '' }],
    ['an identity whose user has 10,000 characters', { user: 'x'.repeat(10_000) }],
    ['an identity whose user is a lone surrogate', { user: '\ud800' }],
    ['an identity whose user is a number', { user: 5 }],
    ['an identity whose user is an object', { user: { name: 'mallory' } }],
    ['an identity whose session is a number', { user: 'mallory', session: 5 }],
    ['an identity whose session is a bigint', { user: 'mallory', session: 5n }],
    ['an identity whose session is null', { user: 'mallory', session: null }],
    ['an identity whose session has 10,000 characters', { user: 'mallory', session: 'x'.repeat(10_000) }],
    ['an identity whose meta is a function', { user: 'mallory', meta: () => ({}) }],
    ['an identity whose meta is a text', { user: 'mallory', meta: 'here' }],
    ['an identity whose meta is too large', { user: 'mallory', meta: { x: 'x'.repeat(10_000) } }],
    ['an identity that ends at no time', { user: 'mallory', expiresAtMs: Number.NaN }],
    ['an identity that ends at a text', { user: 'mallory', expiresAtMs: 'soon' }],
    ['an identity that throws when it is looked at', Object.defineProperty({}, 'user', { get: throwing('looked at') })]
  ]
  it.each(IDENTITIES)('authenticate answers %s: nobody comes in, by WebSocket or by long poll, now or later', async (_, identity) => {
    for (const answer of [identity, () => later(identity)]) {
      const authenticate: Authenticate = request => {
        const given = odd(typeof answer === 'function' && answer !== identity ? (answer as () => unknown)() : answer)
        return given(request)
      }
      const scene = await startScene({ gateway: { authenticate } })
      const error = await openRaw(scene.url, { user: 'mallory' }).catch((each: unknown) => each)
      expect(error).toBeInstanceOf(HandshakeError)
      expect((error as HandshakeError).status).toBeGreaterThanOrEqual(400)
      const poll = await (await fetch(`${scene.origin}/socket/longpoll?user=mallory&vsn=2.0.0`)).json()
      expect([403, 500]).toContain(poll.status)
      await scene.unharmed()
      expect(scene.tracker.stats().connections).toBeLessThanOrEqual(2)
      await closeAll()
    }
  })

  it.each<readonly [string, () => unknown]>([
    ['throws', throwing('down')],
    [
      'throws no error',
      () => {
        throw 'down'
      }
    ],
    ['rejects', () => Promise.reject(new Error('down'))],
    ['rejects with nothing', () => Promise.reject()],
    ['hangs', () => new Promise(() => {})],
    ['answers with a thenable that throws', () => Object.defineProperty({}, 'then', { value: throwing('then') })]
  ])('authenticate %s: 503, and counted', async (_, answer) => {
    const authenticate = (({ params }) => (params.user === 'mallory' ? answer() : { user: params.user })) as Authenticate
    const scene = await startScene({ gateway: { authenticate, hookTimeoutMs: 50 } })
    await expect(openRaw(scene.url, { user: 'mallory' })).rejects.toMatchObject({ status: 503 })
    expect(scene.gateway.stats()).toMatchObject({ hookFailures: 1, 'refused.hook': 1 })
    await scene.unharmed()
  })

  it.each<readonly [string, () => unknown]>([
    ['throws', throwing('no header')],
    ['answers undefined', () => undefined],
    ['answers an array', () => ['10.0.0.1']]
  ])('addressOf %s: 503, and counted; nobody is let in uncounted', async (_, answer) => {
    const addressOf = ((request: { url?: string }) => (request.url?.includes('mallory') ? answer() : '127.0.0.1')) as () => string
    const scene = await startScene({ gateway: { addressOf } })
    for (let i = 0; i < 3; i++) {
      await expect(openRaw(scene.url, { user: 'mallory' })).rejects.toMatchObject({ status: 503 })
    }
    const poll = await (await fetch(`${scene.origin}/socket/longpoll?user=mallory&vsn=2.0.0`)).json()
    expect(poll.status).toBe(500)
    expect(scene.gateway.stats()).toMatchObject({ hookFailures: 4, 'refused.hook': 4 })
    await scene.unharmed()
  })

  it.each<readonly [string, () => unknown]>([
    ['throws', throwing('down')],
    [
      'throws a text',
      () => {
        throw 'down'
      }
    ],
    ['rejects with nothing', () => Promise.reject()],
    ['hangs', () => new Promise(() => {})],
    ['answers a number', () => 5],
    ['answers an identity without a user', () => ({})],
    ['answers one whose session is a bigint', () => ({ user: 'someone', session: 5n })],
    ['answers nobody', () => null]
  ])('authenticate %s when it is asked for a newer token: an error, never ok; the client stays who it is', async (_, answer) => {
    const authenticate = (({ params, token }) => (token === 'odd' ? answer() : { user: params.user })) as Authenticate
    const scene = await startScene({ gateway: { authenticate, hookTimeoutMs: 50 } })
    const mallory = await openRaw(scene.url, { user: 'mallory' })
    expect(await mallory.request('room:2', 'phx_join', { access_token: 'odd' })).toMatchObject({ status: 'error' })
    expect(await mallory.request('room:2', 'phx_join')).toMatchObject({ status: 'ok' })
    expect(await mallory.request('room:2', 'access_token', { access_token: 'odd' })).toMatchObject({ status: 'error' })
    expect(scene.tracker.get('room:2', 'mallory')).toHaveLength(1)
    await scene.unharmed()
  })

  const ANSWERS: readonly (readonly [string, Authorize])[] = [
    ['throws', throwing('down')],
    [
      'throws a text',
      () => {
        throw 'down'
      }
    ],
    ['rejects with nothing', () => Promise.reject()],
    ['hangs', () => new Promise(() => {})],
    ['answers a number', () => 1 as never],
    ['answers an array', () => [true] as never],
    ['answers a function', () => (() => true) as never],
    ['answers a promise of a symbol', () => Promise.resolve(Symbol('yes')) as never],
    [
      'answers a meta that is looked at in vain',
      () => Object.defineProperty({}, 'x', { enumerable: true, get: throwing('looked at') }) as never
    ],
    [
      'answers a meta that holds itself',
      () => {
        const meta: Record<string, unknown> = {}
        meta.self = meta
        return meta as never
      }
    ],
    ['answers a meta of a function', () => ({ f: () => 1 }) as never]
  ]
  it.each(ANSWERS)('authorize %s: the join is refused, and nobody is shown', async (_, answer) => {
    const authorize: Authorize = question =>
      question.user === 'mallory' ? answer(question) : question.action === 'watch' ? true : { name: 'Alice' }
    const scene = await startScene({ gateway: { authorize, hookTimeoutMs: 50 } })
    const mallory = await openRaw(scene.url, { user: 'mallory' })
    expect(await mallory.request(ROOM, 'phx_join', { presence: { watch: 'list', present: true } })).toMatchObject({ status: 'error' })
    expect(scene.tracker.get(ROOM, 'mallory')).toEqual([])
    expect(scene.gateway.stats()).toMatchObject({ channels: 1, watchers: 1 })
    await scene.unharmed()
  })

  interface How {
    readonly path?: string
    readonly params?: Record<string, string>
    readonly headers?: Record<string, string>
  }
  it.each<readonly [string, How]>([
    ['path', { path: '/admin' }],
    ['params', { params: { role: 'admin' } }],
    ['cookie', { headers: { cookie: 'role=admin' } }]
  ])('what is granted to one socket of a token is not granted to another that came with another %s', async (_, admin) => {
    const authenticate: Authenticate = ({ path, params, headers }) => ({
      user: 'ann',
      claims: path === '/admin' || params.role === 'admin' || headers.cookie === 'role=admin'
    })
    const authorize: Authorize = ({ identity }) => identity.claims === true
    const { origin } = await startGateway({ gateway: { path: ['/socket', '/admin'], authenticate, authorize } })
    const open = ({ path = '/socket', params, headers = {} }: How) =>
      openRaw(`${origin.replace('http', 'ws')}${path}`, { headers, params: { token: 'same', ...params } })
    const granted = await open(admin)
    const other = await open({})
    expect(await granted.request(ROOM, 'phx_join')).toMatchObject({ status: 'ok' })
    expect(await other.request(ROOM, 'phx_join')).toEqual({ status: 'error', response: { reason: 'unauthorized' } })
  })

  it('a hook that changes what it is asked with changes nothing of the next question', async () => {
    const asked: unknown[] = []
    const authorize: Authorize = ({ payload, action }) => {
      asked.push([action, structuredClone(payload)])
      try {
        for (const name of Object.keys(payload)) {
          delete (payload as Record<string, unknown>)[name]
        }
      } catch {
        // It may be frozen.
      }
      return true
    }
    const scene = await startGateway({ gateway: { authorize } })
    const ann = await openRaw(scene.url, { user: 'ann' })
    await ann.request(ROOM, 'phx_join', { status: 'here' })
    expect(asked).toEqual([
      ['watch', { status: 'here' }],
      ['present', { status: 'here' }]
    ])
  })
})
