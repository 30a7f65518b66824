import { describe, expect, it } from 'vitest'
import type { Connection } from '../../src/index.ts'
import type { SimReplica } from '../../src/testing/index.ts'
import { crowd, keys, orders, readIntervals, split, stateBytes } from '../support/scenario.ts'
import { listed, runAlive, startCluster, told } from '../support/sim.ts'

describe('(a) updates', () => {
  it('pub-A8: a hundred times track, update, update, close: nothing is left at the other replica', async () => {
    const { sim, a, b } = await startCluster({ replicas: 2, options: { graceMs: 0, limits: { changeLog: 0 } } })
    a.tracker.connect('first').close()
    await sim.settle()
    const base = sim.sizes(b)
    for (let i = 0; i < 100; i++) {
      const connection = a.tracker.connect(`user:${i % 7}`)
      connection.track('room', { n: 0 })
      connection.update('room', { n: 1 })
      await sim.run(i % 3 === 0 ? 25 : 0)
      connection.update('room', { n: 2 })
      connection.close()
    }
    await sim.settle()
    expect(listed(b)).toEqual([])
    for (const name of ['entries', 'topicNodes', 'users', 'origins', 'changeLog', 'lingering']) {
      expect([name, sim.sizes(b)[name]]).toEqual([name, base[name]])
    }
  })

  it('pub-A14: a removal does not send the value again; a batch of track and untrack is no diff and leaves no topic', async () => {
    // The change log, which answers resume tokens, would keep the topics a while.
    const { sim, a, b } = await startCluster({ replicas: 2, options: { limits: { changeLog: 0 } } })
    const read = readIntervals(sim)
    const ann = a.tracker.connect('ann')
    await sim.run(100)
    ann.track('x', { of: 'x' })
    await sim.run(100)
    const flushed = read.length
    ann.untrack('x')
    await sim.run(100)
    expect(read.slice(flushed).map(({ interval: { adds, marks } }) => [adds.length, marks.length])).toEqual([[0, 1]])
    const before = [sim.diffs(a).length, sim.diffs(b).length]
    a.tracker.batch(() => {
      ann.track('y')
      ann.untrack('y')
    })
    await sim.run(100)
    expect([sim.diffs(a).length, sim.diffs(b).length]).toEqual(before)
    expect([a, b].map(replica => sim.sizes(replica).topicNodes)).toEqual([1, 1])
  })

  // Rollcall has no handle of another's presence: `update` belongs to a connection, and finds only what that one tracks.
  it('pub-A12: an update of a presence of another replica, or connection, is refused and changes nothing', async () => {
    const { sim, a, b } = await startCluster({ replicas: 2 })
    const ref = a.tracker.connect('ann').track('room', { n: 1 })
    const bob = b.tracker.connect('bob')
    const eve = a.tracker.connect('eve')
    await sim.settle()
    const state = (): unknown => [a, b].map(({ tracker }) => [tracker.version(), tracker.list('room'), tracker.stats().entries])
    const before = state()
    for (const stranger of [bob, eve]) {
      expect(() => stranger.update(ref, { n: 2 })).toThrowError(expect.objectContaining({ code: 'ERR_NOT_TRACKED' }))
      expect(() => stranger.update('room', { n: 2 }, { key: 'ann' })).toThrowError(expect.objectContaining({ code: 'ERR_NOT_TRACKED' }))
      expect(stranger.untrack(ref)).toBe(0)
    }
    await sim.run(100)
    expect(state()).toEqual(before)
  })
})

