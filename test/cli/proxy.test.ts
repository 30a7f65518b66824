import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LinkProxy } from '../../src/cli/sim/proxy.ts'

/** Answers every chunk with itself. */
const echo = createServer(socket => {
  socket.on('error', () => undefined)
  socket.pipe(socket)
})
let proxy: LinkProxy
let clients: Socket[] = []

beforeEach(async () => {
  echo.listen(0, '127.0.0.1')
  await once(echo, 'listening')
  proxy = new LinkProxy({ delayMs: 60, bytesPerSecond: 1_000_000 })
  await proxy.start()
  await proxy.retarget((echo.address() as AddressInfo).port)
})

afterEach(async () => {
  for (const client of clients) {
    client.destroy()
  }
  clients = []
  await proxy.stop()
  await new Promise(resolve => echo.close(resolve))
})

async function dial(port = proxy.port): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  clients.push(socket)
  await once(socket, 'connect')
  socket.on('error', () => undefined)
  return socket
}

async function roundTrip(socket: Socket, text: string): Promise<string> {
  socket.write(text)
  const [answer] = (await once(socket, 'data')) as [Buffer]
  return answer.toString()
}

describe('LinkProxy', () => {
  test('open: bytes pass both ways and are counted', async () => {
    const socket = await dial()
    expect(await roundTrip(socket, 'hello')).toBe('hello')
    expect(proxy.bytes).toBe(10)
  })

  test('cut: what is open breaks, what comes is refused; after the heal it is let in on the same port', async () => {
    const socket = await dial()
    const { port } = proxy
    const broken = new Promise(resolve => socket.once('error', resolve))
    await proxy.setMode('cut')
    expect(await broken).toMatchObject({ code: 'ECONNRESET' })
    await expect(dial()).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    await proxy.setMode('open')
    expect(proxy.port).toBe(port)
    expect(await roundTrip(await dial(), 'again')).toBe('again')
  })

  test('no target: refused, as where no process listens', async () => {
    await proxy.retarget(0)
    await expect(dial()).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })

  test('blackhole: connections stay, nothing arrives; after the heal what was sent does, in order', async () => {
    const socket = await dial()
    expect(await roundTrip(socket, 'before')).toBe('before')
    await proxy.setMode('blackhole')
    const counted = proxy.bytes
    socket.write('first ')
    const late = await dial()
    late.write('late')
    socket.write('second')
    // A trip through another proxy of the same process: by then this one has read what it holds.
    const other = new LinkProxy()
    await other.start()
    await other.retarget((echo.address() as AddressInfo).port)
    expect(await roundTrip(await dial(other.port), 'probe')).toBe('probe')
    await other.stop()
    expect(proxy.bytes).toBe(counted)
    expect(socket.destroyed).toBe(false)
    const both = Promise.all([collect(socket, 12), collect(late, 4)])
    await proxy.setMode('open')
    expect(await both).toEqual(['first second', 'late'])
  })

  test('a half-closed connection: the answer still arrives', async () => {
    const socket = await dial()
    socket.end('last words')
    expect(await collect(socket, 10)).toBe('last words')
  })

  test('slow: nothing arrives before the delay', async () => {
    const socket = await dial()
    await proxy.setMode('slow')
    const startMs = performance.now()
    expect(await roundTrip(socket, 'slowly')).toBe('slowly')
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(2 * 60 - 2)
  })

  test('overlapping changes: the last one decides', async () => {
    const changes = [proxy.setMode('cut'), proxy.setMode('open'), proxy.setMode('cut'), proxy.setMode('open')]
    await Promise.all(changes)
    expect(await roundTrip(await dial(), 'open')).toBe('open')
  })
})

async function collect(socket: Socket, bytes: number): Promise<string> {
  let text = ''
  while (text.length < bytes) {
    const [chunk] = (await once(socket, 'data')) as [Buffer]
    text += chunk.toString()
  }
  return text
}
