import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { Presence, Socket } from 'phoenix'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../support/net/until.ts'

const folder = new URL('../../examples/chat/', import.meta.url)
const server = spawn(process.execPath, [new URL('server.ts', folder).pathname, '--port', '0', '--port', '0'], {
  stdio: ['ignore', 'pipe', 'inherit']
})
const origins: string[] = []

beforeAll(async () => {
  const lines = createInterface({ input: server.stdout })
  for await (const line of lines) {
    origins.push(/^(http:\/\/127\.0\.0\.1:\d+) is replica --peers \/ip4\//.exec(line)?.[1] as string)
    if (origins.length === 2) {
      break
    }
  }
})

afterAll(() => void server.kill('SIGKILL'))

/** As examples/chat/client.js does it. */
function enter(
  origin: string,
  name: string
): { here(): Record<string, string>; say(saying: string): void; leave(): void; events: string[] } {
  const socket = new Socket(`${origin.replace('http', 'ws')}/socket`, { params: { name, session: `of ${name}` } })
  const channel = socket.channel('room:lobby', () => ({ saying: '' }))
  const presence = new Presence(channel)
  const events: string[] = []
  presence.onJoin((key, before) => before === undefined && events.push(`+${key}`))
  presence.onLeave((key, left) => left?.metas.length === 0 && events.push(`-${key}`))
  socket.connect()
  channel.join()
  return {
    events,
    here: () => Object.fromEntries(presence.list((key, { metas }) => [key, metas.at(-1).saying])),
    say: saying => void channel.push('update', { saying }),
    leave: () => {
      channel.leave()
      socket.disconnect()
    }
  }
}

describe('examples/chat', () => {
  test('fits a page: 150 lines or fewer in all', () => {
    const files = ['server.ts', 'client.js', 'index.html'].map(name => readFileSync(new URL(name, folder), 'utf8'))
    expect(files.join('').split('\n').length - 1).toBeLessThanOrEqual(150)
    expect(files.join('')).not.toMatch(/innerHTML|insertAdjacentHTML|document\.write/)
  })

  test('each replica serves the page, and the npm client phoenix as it is', async () => {
    for (const origin of origins) {
      expect(await (await fetch(origin)).text()).toContain('<script type="module" src="client.js">')
      expect(await (await fetch(`${origin}/client.js`)).text()).toBe(readFileSync(new URL('client.js', folder), 'utf8'))
      expect(await (await fetch(`${origin}/phoenix.js`)).text()).toBe(readFileSync(new URL(import.meta.resolve('phoenix')), 'utf8'))
      expect((await fetch(`${origin}/../server.ts`)).status).toBe(404)
    }
  })

  test('two people, one on each replica: they see each other come, speak and go', async () => {
    const [first, second] = origins as [string, string]
    const ann = enter(first, 'Ann')
    const ben = enter(second, 'Ben')
    await until('both see both', () => [ann, ben].every(({ here }) => here().Ann === '' && here().Ben === ''))
    ann.say('hello <b>Ben</b>')
    await until('Ben reads it', () => ben.here().Ann === 'hello <b>Ben</b>')
    ben.say('x'.repeat(1_000))
    await until('Ann reads the first 200 characters', () => ann.here().Ben === 'x'.repeat(200))
    ben.leave()
    await until('Ann is alone', () => Object.keys(ann.here()).join() === 'Ann')
    expect(ann.events.filter(event => event.endsWith('Ben'))).toEqual(['+Ben', '-Ben'])
    ann.leave()
  })

  test('Ctrl-C: ends by itself', async () => {
    server.kill('SIGINT')
    expect(await once(server, 'exit')).toEqual([0, null])
  })
})
