import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalize, type InvalidMetaError, MAX_META_DEPTH } from '../../src/crdt/index.ts'

function nested(levels: number): unknown {
  return levels === 0 ? 1 : { a: nested(levels - 1) }
}

function refusal(value: unknown): InvalidMetaError {
  try {
    canonicalize(value)
  } catch (error) {
    return error as InvalidMetaError
  }
  throw new Error('accepted')
}

describe('canonical text', () => {
  it.each([
    ['an empty object', {}, '{}'],
    ['keys in any order', { b: 1, a: 2, B: 3, '': 4 }, '{"":4,"B":3,"a":2,"b":1}'],
    ['keys sorted by code unit, digits too', { 10: 1, 9: 2 }, '{"10":1,"9":2}'],
    ['nested values', { a: [1, { c: null, b: true }, 'x'] }, '{"a":[1,{"b":true,"c":null},"x"]}'],
    ['minus zero', { a: -0 }, '{"a":0}'],
    ['undefined properties', { a: undefined, b: 1 }, '{"b":1}'],
    ['numbers', [0.1, 1e21, -5, 2 ** 53], '[0.1,1e+21,-5,9007199254740992]'],
    ['text with quotes, controls and other planes', '"\n\u0000é😀', '"\\"\\n\\u0000é😀"'],
    ['an object without a prototype', Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
    [
      'the name __proto__',
      JSON.parse('{"__proto__":{"polluted":1},"constructor":2,"toString":3}'),
      '{"__proto__":{"polluted":1},"constructor":2,"toString":3}'
    ]
  ])('%s', (_, value, text) => {
    expect(canonicalize(value)).toBe(text)
    expect(({} as { polluted?: number }).polluted).toBeUndefined()
  })

  class Person {
    name = 'Ann'
  }
  const cycle: Record<string, unknown> = { a: {} }
  cycle.a = { back: cycle }

  it.each([
    ['NaN', { a: Number.NaN }, 'meta.a'],
    ['Infinity', { a: [Number.POSITIVE_INFINITY] }, 'meta.a[0]'],
    ['a function', { a: () => 1 }, 'meta.a'],
    ['a toJSON method', { toJSON: () => 1 }, 'meta.toJSON'],
    ['a symbol', { a: Symbol('x') }, 'meta.a'],
    ['a symbol as key', { [Symbol('x')]: 1 }, 'meta'],
    ['a bigint', { a: 1n }, 'meta.a'],
    ['undefined in an array', { a: [1, undefined] }, 'meta.a[1]'],
    ['a hole in an array', { a: new Array(1) }, 'meta.a[0]'],
    ['undefined by itself', undefined, 'meta'],
    ['a Date', { at: new Date(0) }, 'meta.at'],
    ['a Map', new Map(), 'meta'],
    ['a typed array', { a: new Uint8Array(1) }, 'meta.a'],
    ['the instance of a class', new Person(), 'meta'],
    ['an object that inherits', Object.create({ a: 1 }), 'meta'],
    ['a boxed number', Object(1), 'meta'],
    ['a cycle', cycle, 'meta.a.back'],
    ['a lone surrogate', { a: '\ud800' }, 'meta.a'],
    ['a lone surrogate in a key', { '\udc00': 1 }, 'meta']
  ])('refused: %s', (_, value, path) => {
    const error = refusal(value)
    expect([error.name, error.code, error.path]).toEqual(['InvalidMetaError', 'ERR_INVALID_META', path])
    expect(error.message).toContain('allowed is')
  })

  it('eight levels: accepted; nine: refused', () => {
    expect(canonicalize(nested(MAX_META_DEPTH))).toContain('1')
    expect(refusal(nested(MAX_META_DEPTH + 1)).message).toContain('8 levels')
  })

  it('one object in two places: no cycle', () => {
    const shared = { x: 1 }
    expect(canonicalize({ a: shared, b: [shared, shared] })).toBe('{"a":{"x":1},"b":[{"x":1},{"x":1}]}')
  })

  it('any JSON value: parses back to itself, and its text does not depend on the order of keys', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), value => {
        const text = canonicalize(value)
        expect(canonicalize(JSON.parse(text))).toBe(text)
        expect(canonicalize(reversed(value))).toBe(text)
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)))
      })
    )
  })
})

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(reversed)
  }
  if (typeof value !== 'object' || value === null) {
    return value
  }
  const result = Object.create(null) as Record<string, unknown>
  for (const [key, item] of Object.entries(value).reverse()) {
    result[key] = reversed(item)
  }
  return result
}
