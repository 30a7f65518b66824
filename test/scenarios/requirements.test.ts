import { describe, expect, it, vi } from 'vitest'
import { type Connection, type CountEvent, PresenceFold, type WatchEvent } from '../../src/index.ts'
import type { SimReplica, Simulation } from '../../src/testing/index.ts'
import { PresenceFactory } from '../../src/tracker/presence/presence-factory.ts'
import { ready, startLone } from '../support/lone.ts'
import { crowd, keys, pick, readIntervals, split, stateBytes, verdicts } from '../support/scenario.ts'
import { listed, runAlive, startCluster, told } from '../support/sim.ts'

describe('tracking and queries', () => {
  it('T2: an AbortSignal ends what it owns: all entries of the connection end without a further call, after the grace, in one batch elsewhere', async () => {
    const { sim, a, b } = await startCluster({ replicas: 2, options: { graceMs: 1_000 } })
    const socket = new AbortController()
    const ann = a.tracker.connect('ann', { signal: socket.signal })
    for (let i = 0; i < 5; i++) {
      ann.track(`t${i}`)
    }
    await sim.settle()
    socket.abort()
    expect([ann.open, ann.signal.reason]).toMatchObject([false, { code: 'ERR_CONNECTION_ENDED', end: 'lost' }])
    const left = new Set<number>()
    b.tracker.addEventListener('diff', () => void left.add(b.tracker.topics().size))
    await sim.run(2_000)
    expect(told(sim, b, 'leaves')).toHaveLength(5)
    expect([...left]).toEqual([0])
    expect(() => a.tracker.connect('bob', { signal: socket.signal })).toThrowError(
      expect.objectContaining({ code: 'ERR_CONNECTION_ENDED' })
    )
  })

  it('T5: an update to the same meta, in whatever order its names stand: the same ref, no event, not a byte', async () => {
    const { sim, a, b } = await startCluster({ replicas: 2 })
    const ann = a.tracker.connect('ann')
    const ref = ann.track('room', { status: 'here', n: 1 })
    await sim.settle()
    const before = [stateBytes(sim, a, b), sim.diffs(a).length, sim.diffs(b).length]
    expect(ann.update('room', { n: 1, status: 'here' })).toBe(ref)
    expect(ann.update('room', meta => ({ ...meta }))).toBe(ref)
    await sim.run(1_000)
    expect([stateBytes(sim, a, b), sim.diffs(a).length, sim.diffs(b).length]).toEqual(before)
  })

  it('T9: caps on entries per connection, topic, user and replica: each refused by name, and nothing is changed', async () => {
    const limits = { connectionsPerUser: 2, entriesPerConnection: 2, entriesPerTopic: 3, entriesPerReplica: 9 }
    const { tracker } = await startLone({ limits })
    const [one, two] = [tracker.connect('ann'), tracker.connect('ann')]
    const refused = (limit: keyof typeof limits, call: () => unknown): void =>
      expect(call).toThrowError(expect.objectContaining({ code: 'ERR_LIMIT', limit, max: limits[limit] }))
    refused('connectionsPerUser', () => tracker.connect('ann'))
    one.track('x')
    one.track('y')
    refused('entriesPerConnection', () => one.track('z'))
    two.track('x')
    const bob = tracker.connect('bob')
    bob.track('x')
    const cid = tracker.connect('cid')
    refused('entriesPerTopic', () => cid.track('x'))
    cid.track('y')
    refused('entriesPerReplica', () => bob.track('w'))
    refused('entriesPerReplica', () => tracker.connect('dan'))
    expect([tracker.stats().ownEntries, tracker.count('x').presences, tracker.count('y').presences]).toEqual([9, 3, 2])
  })

  it('Q1: list is answered within the call, during a full partition, with all that was known, and sends nothing', async () => {
    const { sim, replicas, a, b, c } = await startCluster()
    for (const replica of replicas) {
      crowd(replica, replica.name, 3)
    }
    await sim.settle()
    split(sim, [a], [b, c])
    split(sim, [b], [c])
    await sim.run(9_000)
    const frames = (): number => sim.traffic(a, b).frames + sim.traffic(a, c).frames
    const before = frames()
    for (const replica of replicas) {
      expect(keys(replica)).toEqual(['a0', 'a1', 'a2', 'b0', 'b1', 'b2', 'c0', 'c1', 'c2'])
    }
    expect(frames()).toBe(before)
  })
})