describe('(a) concurrent owners', () => {
  /** Where the presences of ann say that they were made, sorted. */
  const metas = (replica: SimReplica): unknown[] =>
    replica.tracker
      .get('room', 'ann')
      .map(({ meta }) => meta.at)
      .sort()

  /** Four replicas; `a` and `b` are cut from each other, and what they say reaches c and d in opposite orders. */
  async function opposed(): Promise<Awaited<ReturnType<typeof startCluster>> & { d: SimReplica }> {
    const cluster = await startCluster({ replicas: 4 })
    const { sim, a, b, c } = cluster
    const d = cluster.replicas[3] as SimReplica
    sim.cut(a, b)
    sim.slow(a, c, { latencyMs: 1 })
    sim.slow(b, c, { latencyMs: 40 })
    sim.slow(a, d, { latencyMs: 40 })
    sim.slow(b, d, { latencyMs: 1 })
    return { ...cluster, d }
  }

  it('pub-A10: two connections of one key on both sides of a cut: two presences everywhere, and the end of one leaves the other', async () => {
    const { sim, replicas, a, b, c, d } = await opposed()
    const ann = a.tracker.connect('ann')
    const twin = b.tracker.connect('ann')
    ann.track('room', { at: 'a' })
    twin.track('room', { at: 'b' })
    await sim.run(500)
    expect(c.tracker.get('room', 'ann').map(({ ref }) => ref)).toEqual(d.tracker.get('room', 'ann').map(({ ref }) => ref))
    sim.heal()
    await sim.converge()
    for (const replica of replicas) {
      expect(metas(replica)).toEqual(['a', 'b'])
    }
    ann.untrack('room')
    await sim.converge()
    for (const replica of replicas) {
      expect(metas(replica)).toEqual(['b'])
    }
  })

  // A session is one client: after the cut it is where it spoke last, and its other connection is told so. It does not become two.
  it('pub-A10: one session on both sides of a cut: one presence everywhere, the same, of the side that speaks last', async () => {
    const { sim, replicas, a, b, c, d } = await opposed()
    const ann = a.tracker.connect('ann', { session: 's' })
    const twin = b.tracker.connect('ann', { session: 's' })
    ann.track('room', { at: 'a' })
    twin.track('room', { at: 'b' })
    await sim.run(500)
    expect(metas(c)).toHaveLength(1)
    expect(listed(c)[0]?.ref).toBe(listed(d)[0]?.ref)
    sim.heal()
    await sim.converge()
    for (const replica of replicas) {
      expect(metas(replica)).toEqual(['b'])
    }
    ann.heartbeat()
    await sim.converge()
    for (const replica of replicas) {
      expect(metas(replica)).toEqual(['a'])
    }
    expect([ann.open, twin.signal.reason]).toMatchObject([true, { end: 'taken-over' }])
    ann.untrack('room')
    await sim.converge()
    for (const replica of replicas) {
      expect(metas(replica)).toEqual([])
    }
  })

  it('pub-A13: one key of two replicas, removed at one: by delta and by state, directly and through another, the other one stays', async () => {
    const { sim, a, b, c } = await startCluster()
    sim.cut(a, b)
    a.tracker.connect('one').track('room', { of: 'a' }, { key: 'k' })
    const two = b.tracker.connect('two')
    two.track('room', { of: 'b' }, { key: 'k' })
    await sim.run(50)
    two.untrack('room')
    await sim.run(50)
    sim.heal()
    await sim.converge()
    // A newcomer gets states where the others got deltas.
    const late = sim.add()
    await sim.converge()
    for (const replica of [a, b, c, late]) {
      expect(replica.tracker.get('room', 'k').map(({ meta }) => meta.of)).toEqual(['a'])
    }
  })

  it('pub-A18: one key on both sides of a split of four, links healed in all 24 orders: both presences everywhere', async () => {
    for (const order of orders([0, 1, 2, 3])) {
      const { sim, replicas, a, b, c } = await startCluster({ replicas: 4, seed: `a18 ${order}`, options: { graceMs: 1_000 } })
      const d = replicas[3] as SimReplica
      split(sim, [a, c], [b, d])
      const connections = [a, b].map(replica => {
        const connection = replica.tracker.connect('ann')
        connection.track('room', { at: replica.name })
        return connection
      })
      await runAlive(sim, connections, 20_000)
      const links = [
        [a, b],
        [a, d],
        [c, b],
        [c, d]
      ] as const
      for (const i of order) {
        const [one, two] = links[i] as readonly [SimReplica, SimReplica]
        sim.heal(one, two)
        await runAlive(sim, connections, 700)
      }
      await sim.converge()
      for (const replica of replicas) {
        expect(metas(replica)).toEqual(['a', 'b'])
      }
    }
  })

  it('pub-A16: two write five thousand each, flushed after seven and eleven, up to three ticks late: nobody loses one', async () => {
    const { sim, a, b } = await startCluster({
      replicas: 2,
      checks: 'manual',
      network: { conditions: { latencyMs: { kind: 'uniform', minMs: 1, maxMs: 60 } } },
      options: name => ({ gossip: { flushWindowMs: name === 'a' ? 7 : 11 } })
    })
    const shrunk: string[] = []
    for (const replica of [a, b]) {
      let before = 0
      replica.tracker.addEventListener('diff', () => {
        const { presences } = replica.tracker.count('room')
        shrunk.push(...(presences < before ? [`${replica.name}: ${before} → ${presences}`] : []))
        before = presences
      })
    }
    for (let i = 0; i < 5_000; i++) {
      for (const replica of [a, b]) {
        replica.tracker.connect(`${replica.name}${i}`).track('room')
      }
      if (i % 5 === 0) {
        await sim.run(5)
      }
    }
    await sim.settle()
    expect([a, b].map(({ tracker }) => tracker.count('room').keys)).toEqual([10_000, 10_000])
    expect(shrunk).toEqual([])
    sim.checkInvariants()
  })
})

