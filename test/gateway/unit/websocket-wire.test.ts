import { EventEmitter } from 'node:events'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { WebSocket } from 'ws'
import { WebSocketWire } from '../../../src/net/gateway/doors/websocket-wire.ts'
import { frameOf } from '../../../src/net/gateway/protocol/wire.ts'

class FakeSocket extends EventEmitter {
  readonly OPEN = 1
  readyState = 1
  bufferedAmount = 0
  readonly log: unknown[] = []

  send(data: Buffer, options: { fin?: boolean }): void {
    this.log.push([data.toString(), options.fin ?? true])
  }

  ping(data: string): void {
    this.log.push(['ping', data])
  }

  pause(): void {
    this.log.push('pause')
  }

  resume(): void {
    this.log.push('resume')
  }

  close(code: number, reason: string): void {
    this.log.push(['close', code, reason])
  }

  terminate(): void {
    this.log.push('terminate')
  }
}

function start() {
  const socket = new FakeSocket()
  const told: unknown[] = []
  const wire = new WebSocketWire(socket as unknown as WebSocket)
  wire.listen({
    message: text => told.push(['message', text]),
    binary: bytes => told.push(['binary', [...bytes]]),
    heard: () => told.push('heard'),
    pinged: () => told.push('pinged'),
    closed: reason => told.push(['closed', reason])
  })
  return { socket, told, wire }
}

describe('a WebSocket', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('tells text and binary frames apart', () => {
    const { socket, told } = start()
    socket.emit('message', Buffer.from('[]'), false)
    socket.emit('message', Buffer.from([1, 2]), true)
    expect(told).toEqual([
      ['message', '[]'],
      ['binary', [1, 2]]
    ])
  })

  it('a pong that answers a ping is a sign of life; one that nobody asked for counts as what a client sends', () => {
    const { socket, told, wire } = start()
    for (const text of ['1', '', 'x', '-1', '0']) {
      socket.emit('pong', Buffer.from(text))
    }
    socket.emit('ping', Buffer.from('1'))
    expect(told).toEqual(Array(6).fill('pinged'))
    told.length = 0
    wire.ping()
    wire.ping()
    socket.emit('pong', Buffer.from('1'))
    socket.emit('pong', Buffer.from('1'))
    socket.emit('pong', Buffer.from('3'))
    socket.emit('pong', Buffer.from('2'))
    expect(told).toEqual(['heard', 'pinged', 'pinged', 'heard'])
  })

  it('a pong answers all pings before it, each once', () => {
    const { socket, wire } = start()
    const answered: number[] = []
    wire.ping(() => answered.push(1))
    wire.ping()
    wire.ping(() => answered.push(3))
    wire.ping(() => answered.push(4))
    socket.emit('pong', Buffer.from('3'))
    socket.emit('pong', Buffer.from('3'))
    expect(answered).toEqual([1, 3])
    socket.emit('pong', Buffer.from('4'))
    expect(answered).toEqual([1, 3, 4])
  })

  it('one that is not open is not pinged', () => {
    const { socket, wire } = start()
    socket.readyState = 2
    wire.ping()
    expect(socket.log).toEqual([])
  })

  it('small parts go as one frame, large ones as fragments of one message', () => {
    const { socket, wire } = start()
    wire.send(frameOf('whole'))
    wire.sendParts([Buffer.from('a'), Buffer.from('b'), Buffer.from('c')])
    const large = Buffer.from('x'.repeat(5_000))
    wire.sendParts([Buffer.from('['), large, Buffer.from(']')])
    expect(socket.log).toEqual([
      ['whole', true],
      ['abc', true],
      ['[', false],
      [large.toString(), false],
      [']', true]
    ])
  })

  it.each([
    ['WS_ERR_UNSUPPORTED_MESSAGE_LENGTH', 'too large'],
    ['WS_ERR_INVALID_UTF8', 'malformed'],
    ['WS_ERR_INVALID_OPCODE', 'malformed']
  ])('%s: closed as %s, and once more by the network', (code, reason) => {
    const { socket, told } = start()
    socket.emit('error', Object.assign(new Error('x'), { code }))
    socket.emit('close')
    expect(told).toEqual([
      ['closed', reason],
      ['closed', undefined]
    ])
  })

  it('an error of the network says nothing before the close', () => {
    const { socket, told } = start()
    socket.emit('error', Object.assign(new Error('x'), { code: 'ECONNRESET' }))
    expect(told).toEqual([])
  })

  it('a goodbye that is not answered in 2 s is cut off; one that is answered leaves no timer', () => {
    const deaf = start()
    deaf.wire.close(1012, 'draining')
    vi.advanceTimersByTime(1_999)
    expect(deaf.socket.log).toEqual(['resume', ['close', 1012, 'draining']])
    vi.advanceTimersByTime(1)
    expect(deaf.socket.log.at(-1)).toBe('terminate')
    const polite = start()
    polite.wire.close(1012, 'draining')
    polite.socket.emit('close')
    expect(vi.getTimerCount()).toBe(0)
  })
})