describe('what a query costs', () => {
  it('Q1, Q2, Q3: of 5,000 keys, get builds the presences of one, a page those of a page, count none', async () => {
    const { tracker } = await startLone()
    tracker.batch(() => {
      for (let i = 0; i < 5_000; i++) {
        tracker.connect(`user:${i}`).track('room')
      }
      tracker.connect('user:7').track('room')
      tracker.connect('user:7').track('other')
    })
    const built = vi.spyOn(PresenceFactory.prototype, 'presence')
    const cost = (query: () => unknown): number => {
      built.mockClear()
      query()
      return built.mock.calls.length
    }
    try {
      expect(cost(() => tracker.get('room', 'user:7'))).toBe(2)
      expect(cost(() => tracker.list('room', { limit: 10, cursor: 'user:4' }))).toBe(10)
      expect(cost(() => tracker.list('other'))).toBe(1)
      expect(cost(() => tracker.topicsOf('user:7'))).toBe(3)
      expect(cost(() => [tracker.count('room'), tracker.isOnline('user:7'), tracker.topics()])).toBe(0)
      expect(cost(() => tracker.list('room'))).toBe(5_001)
    } finally {
      built.mockRestore()
    }
  })
})

describe('events', () => {
  it('E2: three levels: two devices of one user in two topics are four joins, one key per topic, one user online', async () => {
    const { sim, a, b, c } = await startCluster()
    const counting = c.tracker.watchCount('x')
    await ready(counting)
    const devices = [a, b].map(replica => {
      const connection = replica.tracker.connect('ann')
      connection.track('x')
      connection.track('y')
      return connection
    })
    await sim.settle()
    for (const device of devices) {
      device.close()
      await sim.run(1_000)
    }
    await sim.run(20_000)
    expect([told(sim, c, 'joins').length, told(sim, c, 'leaves').length]).toEqual([4, 4])
    const keyCounts = (await ready<CountEvent>(counting)).map(event => event.keys)
    expect(keyCounts.at(-1)).toBe(0)
    expect(sim.transitions(c).map(({ type, user }) => `${user} ${type}`)).toEqual(['ann online', 'ann offline'])
  })

  it('E2: the first and the last presence of a key are known within the diff: 0 ↔ 1 of each key, once', async () => {
    const { sim, a, b, c } = await startCluster()
    const levels: string[] = []
    c.tracker.addEventListener('diff', ({ detail: { topic, joins, leaves } }) => {
      for (const key of new Set(joins.map(presence => presence.key))) {
        if (c.tracker.get(topic, key).length === joins.filter(presence => presence.key === key).length) {
          levels.push(`${key} in`)
        }
      }
      for (const key of new Set(leaves.map(({ presence }) => presence.key))) {
        if (c.tracker.get(topic, key).length === 0) {
          levels.push(`${key} out`)
        }
      }
    })
    const [one, two] = [a, b].map(replica => crowd(replica, 'ann', 1)[0]) as [Connection, Connection]
    await sim.settle()
    one.close()
    await sim.settle()
    two.close()
    await sim.settle()
    expect(levels).toEqual(['ann0 in', 'ann0 out'])
  })
})

