import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { LongPollWire } from '../../../src/net/gateway/doors/long-poll-wire.ts'
import { frameOf } from '../../../src/net/gateway/protocol/wire.ts'

const HOLD_MS = 1_000

/** A response that is written when the test says so. */
class FakeResponse extends EventEmitter {
  destroyed = false
  writableFinished = false
  body: { readonly status: number; readonly messages: readonly string[] } | undefined

  writeHead(): void {}

  end(text: string): void {
    this.body = JSON.parse(text)
  }

  /** All of it is with the client. */
  arrive(): void {
    this.writableFinished = true
    this.emit('close')
  }

  destroy(): void {
    this.destroyed = true
    this.emit('close')
  }
}

const poll = (wire: LongPollWire): FakeResponse => {
  const response = new FakeResponse()
  wire.poll(response as unknown as ServerResponse)
  return response
}

describe('a long poll', () => {
  let closed = 0
  let wire: LongPollWire

  beforeEach(() => {
    vi.useFakeTimers()
    closed = 0
    wire = new LongPollWire('token', HOLD_MS, () => closed++)
  })
  afterEach(() => {
    wire.close()
    expect([vi.getTimerCount(), closed]).toEqual([0, 1])
    vi.useRealTimers()
  })

  it('what was sent before it, and in one turn with it, comes at once, in order', () => {
    wire.send(frameOf('a'))
    wire.sendParts([Buffer.from('b'), Buffer.from('c')])
    expect(wire.bufferedBytes).toBe(3)
    const response = poll(wire)
    wire.send(frameOf('d'))
    vi.advanceTimersByTime(1)
    expect([response.body, wire.bufferedBytes]).toEqual([{ status: 200, token: 'token', messages: ['a', 'bc', 'd'] }, 0])
    response.arrive()
  })

  it('is held while there is nothing, and then answered 204', () => {
    const response = poll(wire)
    vi.advanceTimersByTime(HOLD_MS - 1)
    expect(response.body).toBeUndefined()
    vi.advanceTimersByTime(1)
    expect(response.body).toMatchObject({ status: 204, messages: [] })
  })

  it('a later one lets go of the one before', () => {
    const first = poll(wire)
    const second = poll(wire)
    expect(first.body?.status).toBe(204)
    wire.send(frameOf('a'))
    vi.advanceTimersByTime(1)
    expect(second.body?.messages).toEqual(['a'])
    second.arrive()
  })

  it('one whose client has gone takes nothing with it', () => {
    const gone = poll(wire)
    gone.destroy()
    expect(vi.getTimerCount()).toBe(0)
    wire.send(frameOf('a'))
    wire.send(frameOf('b'))
    vi.advanceTimersByTime(HOLD_MS)
    expect([gone.body, wire.bufferedBytes]).toEqual([undefined, 2])
    const next = poll(wire)
    vi.advanceTimersByTime(1)
    expect(next.body?.messages).toEqual(['a', 'b'])
    next.arrive()
  })

  it('one that has been answered and goes does not end the one that came after it', () => {
    const first = poll(wire)
    const second = poll(wire)
    first.destroy()
    wire.send(frameOf('a'))
    vi.advanceTimersByTime(1)
    expect(second.body?.messages).toEqual(['a'])
    second.arrive()
  })

  it('what was lost on its way comes again, before what came after it; once', () => {
    wire.send(frameOf('a'))
    const lost = poll(wire)
    vi.advanceTimersByTime(1)
    wire.send(frameOf('b'))
    lost.destroy()
    expect(wire.bufferedBytes).toBe(2)
    const next = poll(wire)
    vi.advanceTimersByTime(1)
    expect(next.body?.messages).toEqual(['a', 'b'])
    next.arrive()
    const last = poll(wire)
    wire.send(frameOf('c'))
    vi.advanceTimersByTime(1)
    expect(last.body?.messages).toEqual(['c'])
    last.arrive()
  })

  it('nor is it overtaken when the client polls again before the loss is noticed', () => {
    wire.send(frameOf('a'))
    const lost = poll(wire)
    vi.advanceTimersByTime(1)
    wire.send(frameOf('b'))
    const next = poll(wire)
    vi.advanceTimersByTime(1)
    expect([lost.destroyed, next.body?.messages]).toEqual([true, ['a', 'b']])
    next.arrive()
  })

  it('a ping is answered by the poll that follows the one which carried what was sent before it', () => {
    let answers = 0
    wire.send(frameOf('a'))
    wire.ping(() => answers++)
    const lost = poll(wire)
    vi.advanceTimersByTime(1)
    lost.destroy()
    const whole = poll(wire)
    vi.advanceTimersByTime(1)
    whole.arrive()
    expect(answers).toBe(0)
    poll(wire)
    expect(answers).toBe(1)
  })

  it('closed: the poll that is held, and any later one, is answered 410; nothing is kept any more', () => {
    const held = poll(wire)
    wire.close()
    wire.send(frameOf('a'))
    const later = poll(wire)
    vi.advanceTimersByTime(2 * HOLD_MS)
    expect([held.body?.status, later.body?.status, wire.bufferedBytes]).toEqual([410, 410, 0])
  })

  it('paused, it keeps a batch unanswered until it is resumed, or closed', async () => {
    let ready = 0
    wire.pause()
    void wire.ready().then(() => ready++)
    await Promise.resolve()
    expect(ready).toBe(0)
    wire.resume()
    await Promise.resolve()
    expect(ready).toBe(1)
    await wire.ready()
    wire.pause()
    void wire.ready().then(() => ready++)
    wire.close()
    await Promise.resolve()
    expect(ready).toBe(2)
  })
})
