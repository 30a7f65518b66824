import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { sharedNowMs } from '../../src/cli/sim/shared-clock.ts'
import { WorkerClients } from '../../src/cli/sim/worker-clients.ts'
import type { Op, OpKind } from '../../src/cli/sim/worker-protocol.ts'
import { WorkerView } from '../../src/cli/sim/worker-view.ts'
import { createSimulation, type SimReplica, type Simulation } from '../../src/testing/index.ts'

let sim: Simulation
let a: SimReplica
let b: SimReplica
let clients: WorkerClients
let seq = 0

beforeEach(async () => {
  sim = createSimulation({ seed: 1, replicas: 2, options: { graceMs: 5_000 } })
  ;[a, b] = sim.replicas as unknown as [SimReplica, SimReplica]
  await sim.settle()
  clients = new WorkerClients(a.tracker, 60_000)
})

afterEach(() => clients.stop())

const op = (kind: OpKind, user: string, topic?: string, atMs = 0): Op => ({
  seq: ++seq,
  atMs,
  kind,
  user,
  ...(topic !== undefined && { topic })
})

describe('WorkerClients', () => {
  test('operations are done in order, and each is confirmed or failed', () => {
    const ops = [
      op('connect', 'ada'),
      op('track', 'ada', 'room'),
      op('track', 'eve', 'room'),
      op('untrack', 'ada', 'room'),
      op('close', 'ada')
    ]
    clients.add(ops)
    expect(clients.didSeqs).toEqual([ops[0], ops[1], ops[3], ops[4]].map(done => done?.seq))
    expect(clients.failures).toMatchObject([{ seq: ops[2]?.seq, code: 'ERR_NOT_CONNECTED' }])
    expect(clients.size).toBe(0)
    expect(clients.ended).toEqual([])
  })

  test('an operation waits for its time', async () => {
    const atMs = sharedNowMs() + 30
    clients.add([op('connect', 'ada', undefined, atMs)])
    expect(clients.didSeqs).toEqual([])
    while (clients.didSeqs.length === 0) {
      await new Promise(resolve => setImmediate(resolve))
    }
    expect(clients.didAtMs[0]).toBeGreaterThanOrEqual(atMs)
  })

  test('a connection that ends by itself is told, with why', () => {
    const connect = op('connect', 'ada')
    clients.add([connect])
    a.tracker.kick('ada')
    expect(clients.ended).toMatchObject([{ user: 'ada', end: 'kicked', connectSeq: connect.seq }])
  })
})

describe('WorkerView', () => {
  test('what others’ clients do is seen, what one’s own do is not; the fold equals the lists through loss and return', async () => {
    const view = new WorkerView(b.tracker)
    const own = new WorkerView(a.tracker)
    clients.add([op('connect', 'ada'), op('track', 'ada', 'room'), op('connect', 'ben'), op('track', 'ben', 'room')])
    await sim.settle()
    expect(view.keys).toEqual(['ada', 'ben'])
    expect(own.keys).toEqual([])
    clients.add([op('lost', 'ada')])
    await sim.run(1_000)
    sim.cut(a, b)
    await sim.run(20_000)
    expect(view.judged.map(({ status }) => status)).toContain('unknown')
    sim.heal()
    await sim.run(20_000)
    const snapshot = view.snapshot(1)
    expect(snapshot).toMatchObject({ topics: ['room'], keys: ['ben'], replicas: [a.tracker.id], unknown: [false], contradictions: [] })
    expect(snapshot.usersOnline).toEqual(['ben'])
    expect(view.presences).toBe(1)
  })
})