describe('liveness', () => {
  it('L1: whatever a connection sends extends its life; it ends a ttl after the last of it', async () => {
    const { tracker, run } = await startLone()
    const ann = tracker.connect('ann')
    const frames: (() => unknown)[] = [
      () => ann.track('room', { n: 0 }),
      () => ann.update('room', { n: 1 }),
      () => ann.heartbeat(),
      () => ann.untrack('room'),
      () => ann.untrack('room'),
      () => tracker.heartbeat(ann.id)
    ]
    for (const frame of frames) {
      await run(40_000)
      frame()
      expect(ann.open).toBe(true)
    }
    await run(44_900)
    expect(ann.open).toBe(true)
    await run(400)
    expect([ann.open, tracker.heartbeat(ann.id), tracker.connection(ann.id)]).toEqual([false, false, undefined])
    expect(() => ann.track('room')).toThrowError(expect.objectContaining({ end: 'expired' }))
  })

  it.each([0, 1, 2])('L6: a lost session reconnects within the grace, on replica %i: no event on any replica, the same ref', async at => {
    const { sim, replicas, a } = await startCluster()
    const first = a.tracker.connect('ann', { session: 's' })
    const ref = first.track('room', { n: 1 })
    await sim.settle()
    first.lost()
    await sim.run(14_000)
    const second = (replicas[at] as SimReplica).tracker.connect('ann', { session: 's' })
    expect(second.track('room', { n: 1 })).toBe(ref)
    await runAlive(sim, [second], 60_000)
    for (const replica of replicas) {
      expect([told(sim, replica, 'joins').length, told(sim, replica, 'leaves'), told(sim, replica, 'updates')]).toEqual([1, [], []])
      expect(sim.transitions(replica).map(({ type }) => type)).toEqual(['online'])
      expect(listed(replica)).toMatchObject([{ ref, state: 'online' }])
    }
  })

  it('L8: the gateway of 500 connections dies: its signal begins their grace in a few deltas, and ends them in one diff', async () => {
    const { sim, a, b } = await startCluster({ replicas: 2, checks: 'manual' })
    const gateway = new AbortController()
    a.tracker.batch(() => {
      for (let i = 0; i < 500; i++) {
        a.tracker.connect(`user:${i}`, { signal: gateway.signal }).track('room')
      }
    })
    await sim.settle()
    const read = readIntervals(sim)
    gateway.abort()
    await sim.run(1_000)
    expect(read.reduce((sum, { interval }) => sum + interval.marks.length, 0)).toBe(1_000)
    expect(read.length).toBeLessThan(10)
    await sim.run(20_000)
    expect(
      sim
        .diffs(b)
        .map(({ leaves }) => leaves.length)
        .filter(count => count > 0)
    ).toEqual([500])
  })

  it('L8: the replica of 500 connections dies: one diff per topic, after its grace', async () => {
    const { sim, a, b, c } = await startCluster({ checks: 'manual' })
    for (const topic of ['x', 'y']) {
      crowd(a, topic, 250, topic)
    }
    await sim.settle()
    sim.kill(a)
    await sim.run(40_000)
    for (const replica of [b, c]) {
      const leaving = sim.diffs(replica).filter(({ leaves }) => leaves.length > 0)
      expect(leaving.map(({ topic, leaves }) => [topic, leaves.length])).toEqual([
        ['x', 250],
        ['y', 250]
      ])
    }
  })
})

