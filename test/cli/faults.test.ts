import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { describeFault, FAULT_KINDS, scheduleFaults } from '../../src/cli/sim/faults.ts'
import { replicaName } from '../../src/cli/sim/fleet.ts'
import { createRandom } from '../../src/tracker/environment.ts'

describe('scheduleFaults', () => {
  const runs = fc.record({
    seed: fc.nat(1_000),
    replicas: fc.integer({ min: 2, max: 9 }),
    runMs: fc.integer({ min: 5_000, max: 300_000 }),
    everyMs: fc.integer({ min: 500, max: 20_000 }),
    kinds: fc.subarray([...FAULT_KINDS])
  })

  test('whatever is asked: faults end before the run does, and never take more than a minority away', () => {
    fc.assert(
      fc.property(runs, ({ seed, ...options }) => {
        const faults = scheduleFaults({ ...options, random: createRandom(seed) })
        for (const fault of faults) {
          expect(options.kinds).toContain(fault.kind)
          expect(fault.untilMs).toBeGreaterThan(fault.atMs)
          expect(fault.untilMs).toBeLessThanOrEqual(options.runMs * 0.9)
          const away = faults.filter(other => 'replica' in other && other.atMs <= fault.atMs && other.untilMs > fault.atMs)
          expect(away.length).toBeLessThanOrEqual(Math.max(1, Math.floor((options.replicas - 1) / 2)))
          if ('groups' in fault) {
            const members = fault.groups.flat()
            expect(new Set(members).size).toBe(members.length)
            expect(fault.groups.every(group => group.length > 0)).toBe(true)
          }
        }
      })
    )
  })

  test('the same seed gives the same schedule; all kinds take their turn', () => {
    const options = { kinds: FAULT_KINDS, replicas: 5, runMs: 120_000, everyMs: 5_000 }
    const first = scheduleFaults({ ...options, random: createRandom(4) })
    expect(scheduleFaults({ ...options, random: createRandom(4) })).toEqual(first)
    expect(scheduleFaults({ ...options, random: createRandom(5) })).not.toEqual(first)
    expect(new Set(first.map(fault => fault.kind)).size).toBe(FAULT_KINDS.length)
  })

  test('none asked: none', () => {
    expect(scheduleFaults({ kinds: [], replicas: 3, runMs: 60_000, everyMs: 1_000, random: createRandom(1) })).toEqual([])
  })

  test('a fault in words', () => {
    expect(describeFault({ kind: 'kill', atMs: 0, untilMs: 1, replica: 1 }, replicaName)).toBe('kill b')
    expect(describeFault({ kind: 'cut', atMs: 0, untilMs: 1, groups: [[0], [1, 2]] }, replicaName)).toBe('cut a | b c')
    expect(replicaName(27)).toBe('b1')
  })
})
