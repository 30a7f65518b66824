import { describe, expect, test } from 'vitest'
import { Crowd } from '../../src/cli/sim/crowd.ts'
import { FaultDriver } from '../../src/cli/sim/fault-driver.ts'
import type { Fault } from '../../src/cli/sim/faults.ts'
import type { Fleet } from '../../src/cli/sim/fleet.ts'
import { Ledger } from '../../src/cli/sim/ledger.ts'

/** Notes what it is told, and starts nothing. */
function setup() {
  const calls: string[] = []
  const ledger = new Ledger()
  const crowd = new Crowd({ seed: 1, replicas: 3, ledger })
  const fleet = {
    worker: (replica: number) => ({ signal: (signal: string) => calls.push(`${signal} ${replica}`) }),
    killReplica: async (replica: number) => void calls.push(`kill ${replica}`),
    stopReplica: async (replica: number) => void calls.push(`stop ${replica}`),
    startReplica: async (replica: number) => void calls.push(`start ${replica}`),
    setLinks: async (groups: readonly number[][], mode: string) => void calls.push(`${mode} ${groups.join('|')}`)
  }
  const driver = new FaultDriver(fleet as unknown as Fleet, crowd, ledger)
  for (const replica of [0, 1, 2]) {
    driver.ready(replica)
  }
  return { calls, ledger, driver }
}

/** Waits that the test ends. */
function waits(): { wait: () => Promise<void>; end: (index: number) => void } {
  const ends: (() => void)[] = []
  return { wait: () => new Promise(resolve => ends.push(resolve)), end: index => ends[index]?.() }
}

const settled = () => new Promise(resolve => setImmediate(resolve))
const kill = (replica: number): Fault => ({ kind: 'kill', atMs: 0, untilMs: 1, replica })
const links = (kind: 'cut' | 'blackhole', ...groups: [number[], number[]]): Fault => ({ kind, atMs: 0, untilMs: 1, groups })

describe('FaultDriver', () => {
  test('kill: mended when the replica is ready again, not when it is started', async () => {
    const { calls, ledger, driver } = setup()
    const { wait, end } = waits()
    const run = driver.run(kill(1), wait)
    await settled()
    end(0)
    await settled()
    expect(calls).toEqual(['kill 1', 'start 1'])
    expect(ledger.disturbances[0]?.untilMs).toBe(Number.POSITIVE_INFINITY)
    driver.ready(1)
    await run
    expect(ledger.disturbances[0]?.untilMs).toBeLessThan(Number.POSITIVE_INFINITY)
    expect(driver.log[0]?.endedMs).toBe(ledger.disturbances[0]?.untilMs)
  })

  test('a replica that is not yet back is not broken again', async () => {
    const { calls, driver } = setup()
    const { wait, end } = waits()
    const run = driver.run(kill(1), wait)
    await driver.run({ ...kill(1), kind: 'pause' } as Fault, wait)
    end(0)
    await settled()
    await driver.run(kill(1), wait)
    driver.ready(1)
    await run
    expect(calls).toEqual(['kill 1', 'start 1'])
    expect(driver.log).toHaveLength(1)
  })

  test('pause: stopped and continued; known as paused meanwhile', async () => {
    const { calls, driver } = setup()
    const { wait, end } = waits()
    const run = driver.run({ kind: 'pause', atMs: 0, untilMs: 1, replica: 2 }, wait)
    await settled()
    expect(driver.isPaused(2)).toBe(true)
    end(0)
    await run
    expect(driver.isPaused(2)).toBe(false)
    expect(calls).toEqual(['SIGSTOP 2', 'SIGCONT 2'])
  })

  test('two faults on one link: the end of the first does not mend what the second broke', async () => {
    const { calls, driver } = setup()
    const { wait, end } = waits()
    const first = driver.run(links('cut', [0], [1]), wait)
    await settled()
    const second = driver.run(links('blackhole', [0, 2], [1]), wait)
    await settled()
    end(0)
    await first
    end(1)
    await second
    expect(calls).toEqual(['cut 0|1', 'blackhole 0,2|1', 'blackhole 0|1', 'open 0|1', 'open 2|1'])
  })
})