describe('replication', () => {
  it('R5, B5: a newcomer in a cluster of five lists everything one round trip after its first stream opens, and is sent it once', async () => {
    const { sim, replicas } = await startCluster({ replicas: 5, checks: 'manual', network: { conditions: { latencyMs: 50 } } })
    for (const replica of replicas) {
      crowd(replica, replica.name, 200)
    }
    await sim.settle()
    const read = readIntervals(sim)
    const opened: number[] = []
    const late = sim.add()
    sim.observe({
      // Its hello is read half a round trip after the stream opened.
      delivered: (from, _to, message) => void (from === late.name && message.type === 'hello' && opened.push(sim.nowMs - 50))
    })
    while (opened.length === 0) {
      await sim.run(1)
    }
    await sim.run((opened[0] as number) + 100 + 1 - sim.nowMs)
    expect(late.tracker.count('room').keys).toBe(1_000)
    await sim.run(10_000)
    const sent = read.filter(({ to }) => to === late.name).reduce((sum, { interval }) => sum + interval.adds.length, 0)
    expect(sent).toBeLessThanOrEqual(1.2 * 2_000)
    // Two entries per user, at less than the 60 bytes of R8.
    const bytes = replicas.reduce((sum, replica) => sum + stateBytes(sim, replica, late), 0)
    expect(bytes).toBeLessThan(2_000 * 60)
  })

  it('R9: a replica restarts under its id: it supersedes its former life on first contact, and who is back within the grace never left', async () => {
    const { sim, a, b, c } = await startCluster()
    const connect = (i: number): Connection => {
      const connection = a.tracker.connect(`user:${i}`, { session: 's' })
      connection.track('room')
      return connection
    }
    for (let i = 0; i < 20; i++) {
      connect(i)
    }
    await sim.settle()
    const said = verdicts(b, 'a')
    sim.restart(a)
    await sim.run(1_000)
    expect(said).toEqual(['permdown', 'up'])
    // Half of them come back.
    const back = Array.from({ length: 10 }, (_, i) => connect(i))
    await runAlive(sim, back, 40_000)
    for (const replica of [b, c]) {
      expect(told(sim, replica, 'joins')).toHaveLength(20)
      expect(
        told(sim, replica, 'leaves')
          .map(({ presence }) => presence.key)
          .sort()
      ).toEqual(Array.from({ length: 10 }, (_, i) => `user:${i + 10}`).sort())
      expect(keys(replica)).toHaveLength(10)
    }
  })

  it('R10: a replica is away for longer than the forget time: it is reset, and nothing that ended meanwhile comes back', async () => {
    const { sim, replicas, a, b, c } = await startCluster()
    const ann = a.tracker.connect('ann')
    ann.track('room')
    const cid = c.tracker.connect('cid')
    cid.track('room')
    const stays = c.tracker.connect('stays')
    stays.track('room')
    await sim.settle()
    split(sim, [a, b], [c])
    await sim.run(1_000)
    ann.close()
    cid.close()
    await runAlive(sim, [stays], 21 * 60_000)
    expect(a.tracker.replicas().map(({ id }) => id)).toEqual(['a', 'b'])
    const joined = replicas.map(replica => told(sim, replica, 'joins').length)
    sim.heal()
    await runAlive(sim, [stays], 30_000)
    for (const replica of replicas) {
      expect(keys(replica)).toEqual(['stays'])
    }
    // One join more where it had been dropped; none where it always was.
    expect(replicas.map((replica, i) => told(sim, replica, 'joins').length - (joined[i] as number))).toEqual([1, 1, 0])
    expect(c.tracker.replicas().every(({ status, complete }) => status === 'up' && complete)).toBe(true)
  })
})

