import fc from 'fast-check'
import { expect, test } from 'vitest'
import { HeartbeatHistory } from '../../src/tracker/membership/heartbeat-history.ts'

test('heartbeat history, nothing seen yet: the first estimate, give or take a quarter', () => {
  const history = new HeartbeatHistory({ windowSize: 10, firstEstimateMs: 1_000 })
  expect(history.size).toBe(2)
  expect(history.meanMs).toBe(1_000)
  expect(history.deviationMs).toBe(250)
})

test('heartbeat history, a full window: the made-up intervals are gone, the oldest makes room', () => {
  const history = new HeartbeatHistory({ windowSize: 4, firstEstimateMs: 1_000 })
  for (const intervalMs of [2_000, 2_000, 2_000, 2_000]) {
    history.record(intervalMs)
  }
  expect([history.size, history.meanMs, history.deviationMs]).toEqual([4, 2_000, 0])
  history.record(1_000)
  history.record(1_000)
  expect([history.size, history.meanMs, history.deviationMs]).toEqual([4, 1_500, 500])
})

test('heartbeat history, what is no interval: not taken', () => {
  const history = new HeartbeatHistory({ windowSize: 4, firstEstimateMs: 1_000 })
  history.record(-1)
  history.record(Number.NaN)
  expect([history.size, history.meanMs]).toEqual([2, 1_000])
  history.record(Infinity)
  expect(history.meanMs).toBeLessThan(2 ** 31)
})

test('heartbeat history, bad options: refused, with the value and what is allowed', () => {
  expect(() => new HeartbeatHistory({ windowSize: 1, firstEstimateMs: 1_000 })).toThrow('windowSize is 1, allowed is an integer from 2')
  expect(() => new HeartbeatHistory({ windowSize: 9, firstEstimateMs: 0 })).toThrow('firstEstimateMs is 0')
  expect(() => new HeartbeatHistory({ windowSize: 9, firstEstimateMs: NaN })).toThrow(RangeError)
})

test('heartbeat history against the plain formulas: the same mean and deviation, never a negative variance', () => {
  const interval = fc.oneof(
    { weight: 5, arbitrary: fc.double({ min: 900, max: 1_100, noNaN: true }) },
    { weight: 1, arbitrary: fc.constantFrom(0, 1e-300, 0.1, 1_000, 86_400_000, 2 ** 31) }
  )
  fc.assert(
    fc.property(fc.array(interval, { maxLength: 400, size: 'max' }), fc.integer({ min: 2, max: 40 }), (intervals, windowSize) => {
      const history = new HeartbeatHistory({ windowSize, firstEstimateMs: 1_000 })
      const all = [750, 1_250]
      for (const intervalMs of intervals) {
        history.record(intervalMs)
        all.push(intervalMs)
        const window = all.slice(-windowSize)
        const mean = window.reduce((sum, x) => sum + x, 0) / window.length
        const deviation = Math.sqrt(window.reduce((sum, x) => sum + (x - mean) ** 2, 0) / window.length)
        const largest = Math.max(...all.slice(-2 * windowSize))
        expect(Math.abs(history.meanMs - mean)).toBeLessThan(1e-9 * largest + 1e-9)
        expect(Math.abs(history.deviationMs - deviation)).toBeLessThan(1e-7 * largest + 1e-3)
      }
    }),
    { numRuns: 200 }
  )
})
