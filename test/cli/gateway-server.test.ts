import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Endpoints } from '../../src/cli/control/endpoints.ts'
import { openAuth } from '../../src/cli/gateway/gateway-auth.ts'
import { GatewayServer, type GatewayServerOptions } from '../../src/cli/gateway/gateway-server.ts'
import type { ReplicaHandle } from '../../src/cli/replica.ts'
import { createTracker } from '../../src/tracker/tracker.ts'
import { closeAll, closeLater } from '../support/gateway/close-all.ts'
import { openRaw } from '../support/gateway/raw-client.ts'

let replica: ReplicaHandle

beforeEach(async () => {
  const tracker = createTracker()
  await tracker.start()
  await tracker.ready
  replica = { tracker, cluster: 'test', addresses: [], stop: options => tracker.stop(options) }
  closeLater(() => tracker.stop())
})

afterEach(closeAll)

async function open(more: Partial<GatewayServerOptions> = {}): Promise<GatewayServer> {
  const listen = { host: '127.0.0.1', port: 0 }
  const server = await GatewayServer.open({ replica, listen, anyPortInstead: false, auth: openAuth, ...more })
  closeLater(() => server.stop())
  return server
}

const socketOf = ({ url }: GatewayServer): string => `${url.replace('http', 'ws')}/socket`
const statusOf = async (url: string): Promise<number> => (await fetch(url)).status

describe('GatewayServer', () => {
  test('serves the live page, clients, and the probes of load balancers', async () => {
    const server = await open()
    const page = await fetch(server.url)
    expect([page.status, page.headers.get('content-type')]).toEqual([200, expect.stringMatching(/^text\/html/)])
    expect(await statusOf(`${server.url}/healthz`)).toBe(200)
    expect(await statusOf(`${server.url}/readyz?x`)).toBe(200)
    expect(await statusOf(`${server.url}/nothing`)).toBe(404)
    const client = await openRaw(socketOf(server), { user: 'ada' })
    expect(await client.request('room:1', 'phx_join', { status: 'here' })).toMatchObject({
      status: 'ok',
      response: { presence: { key: 'ada' } }
    })
    expect(replica.tracker.get('room:1', 'ada')[0]?.meta).toEqual({ status: 'here' })
    expect(await client.request('rollcall:cluster', 'phx_join')).toMatchObject({ status: 'ok' })
    expect(server.size).toBe(1)
  })

  test('readyz: 503 before the replica is ready', async () => {
    const ready = Promise.withResolvers<void>()
    const tracker = new Proxy(replica.tracker, {
      get: (target, name) => (name === 'ready' ? ready.promise : Reflect.get(target, name, target))
    })
    const server = await open({ replica: { ...replica, tracker } })
    expect(await statusOf(`${server.url}/readyz`)).toBe(503)
    expect(await statusOf(`${server.url}/healthz`)).toBe(200)
    ready.resolve()
    await ready.promise
    expect(await statusOf(`${server.url}/readyz`)).toBe(200)
  })

  test('POST /v1/drain: clients are sent elsewhere, newcomers turned away, and both probes say so; status tells how far it is', async () => {
    const server = await open()
    const endpoints = new Endpoints(replica, server)
    closeLater(() => endpoints.stop())
    const client = await openRaw(socketOf(server), { user: 'ada', session: 's' })
    await client.request('room:1', 'phx_join')
    expect(endpoints.status()).toMatchObject({ draining: false, gateway: { url: server.url, sockets: 1 } })
    expect(await endpoints.plain.get('POST /v1/drain')?.(new URLSearchParams())).toEqual({ draining: true })
    expect(endpoints.status()).toMatchObject({ draining: true })
    expect(await statusOf(`${server.url}/readyz`)).toBe(503)
    expect((await client.closed()).code).toBe(1012)
    await expect(openRaw(socketOf(server), { user: 'ben' })).rejects.toMatchObject({ name: 'HandshakeError', status: 503 })
    await server.drain()
    expect(endpoints.status().gateway?.sockets).toBe(0)
    expect(replica.tracker.get('room:1', 'ada')).toHaveLength(1)
  })

  test('a port that is taken: said as such, or another one where nobody asked for it', async () => {
    const first = await open()
    const listen = { host: '127.0.0.1', port: Number(new URL(first.url).port) }
    await expect(open({ listen })).rejects.toThrow(
      /^--gateway 127\.0\.0\.1:\d+ is taken by another process; give another port, or 0 for any$/
    )
    await expect(open({ listen: { host: '192.0.2.1', port: 0 } })).rejects.toThrow(/^--gateway 192\.0\.2\.1:0: .*EADDRNOTAVAIL/)
    expect((await open({ listen, anyPortInstead: true })).url).not.toBe(first.url)
  })

  test('origins: those that are given, and the live page’s; by default those of the host that is asked', async () => {
    const from = async (server: GatewayServer, origin: string): Promise<number> =>
      openRaw(socketOf(server), { user: 'ada', headers: { origin } }).then(
        () => 101,
        error => error.status
      )
    const narrow = await open()
    expect(await from(narrow, narrow.url)).toBe(101)
    expect(await from(narrow, 'https://app.example')).toBe(403)
    const wider = await open({ origins: ['https://app.example'] })
    expect(await from(wider, 'https://app.example')).toBe(101)
    expect(await from(wider, wider.url)).toBe(101)
    expect(await from(wider, 'https://evil.example')).toBe(403)
    expect(await from(await open({ origins: ['*'] }), 'https://evil.example')).toBe(101)
  })

  test('its address is one that can be opened, where it listens on all of them', async () => {
    const server = await open({ listen: { host: '0.0.0.0', port: 0 } })
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect(await statusOf(`${server.url}/healthz`)).toBe(200)
  })

  test('stop: clients are closed, and their presences are held', async () => {
    const server = await open()
    const client = await openRaw(socketOf(server), { user: 'ada', session: 's' })
    await client.request('room:1', 'phx_join')
    await server.stop()
    await server.stop()
    expect((await client.closed()).code).toBe(1001)
    expect(replica.tracker.get('room:1', 'ada')).toHaveLength(1)
    await expect(fetch(server.url)).rejects.toThrow()
  })
})
