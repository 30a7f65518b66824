import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Backlog } from '../../../src/net/gateway/clients/backlog.ts'
import { Receipts } from '../../../src/net/gateway/clients/receipts.ts'
import type { Wire } from '../../../src/net/gateway/protocol/wire.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

describe('INV-94: a backlog', () => {
  it('above the limit nothing is taken until half of it has been read', () => {
    const backlog = new Backlog(100)
    expect([backlog.takes(100), backlog.isBehind]).toEqual([true, false])
    expect([backlog.takes(101), backlog.isBehind]).toEqual([false, true])
    expect([backlog.takes(0), backlog.hasRead(51), backlog.hasRead(50)]).toEqual([false, false, true])
    expect([backlog.takes(60), backlog.isBehind, backlog.hasRead(0)]).toEqual([true, false, false])
  })

  it('to look whether it has read is to look whether it is behind', () => {
    const backlog = new Backlog(100)
    expect([backlog.hasRead(101), backlog.isBehind]).toEqual([false, true])
  })

  it('tells for how long it has been behind, from the first time on', () => {
    const backlog = new Backlog(100)
    expect(backlog.behindMs(performance.now())).toBe(0)
    backlog.takes(101)
    vi.advanceTimersByTime(300)
    backlog.takes(500)
    expect(backlog.behindMs(performance.now())).toBe(300)
    backlog.hasRead(0)
    expect(backlog.behindMs(performance.now())).toBe(0)
  })
})

describe('receipts', () => {
  const answers: (() => void)[] = []
  const wire = { ping: (answered: () => void) => answers.push(answered) } as unknown as Wire

  it('true when the client answers, false when it does not in time; a late answer changes nothing', async () => {
    const receipts = new Receipts(wire)
    const first = receipts.ask(100)
    const second = receipts.ask(100)
    answers.shift()?.()
    vi.advanceTimersByTime(100)
    answers.shift()?.()
    expect([await first, await second, vi.getTimerCount()]).toEqual([true, false, 0])
  })

  it('false for all at the end', async () => {
    const receipts = new Receipts(wire)
    const asked = [receipts.ask(1_000), receipts.ask(1_000)]
    receipts.end()
    receipts.end()
    expect([await Promise.all(asked), vi.getTimerCount()]).toEqual([[false, false], 0])
  })
})
