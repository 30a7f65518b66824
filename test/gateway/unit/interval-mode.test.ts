import { describe, expect, it } from 'vitest'
import { IntervalMode } from '../../../src/net/gateway/feeds/interval-mode.ts'
import { resolved } from './fakes.ts'

const HOLD_MS = 10_000
const modeOf = (interval: object = {}): IntervalMode =>
  new IntervalMode(resolved({ interval: { abovePresences: 100, aboveFanOut: 1_000, holdMs: HOLD_MS, ...interval } }).interval, 0)

/** Notes `perSecond` deliveries for so long, ten times a second, and judges each time. Returns when the mode changed, in ms. */
function run(mode: IntervalMode, perSecond: number, presences: number, fromMs: number, toMs: number): number[] {
  const changes: number[] = []
  for (let ms = fromMs; ms <= toMs; ms += 100) {
    mode.note(perSecond / 10, 1, ms)
    if (mode.judge(presences, ms)) {
      changes.push(ms)
    }
  }
  return changes
}

describe('interval mode', () => {
  it('is entered above the presences allowed, not at them', () => {
    const mode = modeOf()
    expect([mode.judge(100, 0), mode.on]).toEqual([false, false])
    expect([mode.judge(101, 1), mode.on]).toEqual([true, true])
    expect([mode.judge(102, 2), mode.on]).toEqual([false, true])
  })

  it('is left below 0.8 times as many, after holdMs without a break', () => {
    const mode = modeOf()
    mode.judge(101, 0)
    expect([mode.judge(99, 10), mode.judge(80, 5 * HOLD_MS), mode.on]).toEqual([false, false, true])
    const calmMs = 6 * HOLD_MS
    expect(mode.judge(79, calmMs)).toBe(false)
    expect(mode.judge(79, calmMs + HOLD_MS - 1)).toBe(false)
    expect([mode.judge(79, calmMs + HOLD_MS), mode.on]).toEqual([true, false])
  })

  it('a break starts the wait anew, and so does a later stay in the mode', () => {
    const mode = modeOf()
    mode.judge(101, 0)
    mode.judge(10, 1_000)
    mode.judge(90, 1_000 + HOLD_MS - 1)
    expect(mode.judge(10, 1_000 + HOLD_MS)).toBe(false)
    expect(mode.judge(10, 1_000 + 2 * HOLD_MS)).toBe(true)
    expect(mode.judge(101, 1_000 + 3 * HOLD_MS)).toBe(true)
    expect(mode.judge(10, 1_000 + 4 * HOLD_MS)).toBe(false)
    expect(mode.judge(10, 1_000 + 5 * HOLD_MS)).toBe(true)
  })

  it('is entered when more than aboveFanOut deliveries a second would be made for some seconds, and not below', () => {
    expect(run(modeOf(), 800, 10, 0, 60_000)).toEqual([])
    const [enteredMs] = run(modeOf(), 2_000, 10, 0, 60_000)
    expect(enteredMs).toBeGreaterThan(1_000)
    expect(enteredMs).toBeLessThan(10_000)
  })

  it('one large batch counts as what it is: changes times watchers, averaged over seconds', () => {
    const mode = modeOf()
    mode.note(10, 100, 0)
    expect(mode.judge(10, 0)).toBe(false)
    mode.note(100, 100, 0)
    expect(mode.judge(10, 0)).toBe(true)
    const late = modeOf()
    late.note(100, 100, 60_000)
    expect(late.judge(10, 60_000)).toBe(true)
    const early = modeOf()
    early.note(100, 100, 0)
    expect(early.judge(10, 60_000)).toBe(false)
    const watched = modeOf()
    watched.note(1_000_000, 0, 0)
    expect(watched.judge(10, 0)).toBe(false)
  })

  it('is left below half of it, and not between half and all of it', () => {
    const mode = modeOf()
    expect(run(mode, 3_000, 10, 0, 20_000)).toHaveLength(1)
    expect(run(mode, 700, 10, 20_100, 100_000)).toEqual([])
    const [leftMs] = run(mode, 300, 10, 100_100, 200_000)
    expect(leftMs).toBeGreaterThanOrEqual(100_100 + HOLD_MS)
    expect(leftMs).toBeLessThan(100_100 + HOLD_MS + 15_000)
    expect(mode.on).toBe(false)
  })

  it('both must be calm to come back', () => {
    const mode = modeOf()
    run(mode, 3_000, 200, 0, 20_000)
    expect(run(mode, 0, 200, 20_100, 100_000)).toEqual([])
    expect(run(mode, 3_000, 10, 100_100, 200_000)).toEqual([])
    expect(run(mode, 0, 10, 200_100, 300_000)).toHaveLength(1)
  })

  it('does not flap at a load that stays about a limit', () => {
    const mode = modeOf()
    let changes = 0
    for (let ms = 0; ms < 600_000; ms += 100) {
      changes += Number(mode.judge(100 + (Math.floor(ms / 100) % 3) - 1, ms))
    }
    expect(changes).toBe(1)
  })
})