describe('failure handling', () => {
  it('F5: listeners that throw, reject or never settle delay neither replication nor heartbeats, and each throw is told', async () => {
    const { sim, replicas, a, b, c } = await startCluster()
    const errors: unknown[] = []
    b.tracker.addEventListener('error', ({ detail }) => {
      errors.push((detail.error as Error).message)
      throw new Error('in the listener of errors, too')
    })
    // Errors of the script itself would stop the simulation: only these are expected.
    const mine = Object.assign(new Error('mine'), { code: 'ERR_MINE' })
    b.tracker.addEventListener('diff', () => {
      throw mine
    })
    b.tracker.addEventListener('diff', () => new Promise(() => {}))
    b.tracker.addEventListener('diff', () => Promise.reject(mine))
    b.tracker.addEventListener('online', () => new Promise(() => {}))
    const said = [a, c].map(replica => verdicts(replica, 'b'))
    const connections = replicas.map(replica => replica.tracker.connect(replica.name))
    for (let n = 0; n < 20; n++) {
      for (const connection of connections) {
        connection.track(`room:${n}`)
      }
      await sim.run(25)
      for (const replica of replicas) {
        expect(replica.tracker.count(`room:${n}`).keys).toBe(3)
      }
    }
    await runAlive(sim, connections, 60_000)
    expect(said).toEqual([[], []])
    expect(errors.length).toBe(2 * sim.diffs(b).length)
  })

  it('F5: a listener that blocks its thread for 60 s stops its own replica only: the others go on, it loses nothing, and its users never left for it', async () => {
    const { sim, replicas, a, b, c } = await startCluster()
    const connections = replicas.map(replica => replica.tracker.connect(replica.name))
    let blocks = true
    b.tracker.addEventListener('diff', () => {
      if (blocks) {
        blocks = false
        sim.pause(b)
        sim.schedule(60_000, () => sim.resume(b))
      }
    })
    for (const connection of connections) {
      connection.track('room')
    }
    await sim.run(1_000)
    expect([keys(a), keys(c)].map(list => list.filter(key => key !== 'b'))).toEqual([
      ['a', 'c'],
      ['a', 'c']
    ])
    await runAlive(sim, [connections[0], connections[2]] as Connection[], 60_000)
    await runAlive(sim, connections, 20_000)
    for (const replica of replicas) {
      expect(keys(replica)).toEqual(['a', 'b', 'c'])
    }
    expect(told(sim, b, 'leaves')).toEqual([])
  })

  it.each([1, 2, 3])(
    'F6: crash, restart, partition and clock jumps, around clients that are gone: nothing of them after ttl, grace and the forget time (seed %i)',
    async seed => {
      const times = { ttlMs: 30_000, graceMs: 5_000, permdownAfterMs: 60_000 }
      const { sim, replicas } = await startCluster({ replicas: 4, seed, options: times })
      const random = sim.random.fork('f6')
      for (const replica of replicas) {
        crowd(replica, replica.name, 3)
      }
      await sim.settle()
      // From now on no client says anything.
      const goneMs = sim.nowMs
      const faults: ((one: SimReplica, two: SimReplica) => void)[] = [
        (one, two) => sim.cut(one, two),
        (one, two) => sim.heal(one, two),
        one => sim.kill(one),
        one => sim.restart(one),
        one => sim.restart(one, { wallClockMs: one.wall() - 3_600_000 }),
        one => sim.shiftWallClock(one, random.below(2) === 0 ? 3_600_000 : -3_600_000)
      ]
      const bound = times.ttlMs + times.graceMs + times.permdownAfterMs + 30_000
      while (sim.nowMs < goneMs + bound) {
        const one = pick(random, replicas)
        pick(random, faults)(
          one,
          pick(
            random,
            replicas.filter(replica => replica !== one)
          )
        )
        await sim.run(random.below(4_000))
      }
      for (const replica of replicas.filter(({ state }) => state === 'running')) {
        expect(listed(replica)).toEqual([])
        expect([...replica.tracker.users()]).toEqual([])
      }
    }
  )
})

