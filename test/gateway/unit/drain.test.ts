import { describe, expect, it, vi } from 'vitest'
import type { Client } from '../../../src/net/gateway/clients/client.ts'
import { drainClients } from '../../../src/net/gateway/clients/drain.ts'
import { Registry } from '../../../src/net/gateway/clients/registry.ts'

/** Clients that only note when they were ended. */
function crowd(size: number) {
  const registry = new Registry()
  const endedMs: number[] = []
  for (let i = 0; i < size; i++) {
    const client = {
      end: () => {
        endedMs.push(performance.now())
        registry.delete(client, `user${i}`)
      }
    } as unknown as Client
    registry.add(client, `user${i}`)
  }
  return { registry, endedMs }
}

/** The most that lie within any stretch of time of so many ms. */
function densest(timesMs: readonly number[], withinMs: number): number {
  let most = 0
  let from = 0
  timesMs.forEach((timeMs, i) => {
    while (timeMs - (timesMs[from] ?? 0) >= withinMs) {
      from++
    }
    most = Math.max(most, i - from + 1)
  })
  return most
}

describe('draining', () => {
  it('pub-D9: of 2,000 clients no 100 ms see more than 5 % off', async () => {
    const { registry, endedMs } = crowd(2_000)
    const startMs = performance.now()
    await drainClients(registry, 2_000, 5_000, () => false)
    expect([registry.size, endedMs.length]).toEqual([0, 2_000])
    expect(densest(endedMs, 100)).toBeLessThanOrEqual(100)
    expect((endedMs.at(-1) ?? 0) - startMs).toBeGreaterThan(1_800)
    expect((endedMs.at(-1) ?? 0) - startMs).toBeLessThan(6_000)
  })

  it('pub-D9: nor when timers fire early, or all at once after a pause', async () => {
    vi.useFakeTimers()
    const { registry, endedMs } = crowd(2_000)
    let isDone = false
    const drained = drainClients(registry, 2_000, 5_000, () => false).then(() => {
      isDone = true
    })
    for (let i = 0; !isDone; i++) {
      await vi.advanceTimersByTimeAsync(i === 20 ? 1_500 : 1)
    }
    await drained
    vi.useRealTimers()
    expect(endedMs).toHaveLength(2_000)
    expect(densest(endedMs, 100)).toBeLessThanOrEqual(100)
  })

  it('at most perSecond, however many there are', async () => {
    vi.useFakeTimers()
    const { registry, endedMs } = crowd(10_000)
    const startMs = performance.now()
    const drained = drainClients(registry, 10, 1_000, () => false)
    await vi.advanceTimersByTimeAsync(15_000)
    await drained
    vi.useRealTimers()
    expect(endedMs).toHaveLength(10_000)
    expect(densest(endedMs, 1_000)).toBeLessThanOrEqual(1_000)
    expect((endedMs.at(-1) ?? 0) - startMs).toBeLessThan(12_000)
  })

  it.each([0, 1, 3, 19])('%d clients are drained too, in the time that was asked for', async size => {
    vi.useFakeTimers()
    const { registry, endedMs } = crowd(size)
    const drained = drainClients(registry, 500, 5_000, () => false)
    await vi.advanceTimersByTimeAsync(700)
    await drained
    expect([registry.size, endedMs.length, vi.getTimerCount()]).toEqual([0, size, 0])
    vi.useRealTimers()
  })

  it('clients that came in meanwhile are sent on as well', async () => {
    vi.useFakeTimers()
    const { registry, endedMs } = crowd(100)
    const drained = drainClients(registry, 1_000, 5_000, () => false)
    await vi.advanceTimersByTimeAsync(500)
    const late = { end: () => registry.delete(late, 'late') } as unknown as Client
    registry.add(late, 'late')
    await vi.advanceTimersByTimeAsync(1_000)
    await drained
    vi.useRealTimers()
    expect([registry.size, endedMs.length]).toEqual([0, 100])
  })

  it('stops when the gateway stops', async () => {
    vi.useFakeTimers()
    const { registry } = crowd(100)
    let isStopped = false
    const drained = drainClients(registry, 1_000, 5_000, () => isStopped)
    await vi.advanceTimersByTimeAsync(500)
    isStopped = true
    await vi.advanceTimersByTimeAsync(1_000)
    await drained
    vi.useRealTimers()
    expect(registry.size).toBeGreaterThan(30)
  })
})
