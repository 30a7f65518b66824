import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { DEFAULTS, resolveOptions } from '../../src/index.ts'
import { root } from '../support/project.ts'

/** `name → default` of every option, nested ones with a dot. */
function flat(options: object, prefix = ''): [string, unknown][] {
  return Object.entries(options).flatMap(([name, value]) =>
    typeof value === 'object' && value !== null ? flat(value, `${prefix}${name}.`) : [[`${prefix}${name}`, value]]
  )
}

describe('options', () => {
  it('O6, docs: the tables of docs/operations.md have every option with its default', () => {
    const text = readFileSync(`${root}docs/operations.md`, 'utf8')
    const rows = [...text.matchAll(/^\| `([\w.]+)` \| `([^`]*)` \|/gm)].map(match => [match[1], match[2]])
    const code = flat(DEFAULTS).map(([name, value]) => [name, typeof value === 'string' ? `'${value}'` : String(value)])
    expect(rows.sort()).toEqual(code.sort())
  })

  it.each([
    [{ ttlMs: 20_000 }, /ttlMs \(20000\) must be at least twice heartbeatIntervalMs \(15000\)/],
    [{ graceMs: -1 }, /graceMs is -1, allowed is an integer from 0/],
    [{ graceMs: Number.NaN }, /graceMs is NaN/],
    [{ graceMs: '5' as never }, /graceMs is "5"/],
    [{ grace: 5 } as never, /unknown option grace; known are/],
    [{ gossip: { flushWindowMs: 2_000 } }, /flushWindowMs \(2000\) must be at most/],
    [{ gossip: { interval: 1 } } as never, /unknown option gossip\.interval/],
    [{ detector: { suspectPhi: 9, downPhi: 8 } }, /downPhi \(8\) must be greater than detector\.suspectPhi \(9\)/],
    [{ permdownAfterMs: 20_000 }, /permdownAfterMs \(20000\) must be greater than/],
    [{ limits: { metaBytes: 1e9 } }, /limits\.metaBytes is 1000000000, allowed is an integer from 1 to 32768/],
    [{ limits: { connections: 1.5 } }, /limits\.connections is 1\.5/],
    [{ cluster: '' }, /cluster is "", allowed is a string of 1 to 64 characters/],
    [{ limits: null } as never, /limits is null, allowed is an object/]
  ])('pub-B18: %j is refused', (options, message) => {
    expect(() => resolveOptions(options)).toThrowError(message)
    expect(() => resolveOptions(options)).toThrowError(
      expect.objectContaining({ name: 'InvalidOptionsError', code: 'ERR_INVALID_OPTIONS' })
    )
  })

  it('undefined means the default, and the result is frozen', () => {
    const options = resolveOptions({ graceMs: undefined as never, gossip: { periodMs: undefined as never } })
    expect(options.graceMs).toBe(DEFAULTS.graceMs)
    expect(options.gossip.periodMs).toBe(DEFAULTS.gossip.periodMs)
    expect(Object.isFrozen(options) && Object.isFrozen(options.gossip) && Object.isFrozen(options.limits)).toBe(true)
  })
})
