import { describe, expect, it, vi } from 'vitest'
import type { GatewayOptions } from '../../../src/net/gateway/options.ts'
import { type Authorize, allow, deny, type GatewayQuestion } from '../../../src/net/gateway/rights/hooks.ts'
import { Permissions } from '../../../src/net/gateway/rights/permissions.ts'
import { Tally } from '../../../src/net/gateway/tally.ts'
import { resolved } from './fakes.ts'

const question = (more: Partial<GatewayQuestion> = {}): GatewayQuestion => ({
  user: 'ann',
  topic: 'room:1',
  action: 'present',
  payload: {},
  wantedKey: undefined,
  identity: { user: 'ann' },
  address: '127.0.0.1',
  ...more
})

function start(authorize: Authorize, options: Partial<GatewayOptions> = {}) {
  const asked: GatewayQuestion[] = []
  const failures: unknown[] = []
  const tally = new Tally()
  const spy: Authorize = each => {
    asked.push(each)
    return authorize(each)
  }
  const permissions = new Permissions(resolved({ authorize: spy, ...options }), tally, error => failures.push(error))
  return { permissions, asked, failures, tally }
}

describe('permissions', () => {
  it('the same question is asked once for as long as its answer holds', async () => {
    const { permissions, asked, tally } = start(() => allow({ validMs: 1_000 }))
    const now = vi.spyOn(performance, 'now').mockReturnValue(0)
    const first = await permissions.ask(question(), 'token')
    now.mockReturnValue(999)
    expect(await permissions.ask(question(), 'token')).toBe(first)
    expect([asked.length, tally.authorizeAsked, tally.authorizeCached]).toEqual([1, 1, 1])
    now.mockReturnValue(1_000)
    expect((await permissions.ask(question(), 'token')).untilMs).toBe(2_000)
    expect(asked).toHaveLength(2)
    now.mockRestore()
  })

  it('without validMs, and for a denial, authorizeCacheMs counts', async () => {
    const now = vi.spyOn(performance, 'now').mockReturnValue(10)
    const { permissions } = start(({ topic }) => topic === 'yes', { authorizeCacheMs: 500 })
    expect(await permissions.ask(question({ topic: 'yes' }), 't')).toMatchObject({ answer: { allowed: true }, untilMs: 510 })
    expect(await permissions.ask(question({ topic: 'no' }), 't')).toMatchObject({ answer: { allowed: false }, untilMs: 510 })
    now.mockRestore()
  })

  it('a denial is remembered for five seconds at most: who was just invited does not wait for long', async () => {
    const now = vi.spyOn(performance, 'now').mockReturnValue(10)
    const { permissions } = start(() => false, { authorizeCacheMs: 60_000 })
    expect(await permissions.ask(question(), 't')).toMatchObject({ answer: { allowed: false }, untilMs: 5_010 })
    now.mockRestore()
  })

  it('the same question while the hook thinks waits for the same answer', async () => {
    const answer = Promise.withResolvers<boolean>()
    const { permissions, asked } = start(() => answer.promise)
    const grants = Array.from({ length: 50 }, () => permissions.ask(question(), 'token'))
    answer.resolve(true)
    expect(new Set(await Promise.all(grants)).size).toBe(1)
    expect(asked).toHaveLength(1)
  })

  it.each([
    ['another token', question(), 'other'],
    ['another user', question({ user: 'bob' }), 'token'],
    ['another topic', question({ topic: 'room:2' }), 'token'],
    ['another action', question({ action: 'watch' }), 'token'],
    ['another payload', question({ payload: { n: 1 } }), 'token'],
    ['another wanted key', question({ wantedKey: 'k' }), 'token'],
    ['another address', question({ address: '10.0.0.1' }), 'token']
  ])('%s is another question', async (_, other, proof) => {
    const { permissions, asked } = start(() => true)
    await permissions.ask(question(), 'token')
    await permissions.ask(other, proof)
    expect(asked).toHaveLength(2)
  })

  it('names cannot be cut so that two questions look the same', async () => {
    const { permissions, asked } = start(() => true)
    await permissions.ask(question({ user: 'a","b', topic: 'c' }), 't')
    await permissions.ask(question({ user: 'a', topic: 'b","c' }), 't')
    await permissions.ask(question({ user: 'a', topic: 'c' }), 'b')
    expect(asked).toHaveLength(3)
  })

  const FAILING: readonly (readonly [string, Authorize])[] = [
    [
      'throws',
      () => {
        throw new Error('down')
      }
    ],
    ['rejects', () => Promise.reject(new Error('down'))],
    ['rejects with no error', () => Promise.reject('down')],
    ['hangs', () => new Promise(() => {})],
    ['answers a number', () => 1 as never],
    ['answers a text', () => 'yes' as never],
    ['answers an array', () => [] as never],
    ['answers an error', () => new Error('denied') as never],
    ['answers a function', () => (() => true) as never],
    ['answers a promise of nonsense', () => Promise.resolve(Symbol('yes')) as never],
    ['answers a map', () => new Map() as never],
    ['allows for a time that is none', () => allow({ validMs: Number.NaN })],
    ['allows for a time before now', () => allow({ validMs: -1 })],
    ['allows with a key that is no text', () => allow({ key: 5 as never })],
    ['allows with a meta that is no object', () => allow({ meta: 'here' as never })],
    ['denies for a reason that is no text', () => deny({} as never)]
  ]
  it.each(FAILING)('a hook that %s denies, is counted and told of, and is asked again the next time', async (_, authorize) => {
    const { permissions, asked, failures, tally } = start(authorize, { hookTimeoutMs: 20 })
    const { answer } = await permissions.ask(question(), 'token')
    expect(answer).toEqual({ allowed: false, reason: 'unavailable' })
    expect([failures.length, tally.hookFailures]).toEqual([1, 1])
    await permissions.ask(question(), 'token')
    expect(asked).toHaveLength(2)
  })

  it('what is remembered is bounded: in number, and in size', async () => {
    const { permissions } = start(() => true)
    for (let i = 0; i < 12_000; i++) {
      await permissions.ask(question({ topic: `room:${i}` }), 'token')
    }
    expect(permissions.size).toBe(10_000)
    const large = 'x'.repeat(32_000)
    for (let i = 0; i < 1_000; i++) {
      await permissions.ask(question({ payload: { i, large } }), 'token')
    }
    expect(permissions.size * large.length).toBeLessThan(16_000_000)
  })
})
