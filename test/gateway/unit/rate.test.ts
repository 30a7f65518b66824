import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Rate } from '../../../src/net/gateway/clients/rate.ts'
import { Throttle } from '../../../src/net/gateway/clients/throttle.ts'
import type { Wire } from '../../../src/net/gateway/protocol/wire.ts'

describe('a rate', () => {
  it('a burst costs no wait; the one that empties it waits for the next', () => {
    const rate = new Rate(50, 200, 0)
    const waits = Array.from({ length: 200 }, () => rate.take(0))
    expect(waits.slice(0, 199).every(wait => wait === 0)).toBe(true)
    expect(waits[199]).toBe(20)
    expect(rate.take(0)).toBe(40)
  })

  it('one who waits as long as he is told goes on at the rate', () => {
    const rate = new Rate(50, 10, 0)
    let nowMs = 0
    let taken = 0
    while (nowMs < 10_000) {
      nowMs += rate.take(nowMs)
      taken++
    }
    expect(taken).toBeGreaterThan(495)
    expect(taken).toBeLessThanOrEqual(511)
  })

  it('a pause fills it up, and no more than that', () => {
    const rate = new Rate(50, 10, 0)
    for (let i = 0; i < 30; i++) {
      rate.take(0)
    }
    const waits = Array.from({ length: 10 }, () => rate.take(3_600_000))
    expect(waits.filter(wait => wait === 0)).toHaveLength(9)
  })
})

describe('a throttle', () => {
  const pauses: string[] = []
  const wire = { pause: () => pauses.push('pause'), resume: () => pauses.push('resume') } as unknown as Wire

  beforeEach(() => {
    vi.useFakeTimers()
    pauses.length = 0
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('holds a socket back while it is above the rate, and lets it go on by itself', () => {
    const throttle = new Throttle(wire, 10, 2)
    expect(throttle.frame(performance.now())).toBeUndefined()
    expect(throttle.frame(performance.now())).toBe(0)
    expect(pauses).toEqual(['pause'])
    vi.advanceTimersByTime(99)
    expect(pauses).toEqual(['pause'])
    vi.advanceTimersByTime(1)
    expect(pauses).toEqual(['pause', 'resume'])
  })

  it('the more came at once, the longer it is held back', () => {
    const throttle = new Throttle(wire, 10, 1)
    for (let i = 0; i < 3; i++) {
      throttle.frame(performance.now())
    }
    vi.advanceTimersByTime(299)
    expect(pauses).not.toContain('resume')
    vi.advanceTimersByTime(1)
    expect(pauses.at(-1)).toBe('resume')
  })

  it('tells for how long it has held a socket back that never pauses, and forgets that after a pause', () => {
    const throttle = new Throttle(wire, 10, 2)
    throttle.frame(performance.now())
    let heldMs: number | undefined
    for (let i = 0; i < 100; i++) {
      heldMs = throttle.frame(performance.now())
      vi.advanceTimersByTime(100)
    }
    expect(heldMs).toBe(9_900)
    vi.advanceTimersByTime(1_000)
    expect(throttle.frame(performance.now())).toBeUndefined()
    expect(throttle.frame(performance.now())).toBe(0)
  })

  it('at its end no timer is left', () => {
    const throttle = new Throttle(wire, 10, 1)
    throttle.frame(performance.now())
    throttle.end()
    expect(vi.getTimerCount()).toBe(0)
  })
})
