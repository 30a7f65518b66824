import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { describe, expect, it } from 'vitest'
import { createTracker } from '../../src/index.ts'
import { attachGateway, GATEWAY_DEFAULTS, GATEWAY_METRICS } from '../../src/net/gateway/index.ts'
import { root } from '../support/project.ts'

const page = readFileSync(`${root}docs/gateway.md`, 'utf8')

function flat(options: object, prefix = ''): [string, string][] {
  return Object.entries(options).flatMap(([name, value]) =>
    typeof value === 'object'
      ? flat(value, `${prefix}${name}.`)
      : [[`${prefix}${name}`, typeof value === 'string' ? `'${value}'` : String(value)] as [string, string]]
  )
}

/** The unions of texts in tally.ts. */
function union(name: string): string[] {
  const text = readFileSync(`${root}src/net/gateway/tally.ts`, 'utf8')
  const body = new RegExp(`type ${name} =([^/]*)`).exec(text)?.[1] ?? ''
  return [...body.matchAll(/'([^']+)'/g)].map(match => match[1] as string).sort()
}

describe('docs/gateway.md', () => {
  it('O6: has every option with its default', () => {
    const rows = [...page.matchAll(/^\| `([\w.]+)` \| `([^`]*)` \|/gm)].map(match => [match[1], match[2]])
    expect(rows.sort()).toEqual(flat(GATEWAY_DEFAULTS).sort())
  })

  it('has every close reason and every refusal', () => {
    const closed = [...page.matchAll(/^\| 1\d\d\d \| `([^`]+)` \|/gm)].map(match => match[1] as string)
    expect(closed.sort()).toEqual(union('CloseReason'))
    const refused = [...page.matchAll(/^\| [45]\d\d \| (`[^|]+`) \|/gm)].flatMap(match => [...(match[1] as string).matchAll(/`(\w+)`/g)])
    expect(refused.map(match => match[1]).sort()).toEqual(union('Refusal'))
  })

  it('O1: has every number of stats, and every metric', async () => {
    const gateway = attachGateway(createServer(), createTracker(), { authenticate: () => null })
    const rows = page.slice(page.indexOf('| number | |')).matchAll(/^\| (`[^|]+`) \|/gm)
    const named = [...rows].flatMap(match => [...(match[1] as string).matchAll(/`(\w+)`/g)].map(([, name]) => name))
    expect(named.sort()).toEqual(Object.keys(gateway.stats()).sort())
    await gateway.stop()
    for (const name of Object.values(GATEWAY_METRICS)) {
      expect(page).toContain(`\`${name}\``)
    }
  })
})