describe('beyond', () => {
  it('B1: a watcher goes to another replica after 10,000 changes: only the net difference is sent', async () => {
    const { sim, a, b } = await startCluster({ replicas: 2, checks: 'manual' })
    const stay = crowd(a, 'stay', 30)
    const leave = crowd(a, 'leave', 20)
    await sim.settle()
    const fold = new PresenceFold()
    const [snapshot] = (await ready<WatchEvent>(a.tracker.watch('room'))) as [WatchEvent]
    fold.apply(snapshot)
    for (let n = 1; n <= 3_334; n++) {
      stay[n % 10]?.update('room', { n })
      const passing = (n % 2 === 0 ? a : b).tracker.connect(`passing:${n}`)
      passing.track('room')
      passing.untrack('room')
      if (n % 100 === 0) {
        await sim.run(10)
      }
    }
    for (const connection of leave) {
      connection.close()
    }
    crowd(b, 'new', 30)
    await sim.settle()
    const [missed] = (await ready<WatchEvent>(b.tracker.watch('room', { since: snapshot.token }))) as [WatchEvent]
    expect(missed.type === 'diff' && [missed.joins.length, missed.leaves.length, missed.updates.length, missed.replace.length]).toEqual([
      30, 20, 10, 0
    ])
    fold.apply(missed)
    expect(new Map(fold.keys)).toEqual(b.tracker.list('room'))
  })

  /** Restarts each of the five in turn; its clients go elsewhere within the grace. Every other one dies without a goodbye. */
  async function rollingRestart(
    sim: Simulation,
    replicas: readonly SimReplica[],
    clients: Map<string, Connection>,
    restarted: (replica: SimReplica) => void
  ): Promise<void> {
    for (const [i, replica] of replicas.entries()) {
      const users = [...clients].filter(([, connection]) => replica.tracker.connection(connection.id) !== undefined).map(([user]) => user)
      if (i % 2 === 0) {
        await replica.tracker.drain()
        await sim.stop(replica)
      } else {
        sim.kill(replica)
      }
      for (const user of users) {
        await sim.run(10)
        const target = pick(
          sim.random,
          replicas.filter(({ state }) => state === 'running')
        )
        const connection = target.tracker.connect(user, { session: user })
        connection.track('room')
        clients.set(user, connection)
      }
      sim.restart(replica)
      restarted(replica)
      await runAlive(sim, [...clients.values()], 30_000)
    }
  }

  it('B2: a rolling restart of five, with a goodbye or without, 200 clients that reconnect: no watcher sees a join or a leave, every ref stays', async () => {
    const { sim, replicas } = await startCluster({ replicas: 5, checks: 'manual' })
    const clients = new Map<string, Connection>()
    for (let i = 0; i < 200; i++) {
      const connection = (replicas[i % 5] as SimReplica).tracker.connect(`user:${i}`, { session: `user:${i}` })
      connection.track('room')
      clients.set(`user:${i}`, connection)
    }
    await sim.settle()
    const before = new Map(listed(replicas[0] as SimReplica).map(({ key, ref }) => [key, ref]))
    // A replica that starts learns who is here: for its own watchers, who come with a token, that is no news.
    const started = new Map<SimReplica, number>()
    const seen: string[] = []
    sim.observe({
      diff: (replica, { cause, joins, leaves, updates }) => {
        const learns = sim.nowMs - (started.get(replica) ?? Number.NEGATIVE_INFINITY) < 5_000
        if (leaves.length + updates.length > 0 || (joins.length > 0 && !(learns && cause === 'transfer'))) {
          seen.push(`${sim.nowMs} ${replica.name} ${cause} +${joins.length} -${leaves.length} ~${updates.length}`)
        }
      },
      transition: (replica, { type, user }) => void (type === 'offline' && seen.push(`${replica.name}: ${user} offline`))
    })
    await rollingRestart(sim, replicas, clients, replica => void started.set(replica, sim.nowMs))
    expect(seen).toEqual([])
    for (const replica of replicas) {
      expect(new Map(listed(replica).map(({ key, ref }) => [key, ref]))).toEqual(before)
    }
  })

  it('B4: reads are monotonic for one who hops: what a showed, b shows or waits; and own writes are read everywhere', async () => {
    const { sim, replicas } = await startCluster({ network: { conditions: { latencyMs: { kind: 'uniform', minMs: 1, maxMs: 400 } } } })
    let version = (replicas[0] as SimReplica).tracker.version()
    for (let n = 0; n < 30; n++) {
      const [writer, reader] = [replicas[n % 3], replicas[(n + 1) % 3]] as [SimReplica, SimReplica]
      await sim.until(writer.tracker.waitFor(version))
      expect(writer.tracker.list('room').size).toBe(n)
      writer.tracker.connect(`user:${n}`).track('room')
      version = writer.tracker.version()
      await sim.until(reader.tracker.waitFor(version))
      expect(reader.tracker.get('room', `user:${n}`)).toHaveLength(1)
      version = reader.tracker.version()
    }
  })
})
