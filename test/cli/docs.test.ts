import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { commands } from '../../src/cli/commands/index.ts'
import { Endpoints } from '../../src/cli/control/endpoints.ts'
import { EXIT } from '../../src/cli/errors.ts'
import { CLIENT, DEMO, SERVE, SIM } from '../../src/cli/setting-tables.ts'
import { flagName, type SettingTable } from '../../src/cli/settings.ts'
import { createTracker } from '../../src/tracker/tracker.ts'

const page = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8')

describe('docs/cli.md', () => {
  test('has every flag with its placeholder, default and help, and no other flag', () => {
    for (const table of [CLIENT, SERVE, SIM, DEMO] as SettingTable[]) {
      for (const [name, { kind, fallback, help }] of Object.entries(table)) {
        const written = fallback === undefined ? '' : kind.write(fallback)
        const flag = `\`${flagName(name)}${kind.placeholder === '' ? '' : ` <${kind.placeholder}>`}\``
        expect(page).toContain(`| ${flag} | ${written === '' ? '' : `\`${written}\``} | ${help}`)
      }
    }
    const known = new Set([CLIENT, SERVE, SIM, DEMO].flatMap(table => Object.keys(table)).map(flagName))
    const named = [...page.matchAll(/`(--[a-z-]+)/g)].map(match => match[1] as string)
    expect(named.filter(flag => !known.has(flag) && flag !== '--config' && flag !== '--help')).toEqual([])
  })

  test('has every command, exit status and endpoint', () => {
    for (const command of Object.keys(commands)) {
      expect(page).toMatch(new RegExp(`\\| \\[\`${command}[ \`]`))
    }
    for (const status of Object.values(EXIT)) {
      expect(page).toContain(`| ${status} | `)
    }
    const tracker = createTracker()
    const endpoints = new Endpoints({ tracker, cluster: 'docs', addresses: [], stop: () => tracker.stop() })
    endpoints.stop()
    for (const route of [...endpoints.plain.keys(), ...endpoints.streams.keys()]) {
      expect(page).toMatch(new RegExp(`\\| \`${route.replace('/', '\\/')}[?\`]`))
    }
  })
})
