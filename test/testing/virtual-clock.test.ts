import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { VirtualClock } from '../../src/testing/virtual-clock.ts'

describe('VirtualClock', () => {
  test('tasks run in the order of their time, those of one time in the order of scheduling', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 60 }), delays => {
        const clock = new VirtualClock()
        const ran: [number, number][] = []
        delays.forEach((delayMs, index) => {
          clock.after(delayMs, () => ran.push([clock.nowMs, index]))
        })
        while (clock.step(10)) {}
        const expected = delays.map((delayMs, index): [number, number] => [delayMs, index]).sort((a, b) => a[0] - b[0] || a[1] - b[1])
        expect(ran).toEqual(expected)
        expect(clock.nowMs).toBe(10)
      })
    )
  })

  test('a task scheduled with delay 0 runs after the caller, at the same time', () => {
    const clock = new VirtualClock()
    const ran: string[] = []
    clock.after(5, () => {
      clock.after(0, () => ran.push(`inner at ${clock.nowMs}`))
      ran.push('outer')
    })
    while (clock.step(5)) {}
    expect(ran).toEqual(['outer', 'inner at 5'])
  })

  test('a cancelled task never runs, and does not count as waiting', () => {
    const clock = new VirtualClock()
    const cancel = clock.after(1, () => expect.fail('it ran'))
    cancel()
    cancel()
    expect(clock.waiting).toBe(0)
    expect(clock.step(10)).toBe(false)
  })

  test('a task in the past runs now: time never goes back', () => {
    const clock = new VirtualClock()
    clock.step(100)
    let ranAtMs = -1
    clock.at(3, () => {
      ranAtMs = clock.nowMs
    })
    clock.step(100)
    expect(ranAtMs).toBe(100)
  })

  test('a bad delay names itself', () => {
    expect(() => new VirtualClock().after(Number.NaN, () => {})).toThrow('delayMs is NaN')
    expect(() => new VirtualClock().after(-1, () => {})).toThrow('delayMs is -1')
  })
})
