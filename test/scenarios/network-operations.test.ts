import { describe, expect, it } from 'vitest'
import type { SimReplica, Simulation } from '../../src/testing/index.ts'
import { crowd, verdicts } from '../support/scenario.ts'
import { runAlive, startCluster } from '../support/sim.ts'

const lagOf = (at: SimReplica, id: string): number | undefined => at.tracker.replicas().find(replica => replica.id === id)?.lagMs

/** What `at` says of `id`, in order, reasons of permdown included. */
function permdowns(at: SimReplica, id: string): string[] {
  const reasons: string[] = []
  at.tracker.addEventListener('replica:permdown', ({ detail }) => void (detail.id === id && reasons.push(detail.reason)))
  return reasons
}

const statusOf = (at: SimReplica, id: string): string | undefined => at.tracker.replicas().find(replica => replica.id === id)?.status

/** Runs until `at` holds `id` in that status. */
async function untilStatus(sim: Simulation, at: SimReplica, id: string, status: string | undefined): Promise<void> {
  for (let tries = 0; statusOf(at, id) !== status; tries++) {
    expect(tries, `${id} is ${status}`).toBeLessThan(1_000)
    await sim.run(100)
  }
}

describe('what a replica says of the others', () => {
  it('O2: the lag of one whose events are held back: grows from when they are known of, at the one who lacks them only, and is 0 again', async () => {
    const { sim, a, b, c } = await startCluster()
    const users = crowd(a, 'user:', 3)
    await sim.converge()
    expect([lagOf(b, 'a'), lagOf(c, 'a')]).toEqual([0, 0])
    sim.hold(a, b, { types: ['delta'] })
    sim.hold(c, b, { types: ['delta'] })
    users.push(...crowd(a, 'late:', 2))
    await sim.run(2_500)
    const early = lagOf(b, 'a') as number
    expect(early).toBeGreaterThan(0)
    await sim.run(5_000)
    expect(lagOf(b, 'a')).toBe(early + 5_000)
    expect([lagOf(b, 'c'), lagOf(c, 'a')]).toEqual([0, 0])
    sim.heal()
    await runAlive(sim, users, 5_000)
    await sim.converge()
    expect(lagOf(b, 'a')).toBe(0)
  })

  it('O3: one that falls silent: suspect, down, gone for good as silent; its presences are unknown meanwhile', async () => {
    const { sim, a, b, c } = await startCluster({ options: { permdownAfterMs: 60_000 } })
    crowd(c, 'user:', 1)
    await sim.converge()
    const [said, reasons] = [verdicts(a, 'c'), permdowns(a, 'c')]
    sim.kill(c, { silent: true })
    await untilStatus(sim, a, 'c', 'suspect')
    expect(a.tracker.get('room', 'user:0')).toMatchObject([{ state: 'unknown' }])
    await untilStatus(sim, a, 'c', 'down')
    await untilStatus(sim, a, 'c', undefined)
    expect([said, reasons]).toEqual([['suspect', 'down', 'permdown'], ['silent']])
    expect(statusOf(b, 'a')).toBe('up')
  })

  it('O3: one that is heard again is up; one that restarts, says goodbye, or is forgotten is gone for good, and why is said', async () => {
    const { sim, a, b, c } = await startCluster()
    const ofC = verdicts(a, 'c')
    sim.pause(c)
    await untilStatus(sim, a, 'c', 'suspect')
    sim.resume(c)
    await untilStatus(sim, a, 'c', 'up')
    expect(ofC).toEqual(['suspect', 'up'])
    const [reasonsB, reasonsC] = [permdowns(a, 'b'), permdowns(a, 'c')]
    sim.restart(c)
    await sim.run(3_000)
    expect([statusOf(a, 'c'), reasonsC]).toEqual(['up', ['superseded']])
    await sim.stop(b, { announce: true })
    await sim.run(1_000)
    expect(reasonsB).toEqual(['left'])
    sim.kill(c)
    await untilStatus(sim, a, 'c', 'down')
    a.tracker.forget('c')
    await sim.run(1_000)
    expect(reasonsC).toEqual(['superseded', 'forgotten'])
  })

  it('O3: ready: not before the state of every replica first met is complete, and then not partial', async () => {
    const { sim, a } = await startCluster()
    crowd(a, 'user:', 500)
    await sim.settle()
    const newcomer = sim.add()
    for (const from of sim.replicas.slice(0, 3)) {
      sim.hold(from, newcomer, { types: ['delta'] })
    }
    let isReady = false
    void newcomer.tracker.ready.then(() => {
      isReady = true
    })
    await sim.run(3_000)
    expect([isReady, newcomer.tracker.isOnline('user:0')]).toEqual([false, undefined])
    sim.heal()
    await sim.until(newcomer.tracker.ready)
    expect([newcomer.tracker.partial, newcomer.tracker.count('room').keys]).toEqual([false, 500])
  })

  it('O3: ready with an origin that never comes: after `readyTimeoutMs`, and partial', async () => {
    const { sim, a } = await startCluster()
    crowd(a, 'user:', 10)
    await sim.settle()
    const newcomer = sim.add()
    for (const from of sim.replicas.slice(0, 3)) {
      sim.hold(from, newcomer, { types: ['delta'] })
    }
    await sim.until(newcomer.tracker.ready)
    expect([newcomer.tracker.partial, newcomer.tracker.count('room').keys]).toEqual([true, 0])
  })
})
