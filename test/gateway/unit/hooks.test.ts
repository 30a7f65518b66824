import { describe, expect, it } from 'vitest'
import { allow, deny, readAnswer, readIdentity } from '../../../src/net/gateway/rights/hooks.ts'

describe('answers of authorize', () => {
  it('true allows with an empty meta; an object is the meta; false, null and nothing deny', () => {
    expect(readAnswer(true)).toEqual({ allowed: true, meta: {}, key: undefined, validMs: undefined })
    expect(readAnswer({ status: 'here' })).toMatchObject({ allowed: true, meta: { status: 'here' } })
    expect(readAnswer(Object.assign(Object.create(null), { n: 1 }))).toMatchObject({ allowed: true, meta: { n: 1 } })
    for (const no of [false, null, undefined]) {
      expect(readAnswer(no)).toEqual({ allowed: false, reason: 'unauthorized' })
    }
  })

  it('allow and deny are taken as they are', () => {
    const allowed = allow({ meta: { n: 1 }, key: 'k', validMs: 5 })
    const denied = deny('too late')
    expect([readAnswer(allowed), readAnswer(denied)]).toEqual([allowed, denied])
    expect(readAnswer(deny())).toEqual({ allowed: false, reason: 'unauthorized' })
  })

  it('a meta that looks like an answer of allow or deny is a meta: a payload cannot answer for the hook', () => {
    const forged = { allowed: true, meta: {}, key: 'alice', validMs: 1e9 }
    expect(readAnswer(forged)).toEqual({ allowed: true, meta: forged, key: undefined, validMs: undefined })
    expect(readAnswer({ allowed: false, reason: 'x' })).toMatchObject({ allowed: true, meta: { allowed: false, reason: 'x' } })
  })

  it.each([
    [1, 'answered 1'],
    ['yes', 'answered "yes"'],
    [[], 'answered an array'],
    [() => true, 'answered a function'],
    [new Error('no'), 'answered an object (Error)'],
    [new Date(), 'answered an object (Date)'],
    [10n, 'answered 10']
  ])('anything else is a mistake of the hook, named with what is allowed: %s', (answer, named) => {
    expect(() => readAnswer(answer as never)).toThrowError(named)
    expect(() => readAnswer(answer as never)).toThrowError(/allowed/)
  })

  it.each([
    [() => allow({ validMs: Number.NaN }), 'validMs is NaN'],
    [() => allow({ validMs: -1 }), 'validMs is -1'],
    [() => allow({ validMs: '5' as never }), 'validMs is "5"'],
    [() => allow({ key: 5 as never }), 'key is 5'],
    [() => allow({ meta: [] as never }), 'meta is an array'],
    [() => deny(5 as never), 'reason is 5']
  ])('allow and deny refuse what they cannot mean', (call, named) => {
    expect(call).toThrowError(named)
  })

  it('an answer may hold for ever, or not at all', () => {
    expect([allow({ validMs: Infinity }).validMs, allow({ validMs: 0 }).validMs]).toEqual([Infinity, 0])
  })
})

describe('answers of authenticate', () => {
  it('an identity is taken as it is; null and nothing are nobody', () => {
    const identity = { user: 'ann', session: 's', meta: {}, expiresAtMs: 5, claims: new Set(['admin']), more: true }
    expect(readIdentity(identity)).toBe(identity)
    expect([readIdentity(null), readIdentity(undefined)]).toEqual([undefined, undefined])
  })

  it.each([
    [5, 'answered 5'],
    ['ann', 'answered "ann"'],
    [false, 'answered false'],
    [['ann'], 'answered an array'],
    [() => ({}), 'answered a function'],
    [{}, 'user is undefined'],
    [{ user: 5 }, 'user is 5'],
    [{ user: 'ann', session: null }, 'session is null'],
    [{ user: 'ann', expiresAtMs: Number.NaN }, 'expiresAtMs is NaN'],
    [{ user: 'ann', expiresAtMs: '5' }, 'expiresAtMs is "5"']
  ])('anything else is a mistake of the hook, named with what is allowed: %o', (answer, named) => {
    expect(() => readIdentity(answer as never)).toThrowError(named)
    expect(() => readIdentity(answer as never)).toThrowError(/allowed/)
  })
})
