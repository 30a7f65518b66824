import { describe, expect, test } from 'vitest'
import { createSimulation, type SimReplica, type Simulation } from '../../src/testing/index.ts'

const keys = (replica: SimReplica, topic = 'room'): string[] => [...replica.tracker.list(topic).keys()].sort()

async function settled(options: Parameters<typeof createSimulation>[0] = {}): Promise<Simulation> {
  const sim = createSimulation(options)
  await sim.run(2_500)
  await sim.settle()
  return sim
}

describe('createSimulation: time and processes', () => {
  test('replicas have names, clocks of their own, and can be used at once', async () => {
    const sim = createSimulation()
    const [a, b, c] = sim.replicas
    expect(sim.replicas.map(({ name, id, state }) => [name, id, state])).toEqual([
      ['a', 'a', 'running'],
      ['b', 'b', 'running'],
      ['c', 'c', 'running']
    ])
    expect(new Set([a.mono(), b.mono(), c.mono()]).size).toBe(3)
    a.tracker.connect('ann').track('room')
    await sim.settle()
    expect(sim.nowMs).toBeLessThan(100)
    expect([keys(b), keys(c)]).toEqual([['ann'], ['ann']])
    expect(sim.transitions(c)).toMatchObject([{ type: 'online', user: 'ann' }])
  })

  test('run advances both clocks; a wall clock that is shifted moves alone', async () => {
    const sim = createSimulation({ replicas: 1, wallClockMs: 1_000_000 })
    const [a] = sim.replicas
    const startMs = a.mono()
    await sim.run(750)
    sim.shiftWallClock(a, -5_000)
    expect([a.mono() - startMs, a.wall()]).toEqual([750, 995_750])
  })

  test('a killed replica says nothing; restarted, it is another life under the same handle', async () => {
    const sim = await settled({ options: { graceMs: 1_000 } })
    const [a, b] = sim.replicas
    const before = a.tracker
    a.tracker.connect('ann').track('room')
    await sim.settle()
    sim.kill(a)
    expect(a.state).toBe('dead')
    sim.restart(a, { wallClockMs: 42_000_000 })
    expect([a.state, a.wall(), a.tracker === before, a.id]).toEqual(['running', 42_000_000, false, 'a'])
    expect(sim.diffs(a)).toEqual([])
    await sim.run(10_000)
    expect(keys(b)).toEqual([])
  })

  test('restart with newId: another replica at the same address', async () => {
    const sim = await settled()
    const [a, b] = sim.replicas
    sim.restart(a, { newId: true })
    await sim.settle()
    expect([a.name, a.id]).toEqual(['a', 'a.1'])
    expect(b.tracker.replicas().map(({ id }) => id)).toContain('a.1')
  })

  test('stop says goodbye and ends the process; add brings one more', async () => {
    const sim = await settled()
    const [a, b] = sim.replicas
    await sim.stop(a)
    expect([a.state, sim.sizes(a).timers]).toEqual(['dead', 0])
    const d = sim.add({ options: { graceMs: 1 } })
    d.tracker.connect('dan').track('room')
    await sim.settle()
    expect([d.name, keys(b)]).toEqual(['d', ['dan']])
  })

  test('a paused replica keeps its state and catches up; requests to it wait', async () => {
    const sim = await settled()
    const [a, b] = sim.replicas
    sim.pause(b)
    const ran: string[] = []
    sim.request(b, () => ran.push('request'))
    a.tracker.connect('ann').track('room')
    await sim.run(500)
    expect([keys(b), ran, b.state]).toEqual([[], [], 'paused'])
    sim.resume(b)
    await sim.run(10)
    expect([keys(b), ran, b.state]).toEqual([['ann'], ['request'], 'running'])
  })

  test('until gives what the promise gives, and throws when it takes too long', async () => {
    const sim = createSimulation()
    await sim.until(sim.replicas[0].tracker.ready)
    await expect(sim.until(Promise.reject(new Error('no')))).rejects.toThrow('no')
    await expect(sim.until(new Promise(() => {}), { withinMs: 50 })).rejects.toThrow('not settled after 50 ms of virtual time')
  })

  test('time passes once at a time', async () => {
    const sim = createSimulation()
    const first = sim.run(10)
    await expect(sim.run(10)).rejects.toThrow('await the run before')
    await first
  })

  test('a bad number of replicas names itself', () => {
    expect(() => createSimulation({ replicas: 0 })).toThrow('replicas is 0')
  })
})

