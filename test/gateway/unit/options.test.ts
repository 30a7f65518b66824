import { describe, expect, it } from 'vitest'
import { GATEWAY_DEFAULTS, type GatewayOptions, resolveGatewayOptions } from '../../../src/net/gateway/options.ts'

const authenticate = (): null => null
const resolve = (options: object): unknown => resolveGatewayOptions({ authenticate, ...options } as GatewayOptions)

const NOT_FLAGS = ['true', 0, 1, {}]
const NOT_NUMBERS = ['50', Number.NaN, Infinity, 1.5, 2 ** 40, true, {}, 5n]
const NOT_HOOKS = ['hook', 1, {}, true]

/** Values that are refused, by option. */
const REFUSED: Readonly<Record<string, readonly unknown[]>> = {
  authenticate: NOT_HOOKS,
  authorize: NOT_HOOKS,
  addressOf: NOT_HOOKS,
  path: ['', 'socket', '/', '/socket/', '/so cket', '//socket', '/socket?x', 5, [], ['/socket', 'x'], [5], {}, true],
  origins: ['https://app.example', 5, {}, ['app.example'], ['https://app.example/'], ['https://app.example/path'], ['*'], [5], ['null']],
  longPoll: NOT_FLAGS,
  page: NOT_FLAGS,
  compression: NOT_FLAGS,
  diffWindowMs: [-1, ...NOT_NUMBERS],
  authorizeCacheMs: [-1, ...NOT_NUMBERS],
  hookTimeoutMs: [0, -1, ...NOT_NUMBERS],
  pingIntervalMs: [9, -1, ...NOT_NUMBERS],
  drainMs: [-1, ...NOT_NUMBERS],
  drainPerSecond: [0, ...NOT_NUMBERS],
  limits: [5, 'none', true],
  interval: [5, 'none', true],
  metrics: [5, {}, 'metrics', true],
  logger: [5, {}, 'console', true]
}

const NAMES = [...Object.keys(GATEWAY_DEFAULTS), 'authenticate', 'authorize', 'origins', 'addressOf', 'metrics', 'logger']

describe('options of a gateway', () => {
  it('every option is refused somewhere here', () => {
    expect(Object.keys(REFUSED).sort()).toEqual([...NAMES].sort())
  })

  const cases = Object.entries(REFUSED).flatMap(([name, values]) => values.map(value => [name, value] as const))
  it.each(cases)('%s: %o is refused, by the name of the option, its value, and what is allowed', (name, value) => {
    const bad = Array.isArray(value) ? value.at(-1) : value
    const shown = bad === undefined ? 'an empty array' : bad === '' ? '""' : String(bad)
    let message = ''
    try {
      resolve({ [name]: value })
    } catch (error) {
      expect((error as Error).name).toBe('InvalidOptionsError')
      message = (error as Error).message
    }
    expect(message).toMatch(new RegExp(`^${name} (is|has) `))
    expect(message).toContain(shown)
    expect(message).toMatch(/, allowed (is|are) /)
  })

  const nested = (['limits', 'interval'] as const).flatMap(group =>
    Object.keys(GATEWAY_DEFAULTS[group]).map(name => [group, name] as const)
  )
  it.each(nested)('%s.%s: what is no whole number above 0 is refused by name', (group, name) => {
    for (const value of [0, -1, ...NOT_NUMBERS]) {
      const shown = typeof value === 'string' ? `"${value}"` : String(value)
      expect(() => resolve({ [group]: { [name]: value } })).toThrowError(`${group}.${name} is ${shown}, allowed is an integer from 1 to`)
    }
    expect(resolve({ [group]: { [name]: 7 } })).toMatchObject({ [group]: { [name]: 7 } })
  })

  it('an option that is not known is refused, and the known ones are named', () => {
    expect(() => resolve({ authorise: authenticate })).toThrowError(/unknown option authorise; known are .*authorize/)
    expect(() => resolve({ limits: { frames: 5 } })).toThrowError(/unknown option limits.frames; known are .*frameBytes/)
    expect(() => resolve({ interval: { every: 5 } })).toThrowError(/unknown option interval.every; known are .*everyMs/)
  })

  it('authenticate is required, and options are an object', () => {
    expect(() => resolveGatewayOptions({} as GatewayOptions)).toThrowError(/authenticate is missing/)
    for (const options of [undefined, null, 5, 'options']) {
      expect(() => resolveGatewayOptions(options as never)).toThrowError(`options is ${options}, allowed is an object`)
    }
  })

  it('undefined means the default; what comes out is frozen', () => {
    const undefineds = Object.fromEntries(NAMES.map(name => [name, undefined]))
    const options = resolve({ ...undefineds, authenticate, limits: { sockets: undefined } })
    const { path, ...defaults } = GATEWAY_DEFAULTS
    expect(options).toMatchObject({ ...defaults, paths: [path], origins: undefined })
    expect(Object.isFrozen(options)).toBe(true)
    expect(Object.isFrozen((options as { limits: object }).limits)).toBe(true)
  })

  it('without authorize everything is denied', () => {
    expect((resolve({}) as { authorize: () => unknown }).authorize()).toBe(false)
  })

  it('what is allowed is taken', () => {
    expect(resolve({ path: ['/a', '/b/c.d'], origins: ['https://app.example', 'http://localhost:3000'] })).toMatchObject({
      paths: ['/a', '/b/c.d'],
      origins: new Set(['https://app.example', 'http://localhost:3000'])
    })
    expect(resolve({ origins: '*', diffWindowMs: 0, hookTimeoutMs: 1 })).toMatchObject({ origins: '*', diffWindowMs: 0 })
  })

  it('one who later changes the arrays that he gave changes nothing', () => {
    const path = ['/a']
    const options = resolve({ path })
    path.push('/b')
    expect(options).toMatchObject({ paths: ['/a'] })
  })
})
