import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatDuration, parseDuration, writeDuration } from '../../src/cli/durations.ts'

describe('durations', () => {
  test.each([
    ['250ms', 250],
    ['90s', 90_000],
    ['1.5s', 1_500],
    ['5m', 300_000],
    ['1h30m', 5_400_000],
    ['1d', 86_400_000],
    ['0', 0]
  ])('%s is %d ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms)
  })

  test.each(['', '90', '-5s', '5 s', 's', '5x', '1e3s', 'm5', '5s ', `${'9'.repeat(400)}d`])('%j is none', text => {
    expect(parseDuration(text)).toBeUndefined()
  })

  test('writeDuration: what it writes is read back as the same number', () => {
    fc.assert(
      fc.property(fc.nat(2 ** 31), ms => {
        expect(parseDuration(writeDuration(ms))).toBe(ms)
      })
    )
  })

  test.each([
    [0, '0ms'],
    [0.25, '0.25ms'],
    [1.5, '1.5ms'],
    [999, '999ms'],
    [1_234, '1.2s'],
    [59_999, '59.9s'],
    [60_000, '1m'],
    [90_000, '1m 30s'],
    [3_600_000, '1h'],
    [90_061_000, '1d 1h'],
    [-1_500, '-1.5s'],
    [Number.POSITIVE_INFINITY, '–']
  ])('formatDuration(%d) is %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text)
  })
})
