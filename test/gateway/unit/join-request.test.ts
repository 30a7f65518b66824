import { describe, expect, it } from 'vitest'
import { objectIn, readJoin, textIn } from '../../../src/net/gateway/protocol/join-request.ts'

const DEFAULT = {
  watch: 'list',
  present: true,
  insists: { watch: false, present: false },
  wantedKey: undefined,
  isSupabase: false,
  accessToken: undefined
}

describe('what a join asks for', () => {
  it('by default both, and neither by name', () => {
    expect(readJoin('room:1', {})).toEqual(DEFAULT)
    expect(readJoin('room:1', { status: 'here', config: { presence: { key: 'k' } } })).toEqual(DEFAULT)
  })

  it('what is said is asked for by name, save what is not wanted', () => {
    expect(readJoin('room:1', { presence: { watch: 'counts', present: true, key: 'k' }, access_token: 't' })).toEqual({
      watch: 'counts',
      present: true,
      insists: { watch: true, present: true },
      wantedKey: 'k',
      isSupabase: false,
      accessToken: 't'
    })
    expect(readJoin('room:1', { presence: { watch: 'none', present: false } })).toEqual({ ...DEFAULT, watch: 'none', present: false })
  })

  it.each([
    ['presence is a text', { presence: 'list' }],
    ['presence is an array', { presence: ['list'] }],
    ['presence is null', { presence: null }],
    ['presence is a number', { presence: 7 }],
    ['watch is unknown', { presence: { watch: 'everything' } }],
    ['watch is an array', { presence: { watch: ['list'] } }],
    ['watch names a built-in property', { presence: { watch: '__proto__' } }],
    ['present is a text', { presence: { present: 'false' } }],
    ['present is a number', { presence: { present: 0 } }],
    ['the key is a number', { presence: { key: 5 } }],
    ['the key is empty', { presence: { key: '' } }],
    ['the token is an object', { access_token: { t: 1 } }],
    ['the token is empty', { access_token: '' }],
    ['presence is inherited', JSON.parse('{"__proto__":{"presence":{"watch":"none"},"access_token":"t"}}')],
    ['watch is inherited', JSON.parse('{"presence":{"__proto__":{"watch":"none"}}}')]
  ])('%s: as if it were not said', (_, payload) => {
    expect(readJoin('room:1', payload)).toEqual(DEFAULT)
  })

  const SUPABASE = {
    watch: 'none',
    present: false,
    insists: { watch: true, present: false },
    wantedKey: undefined,
    isSupabase: true,
    accessToken: undefined
  }

  it('a join of a Supabase client is told by its topic and its config', () => {
    expect(readJoin('realtime:room', { config: { presence: { key: 'k', enabled: true } }, access_token: 't' })).toEqual({
      ...SUPABASE,
      watch: 'list',
      wantedKey: 'k',
      accessToken: 't'
    })
    expect(readJoin('realtime:room', { config: { presence: { key: '', enabled: false } } })).toEqual(SUPABASE)
    expect(readJoin('realtime:room', {})).toEqual(DEFAULT)
    expect(readJoin('room:1', { config: {} })).toEqual(DEFAULT)
  })

  it.each([
    ['an empty config', {}],
    ['a presence that is null', { presence: null }],
    ['a presence that is an array', { presence: [] }],
    ['a presence that is a text', { presence: 'x' }],
    ['enabled as a text', { presence: { enabled: 'true' } }],
    ['a key that is an object', { presence: { key: {} } }]
  ])('of Supabase, %s: nothing is asked for', (_, config) => {
    expect(readJoin('realtime:room', { config })).toEqual(SUPABASE)
  })

  it('only own properties of the right type are read', () => {
    expect([textIn({}, 'toString'), textIn({ a: 1 }, 'a'), textIn({ a: 'b' }, 'a')]).toEqual([undefined, undefined, 'b'])
    expect([objectIn({}, '__proto__'), objectIn({ a: [] }, 'a'), objectIn({ a: {} }, 'a')]).toEqual([undefined, undefined, {}])
  })
})