describe('createSimulation: the network', () => {
  test('cut and heal, in one direction and both', async () => {
    const sim = await settled({ replicas: 2 })
    const [a, b] = sim.replicas
    sim.cut(a, b, { oneWay: true })
    a.tracker.connect('ann').track('room')
    b.tracker.connect('bob').track('room')
    await sim.run(1_000)
    expect([keys(a), keys(b)]).toEqual([['ann', 'bob'], ['bob']])
    sim.heal()
    await sim.settle()
    expect(keys(b)).toEqual(['ann', 'bob'])
  })

  test('hold, held, deliver, drop, duplicate: frames of one direction by hand', async () => {
    const sim = await settled({ replicas: 2 })
    const [a, b] = sim.replicas
    sim.hold(a, b, { types: ['delta'] })
    for (const user of ['ann', 'bob', 'cas']) {
      a.tracker.connect(user).track('room')
      await sim.run(100)
    }
    const types = sim.held(a, b).map(({ type }) => type)
    expect(new Set(types)).toEqual(new Set(['delta']))
    expect(keys(b)).toEqual([])
    expect(sim.duplicate(a, b, 0)).toBe(true)
    expect(sim.held(a, b)).toHaveLength(types.length)
    expect(sim.deliver(a, b, 0)).toBe(true)
    await sim.run(0)
    sim.drop(a, b, 0)
    expect(sim.held(a, b)).toHaveLength(types.length - 2)
    expect(() => sim.deliver(a, b, 99)).toThrow('no frame 99 is held')
    sim.heal()
    await sim.settle()
    expect(keys(b)).toEqual(['ann', 'bob', 'cas'])
  })

  test('slow: latency both ways; lost frames are repaired', async () => {
    const sim = await settled({ replicas: 2 })
    const [a, b] = sim.replicas
    sim.slow(a, b, { latencyMs: 300 })
    a.tracker.connect('ann').track('room')
    await sim.run(299)
    expect(keys(b)).toEqual([])
    sim.slow(a, b, { lossRate: 0.5, duplicateRate: 0.3, reorder: true })
    b.tracker.connect('bob').track('room')
    await sim.run(20_000)
    expect([keys(a), keys(b)]).toEqual([
      ['ann', 'bob'],
      ['ann', 'bob']
    ])
    expect(() => sim.slow(a, b, { lossRate: 2 })).toThrow('lossRate is 2')
  })

  test('a line: the ends know each other only through the middle', async () => {
    const sim = await settled({ topology: 'line' })
    const [a, b, c] = sim.replicas
    a.tracker.connect('ann').track('room')
    await sim.settle()
    expect(keys(c)).toEqual(['ann'])
    expect([sim.bytes(a, c), sim.bytes(a, b) > 0, sim.traffic(b, c).bytesOf.heartbeat !== undefined]).toEqual([0, true, true])
  })

  test('a machine that dies takes its goodbye with it: its peers hear of it by silence', async () => {
    const sim = await settled()
    const [a, b] = sim.replicas
    const suspected: number[] = []
    b.tracker.addEventListener('replica:suspect', () => suspected.push(sim.nowMs))
    const startMs = sim.nowMs
    sim.kill(a, { silent: true })
    await sim.run(20_000)
    expect((suspected[0] as number) - startMs).toBeGreaterThan(1_000)
  })

  test('settle throws, and says what is missing, while frames are held', async () => {
    const sim = await settled({ replicas: 2 })
    const [a, b] = sim.replicas
    sim.hold(a, b)
    a.tracker.connect('ann')
    await expect(sim.settle({ withinMs: 500 })).rejects.toMatchObject({
      code: 'ERR_NOT_SETTLED',
      missing: expect.stringContaining('b holds a')
    })
  })
})