describe('(a) a connection that ends', () => {
  it('pub-A11: tracked six times: five are refused; untracked twice: the second is none; closed, its replica dropped: nothing is left', async () => {
    const { sim, a, b } = await startCluster({
      replicas: 2,
      options: { graceMs: 1_000, permdownAfterMs: 15_000, limits: { changeLog: 0 } }
    })
    const ann = a.tracker.connect('ann')
    ann.track('room')
    for (let i = 0; i < 5; i++) {
      expect(() => ann.track('room')).toThrowError(expect.objectContaining({ code: 'ERR_ALREADY_TRACKED' }))
    }
    await sim.settle()
    expect([a, b].map(({ tracker }) => tracker.count('room').presences)).toEqual([1, 1])
    ann.track('other')
    expect([ann.untrack('room'), ann.untrack('room')]).toEqual([1, 0])
    ann.close()
    crowd(a, 'left', 3)
    await sim.settle()
    sim.kill(a)
    await sim.run(20_000)
    expect(sim.sizes(b)).toMatchObject({ entries: 0, topicNodes: 0, users: 0, held: 0, members: 0, changeLog: 0 })
    expect(sim.sizes(b).listenerErrors).toBe(0)
  })

  it.each(['before', 'with', 'after'])(
    'pub-A22: a session ends at a and returns at b %s the news of its end: it is listed everywhere',
    async when => {
      const { sim, replicas, a, b } = await startCluster()
      const first = a.tracker.connect('ann', { session: 's' })
      const ref = first.track('room', { n: 1 })
      await sim.settle()
      sim.hold(a, b, { types: ['delta'] })
      first.close()
      await sim.run(100)
      const back = (): Connection => {
        const connection = b.tracker.connect('ann', { session: 's' })
        connection.track('room', { n: 1 })
        return connection
      }
      let second: Connection
      if (when === 'before') {
        second = back()
        await sim.run(100)
        sim.heal()
      } else {
        sim.heal()
        await sim.run(when === 'with' ? 0 : 100)
        second = back()
      }
      await sim.converge()
      for (const replica of replicas) {
        expect(listed(replica)).toMatchObject([{ key: 'ann', replica: 'b', state: 'online' }])
      }
      // Of what was dropped, a change is refused: never a silent nothing.
      expect(() => first.update(ref, { n: 2 })).toThrowError(expect.objectContaining({ code: 'ERR_CONNECTION_ENDED' }))
      second.untrack('room')
      expect(() => second.update('room', { n: 2 })).toThrowError(expect.objectContaining({ code: 'ERR_NOT_TRACKED' }))
      await runAlive(sim, [second], 40_000)
      expect(keys(a)).toEqual([])
    }
  )

  it('pub-A24: the connection closes while its caller waits for something else: track is refused, and nothing is sent', async () => {
    const { sim, a, b } = await startCluster({ replicas: 2, options: { graceMs: 0 } })
    const ann = a.tracker.connect('ann')
    const authorized = new Promise<void>(resolve => {
      sim.schedule(500, resolve)
    })
    const tracked = authorized.then(() => ann.track('room')).catch(error => error)
    await sim.run(100)
    ann.close()
    await sim.run(100)
    const before = stateBytes(sim, a, b)
    await sim.run(1_000)
    expect(await tracked).toMatchObject({ code: 'ERR_CONNECTION_ENDED', end: 'closed' })
    expect(stateBytes(sim, a, b)).toBe(before)
    expect([a, b].map(({ tracker }) => tracker.count('room').keys)).toEqual([0, 0])
    expect(told(sim, a, 'joins')).toEqual([])
  })
})
