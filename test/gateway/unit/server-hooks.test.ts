import { once } from 'node:events'
import { createServer, get, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { hookServer } from '../../../src/net/gateway/doors/server-hooks.ts'
import type { HttpRoute } from '../../../src/net/gateway/types.ts'

const ours: HttpRoute = (_, response, url) => {
  const isOurs = url.pathname === '/ours'
  if (isOurs) {
    response.end('ours')
  }
  return isOurs
}

describe('an HTTP server of somebody else', () => {
  let server: Server
  let port: number

  const listen = async (): Promise<void> => {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
  }
  const ask = async (path: string): Promise<string> => {
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    get({ port, host: '127.0.0.1', path, agent: false }, response => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => resolve(`${response.statusCode} ${Buffer.concat(chunks)}`))
    }).on('error', reject)
    return promise
  }
  /** The first line of what an upgrade is answered; undefined when there is none. */
  const upgrade = async (path: string): Promise<string | undefined> => {
    const socket = connect(port, '127.0.0.1')
    socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n`)
    const { promise, resolve } = Promise.withResolvers<string | undefined>()
    socket.on('data', (data: Buffer) => resolve(data.toString().split('\r\n')[0]))
    socket.setTimeout(100, () => resolve(undefined))
    const answer = await promise
    socket.destroy()
    return answer
  }

  beforeEach(() => {
    server = createServer()
  })
  afterEach(() => {
    server.closeAllConnections()
    server.close()
  })

  it('what is not ours goes where it went before, and only there', async () => {
    const heard: string[] = []
    server.on('request', (request, response) => {
      heard.push(request.url ?? '')
      response.end('his')
    })
    hookServer(server, [ours], () => false)
    await listen()
    expect([await ask('/ours'), await ask('/his'), await ask('/ours')]).toEqual(['200 ours', '200 his', '200 ours'])
    expect(heard).toEqual(['/his'])
  })

  it('where nobody else listens, what is not ours is answered 404, and an upgrade too', async () => {
    hookServer(server, [ours], () => false)
    await listen()
    expect(await ask('/nobody')).toBe('404 there is no such path\n')
    expect([await upgrade('/nobody'), await upgrade('//')]).toEqual(Array(2).fill('HTTP/1.1 404 Not Found'))
  })

  it('of several of us the last one answers what is nobody’s; beside somebody else, he does', async () => {
    hookServer(server, [ours], () => false)
    const unhook = hookServer(server, [ours], () => false)
    await listen()
    expect(await upgrade('/nobody')).toBe('HTTP/1.1 404 Not Found')
    unhook()
    expect(await upgrade('/nobody')).toBe('HTTP/1.1 404 Not Found')
    server.on('upgrade', (_, socket) => void socket.end('HTTP/1.1 418 his\r\n\r\n'))
    expect(await upgrade('/nobody')).toBe('HTTP/1.1 418 his')
  })

  it('an upgrade that is not ours is left to one who listens as well', async () => {
    hookServer(server, [ours], () => false)
    server.on('upgrade', (_, socket) => void socket.end('HTTP/1.1 418 his\r\n\r\n'))
    await listen()
    expect(await upgrade('/his')).toBe('HTTP/1.1 418 his')
  })

  it('undone, everything goes where it went before', async () => {
    server.on('request', (_, response) => void response.end('his'))
    const listeners = server.listeners('request')
    const undo = hookServer(server, [ours], () => true)
    await listen()
    expect(await ask('/ours')).toBe('200 ours')
    undo()
    expect(await ask('/ours')).toBe('200 his')
    expect([server.listeners('request'), server.listenerCount('upgrade')]).toEqual([listeners, 0])
  })
})
