import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { resolveCommand } from '../../src/cli/config.ts'
import { ALL_NAMES, CLIENT, DEMO, SERVE, SIM } from '../../src/cli/setting-tables.ts'
import { envName, flagName, type SettingTable } from '../../src/cli/settings.ts'
import { inFlags, TUNING, trackerOptions } from '../../src/cli/tuning.ts'
import { DEFAULTS, resolveOptions } from '../../src/tracker/options.ts'

let directory: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'rollcall-settings-'))
})

afterEach(() => {
  rmSync(directory, { recursive: true, force: true })
})

function configFile(content: unknown): string {
  const path = join(directory, 'rollcall.json')
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

const serve = (flags: Record<string, unknown>, env: NodeJS.ProcessEnv = {}) => resolveCommand(SERVE, flags, env).settings

describe('settings: one resolution', () => {
  test('nothing is given: defaults', () => {
    expect(serve({})).toMatchObject({ cluster: 'rollcall', grace: 15_000, listen: ['/ip4/127.0.0.1/tcp/0'], mdns: false })
  })

  test('a flag wins over a variable, a variable over the file, the file over the default', () => {
    const config = configFile({ grace: '1s', ttl: '61s', heartbeatInterval: '3s' })
    const env = { ROLLCALL_GRACE: '2s', ROLLCALL_TTL: '62s' }
    expect(serve({ config, grace: '3s' }, env)).toMatchObject({ grace: 3_000, ttl: 62_000, heartbeatInterval: 3_000, lastSeen: 86_400_000 })
  })

  test('ROLLCALL_CONFIG names the file too, and --config wins over it', () => {
    const config = configFile({ grace: '1s' })
    expect(serve({}, { ROLLCALL_CONFIG: config }).grace).toBe(1_000)
    expect(() => serve({ config: join(directory, 'none.json') }, { ROLLCALL_CONFIG: config })).toThrow(/there is no such file/)
  })

  test('an empty variable is not set', () => {
    expect(serve({}, { ROLLCALL_GRACE: '', ROLLCALL_CONFIG: '' }).grace).toBe(15_000)
  })

  test('given: tells a value from a default', () => {
    const resolved = resolveCommand(SIM, { speed: '10' }, { ROLLCALL_SEED: '5' })
    expect([resolved.given('speed'), resolved.given('seed'), resolved.given('for')]).toEqual([true, true, false])
  })

  test('lists: repeated, separated by commas, or an array in the file', () => {
    const peers = ['/ip4/127.0.0.1/tcp/1', '/ip4/127.0.0.1/tcp/2']
    expect(serve({ peers }).peers).toEqual(peers)
    expect(serve({ peers: [peers.join(',')] }).peers).toEqual(peers)
    expect(serve({}, { ROLLCALL_PEERS: peers.join(', ') }).peers).toEqual(peers)
    expect(serve({ config: configFile({ peers }) }).peers).toEqual(peers)
  })

  test('gateway: on the loopback and open, where nothing is said', () => {
    expect(serve({})).toMatchObject({ gateway: '127.0.0.1:7480', gatewayAuth: 'open', origins: [], jwtSecretFile: undefined })
    const env = {
      ROLLCALL_GATEWAY_AUTH: 'jwt',
      ROLLCALL_JWT_SECRET_FILE: '/run/secret',
      ROLLCALL_ORIGINS: 'https://a.example, http://b.example:8080'
    }
    expect(serve({}, env)).toMatchObject({
      gatewayAuth: 'jwt',
      jwtSecretFile: '/run/secret',
      origins: ['https://a.example', 'http://b.example:8080']
    })
  })

  test('words: all and none', () => {
    const faults = (value: string) => resolveCommand(SIM, { faults: [value] }, {}).settings.faults
    expect(faults('none')).toEqual([])
    expect(faults('all')).toHaveLength(6)
    expect(faults('kill,cut')).toEqual(['kill', 'cut'])
    expect(() => faults('none,kill')).toThrow(/--faults is none,kill/)
  })
})

describe('settings: refusals name the place, the value and what is allowed', () => {
  test.each([
    [{ grace: '15' }, {}, '--grace is 15, allowed: a duration with its unit, such as 250ms, 90s, 5m, 1h30m or 1d, from 0'],
    [{}, { ROLLCALL_GRACE: 'soon' }, 'ROLLCALL_GRACE is soon, allowed: a duration'],
    [{ maxConnections: '1.5' }, {}, '--max-connections is 1.5, allowed: a whole number from 1 to'],
    [{ mdns: 'perhaps' }, {}, '--mdns is perhaps, allowed: true or false'],
    [{ peers: ['10.0.0.1:80'] }, {}, '--peers is 10.0.0.1:80, allowed: multiaddrs such as'],
    [{ allow: ['me'] }, {}, '--allow is me, allowed: peer ids such as'],
    [{ gatewayAuth: 'none' }, {}, '--gateway-auth is none, allowed: open or jwt'],
    [{ origins: ['app.example'] }, {}, '--origins is app.example, allowed: origins such as https://app.example, without a path, or *'],
    [{ origins: ['https://app.example/'] }, {}, '--origins is https://app.example/, allowed: origins'],
    [{ suspectPhi: 'x' }, {}, '--suspect-phi is x, allowed: a number from 0.1 to 100'],
    [{ cluster: '' }, {}, '--cluster is "", allowed: a text of 1 to 64 characters']
  ])('%j %j', (flags, env, message) => {
    expect(() => serve(flags, env)).toThrow(message)
    expect(() => serve(flags, env)).toThrow(expect.objectContaining({ name: 'UsageError', code: 'ERR_USAGE', exitCode: 2 }))
  })

  test('a bad value in the file names the file', () => {
    const config = configFile({ grace: 15 })
    expect(() => serve({ config })).toThrow(`grace in ${config} is 15, allowed: a duration`)
  })

  test('an unknown name in the file is refused, one of another command is not', () => {
    expect(() => serve({ config: configFile({ gracePeriod: '1s' }) })).toThrow(/has "gracePeriod", which is no setting; known are .*grace/)
    expect(serve({ config: configFile({ replicas: 5, timeout: '1s' }) }).grace).toBe(15_000)
  })

  test.each([['[]'], ['"x"'], ['{'], ['null']])('a file that holds %s is refused', content => {
    expect(() => serve({ config: configFile(content) })).toThrow(/--config .*rollcall\.json (is no JSON|holds)/)
  })

  test('two that contradict each other are told in the names of the flags', () => {
    const settings = serve({ ttl: '1s' })
    expect(() => trackerOptions(settings)).toThrow('--ttl (1000) must be at least twice --heartbeat-interval (15000)')
  })
})

describe('settings: tables', () => {
  test('defaults are the library’s', () => {
    const { settings } = resolveCommand(TUNING, {}, {})
    const { transport: _t, environment: _e, ...resolved } = resolveOptions(trackerOptions(settings))
    const { transport: _u, environment: _f, ...wanted } = resolveOptions({})
    expect(resolved).toEqual(wanted)
    expect(DEFAULTS.graceMs).toBe(settings.grace)
  })

  test('each default is a value that its own kind accepts', () => {
    for (const table of [CLIENT, SERVE, SIM, DEMO] as SettingTable[]) {
      for (const [name, { kind, fallback }] of Object.entries(table)) {
        if (fallback !== undefined && !(name === 'for' && fallback === 0)) {
          expect([name, kind.read(kind.write(fallback))]).toEqual([name, fallback])
        }
      }
    }
  })

  test('one name in three spellings', () => {
    expect([flagName('flushWindow'), envName('flushWindow')]).toEqual(['--flush-window', 'ROLLCALL_FLUSH_WINDOW'])
    expect(ALL_NAMES).toContain('flushWindow')
  })

  test('inFlags: leaves words that only look alike', () => {
    expect(inFlags('gossip.heartbeatIntervalMs and heartbeatIntervalMs')).toBe('--gossip-heartbeat and --heartbeat-interval')
    expect(inFlags('my.ttlMs, xttlMs, ttlMsx')).toBe('my.ttlMs, xttlMs, ttlMsx')
  })
})
