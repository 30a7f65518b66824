import { describe, expect, test } from 'vitest'
import { VirtualClock } from '../../src/testing/virtual-clock.ts'
import { VirtualProcess } from '../../src/testing/virtual-process.ts'
import { createRandom } from '../../src/tracker/environment.ts'

function setUp(): { clock: VirtualClock; process: VirtualProcess; runUntil: (ms: number) => void } {
  const clock = new VirtualClock()
  const process = new VirtualProcess({ clock, random: createRandom(1).fork('a'), wallClockMs: 1_000_000 })
  return {
    clock,
    process,
    runUntil: ms => {
      while (clock.step(ms)) {}
    }
  }
}

describe('VirtualProcess', () => {
  test('the monotonic clock starts anywhere and advances with virtual time; the wall clock jumps alone', () => {
    const { process, runUntil } = setUp()
    const startMs = process.environment.monotonicMs()
    expect(startMs).toBeGreaterThan(0)
    runUntil(250)
    process.shiftWallClock(-3_600_000)
    expect(process.environment.monotonicMs() - startMs).toBe(250)
    expect(process.environment.wallClockMs()).toBe(1_000_250 - 3_600_000)
  })

  test('a process that goes on runs overdue timers first, in their order, and then reads its input', () => {
    const { process, runUntil } = setUp()
    const ran: string[] = []
    process.schedule(30, () => ran.push('timer 30'))
    process.schedule(20, () => ran.push('timer 20'))
    process.schedule(500, () => ran.push('timer 500'))
    process.pause()
    runUntil(10)
    process.input(() => ran.push('input at 10'))
    runUntil(100)
    process.input(() => ran.push('input at 100'))
    expect(ran).toEqual([])
    process.resume()
    process.input(() => ran.push('input behind the queue'))
    runUntil(100)
    expect(ran).toEqual(['timer 20', 'timer 30', 'input at 10', 'input at 100', 'input behind the queue'])
    runUntil(500)
    expect(ran.at(-1)).toBe('timer 500')
  })

  test('an overdue timer that another overdue timer cancels does not run', () => {
    const { process, runUntil } = setUp()
    const ran: string[] = []
    process.schedule(1, () => {
      ran.push('first')
      cancel()
    })
    const cancel = process.schedule(2, () => ran.push('second'))
    process.pause()
    runUntil(5)
    process.resume()
    runUntil(5)
    expect(ran).toEqual(['first'])
    expect(process.timers).toBe(0)
  })

  test('a process that is paused again while it reads keeps the rest, in order', () => {
    const { process, runUntil } = setUp()
    const ran: number[] = []
    process.pause()
    process.input(() => {
      ran.push(1)
      process.pause()
    })
    process.input(() => ran.push(2))
    process.resume()
    runUntil(1)
    expect(ran).toEqual([1])
    process.resume()
    runUntil(2)
    expect(ran).toEqual([1, 2])
  })

  test('nothing of a killed process runs', () => {
    const { process, runUntil } = setUp()
    const cancel = process.schedule(1, () => expect.fail('a timer ran'))
    process.pause()
    process.input(() => expect.fail('input was read'))
    process.kill()
    process.resume()
    process.input(() => expect.fail('input was read'))
    process.schedule(1, () => expect.fail('a timer ran'))
    cancel()
    runUntil(10)
    expect([process.state, process.timers]).toEqual(['dead', 0])
  })
})
