import { describe, expect, it } from 'vitest'
import type { Connection, Presence, WatchEvent } from '../../src/index.ts'
import { PresenceFold } from '../../src/index.ts'
import { createSimulation, type SimReplica, type Simulation } from '../../src/testing/index.ts'
import { ready } from '../support/lone.ts'

/** Three replicas that know each other. */
async function cluster(options: Parameters<typeof createSimulation>[0] = {}): Promise<[Simulation, SimReplica, SimReplica, SimReplica]> {
  const sim = createSimulation({ seed: 'hand-over', replicas: 3, ...options })
  await sim.run(3_000)
  const [a, b, c] = sim.replicas as unknown as [SimReplica, SimReplica, SimReplica]
  return [sim, a, b, c]
}

const here = (replica: SimReplica, topic = 'room'): Presence[] => [...replica.tracker.list(topic).values()].flat()

/** Heartbeats, so that no connection expires while virtual time passes. */
async function runAlive(sim: Simulation, connections: readonly Connection[], ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 10_000) {
    await sim.run(Math.min(left, 10_000))
    for (const connection of connections) {
      connection.heartbeat()
    }
  }
}

describe('hand-over: a session that reconnects on another replica', () => {
  it('after its connection was lost: same ref, no event anywhere', async () => {
    const [sim, a, b, c] = await cluster()
    const first = a.tracker.connect('ann', { session: 's' })
    const ref = first.track('room', { n: 1 })
    await sim.settle()
    first.lost()
    await sim.run(5_000)
    const second = b.tracker.connect('ann', { session: 's' })
    expect(second.track('room', { n: 1 })).toBe(ref)
    await runAlive(sim, [second], 60_000)
    for (const replica of [a, b, c]) {
      expect(sim.diffs(replica).filter(diff => diff.joins.length + diff.leaves.length + diff.updates.length > 0)).toHaveLength(1)
      expect(sim.transitions(replica).map(({ type }) => type)).toEqual(['online'])
      expect(here(replica)).toMatchObject([{ ref, replica: 'b', state: 'online' }])
    }
    expect(sim.sizes(a).ownEntries).toBe(0)
  })

  it('while its old connection looks alive: the old one is taken over, no event anywhere', async () => {
    const [sim, a, b, c] = await cluster()
    const first = a.tracker.connect('ann', { session: 's' })
    first.track('room', { n: 1 })
    await sim.settle()
    const second = b.tracker.connect('ann', { session: 's' })
    second.track('room', { n: 1 })
    await sim.settle()
    expect(first.open).toBe(false)
    expect(first.signal.reason).toMatchObject({ end: 'taken-over' })
    await runAlive(sim, [second], 60_000)
    for (const replica of [a, b, c]) {
      expect(sim.diffs(replica).flatMap(diff => [...diff.joins, ...diff.leaves])).toHaveLength(1)
      expect(sim.transitions(replica)).toHaveLength(1)
    }
  })

  it("a moves to b while b's frames to x are held: no leave at x; then a move", async () => {
    const [sim, a, b, x] = await cluster()
    const first = a.tracker.connect('ann', { session: 's' })
    const ref = first.track('room')
    await sim.settle()
    sim.hold(b, x)
    sim.hold(a, x, { types: ['pull', 'digest', 'hello'] })
    const second = b.tracker.connect('ann', { session: 's' })
    second.track('room')
    await sim.run(2_000)
    expect(here(x)).toMatchObject([{ ref }])
    sim.heal()
    await runAlive(sim, [second], 30_000)
    expect(sim.diffs(x).flatMap(diff => diff.leaves)).toEqual([])
    expect(sim.diffs(x).flatMap(diff => diff.joins)).toHaveLength(1)
    expect(here(x)).toMatchObject([{ ref, replica: 'b' }])
  })

  it('its replica is killed, it moves to b within the grace: no event; the dead replica is dropped later, no event', async () => {
    const [sim, a, b, c] = await cluster({ options: { permdownAfterMs: 60_000 } })
    const first = a.tracker.connect('ann', { session: 's' })
    const ref = first.track('room', { n: 1 })
    await sim.settle()
    sim.kill(a)
    await sim.run(3_000)
    const second = b.tracker.connect('ann', { session: 's' })
    expect(second.track('room', { n: 1 })).toBe(ref)
    await runAlive(sim, [second], 120_000)
    for (const replica of [b, c]) {
      expect(sim.diffs(replica).flatMap(diff => [...diff.joins, ...diff.leaves, ...diff.updates])).toHaveLength(1)
      expect(sim.transitions(replica)).toHaveLength(1)
      expect(here(replica)).toMatchObject([{ ref, replica: 'b', state: 'online' }])
    }
    expect(sim.sizes(b).origins).toBe(1)
    expect(sim.sizes(c).origins).toBe(2)
  })

  it('its replica is killed, it moves to b and closes there: a leave at x within one round', async () => {
    const [sim, a, b, x] = await cluster()
    const first = a.tracker.connect('ann', { session: 's' })
    first.track('room')
    await sim.settle()
    sim.kill(a)
    const second = b.tracker.connect('ann', { session: 's' })
    second.track('room')
    second.close()
    await sim.run(1_000)
    expect(here(x)).toEqual([])
    await sim.run(60_000)
    expect(here(x)).toEqual([])
    expect(sim.diffs(x).flatMap(diff => diff.leaves)).toHaveLength(1)
    expect(sim.transitions(x).map(({ type }) => type)).toEqual(['online', 'offline'])
  })

  it('with a changed meta: one update, prev and next', async () => {
    const [sim, a, b, c] = await cluster()
    const first = a.tracker.connect('ann', { session: 's' })
    const ref = first.track('room', { n: 1 })
    await sim.settle()
    first.lost()
    const second = b.tracker.connect('ann', { session: 's' })
    const next = second.track('room', { n: 2 })
    await sim.settle()
    for (const replica of [a, b, c]) {
      const updates = sim.diffs(replica).flatMap(diff => diff.updates)
      expect(updates).toMatchObject([{ prev: { ref }, next: { ref: next, prevRef: ref, replica: 'b' }, changed: ['n'] }])
      expect(sim.diffs(replica).flatMap(diff => [...diff.joins, ...diff.leaves])).toHaveLength(1)
    }
  })

  it('a live connection outranked by one that did not know of it takes the next epoch at its next frame', async () => {
    const [sim, a, b, c] = await cluster()
    sim.cut(a, b)
    sim.cut(a, c)
    const first = a.tracker.connect('ann', { session: 's' })
    first.track('room', { at: 'a' })
    const other = b.tracker.connect('ann', { session: 's' })
    other.track('room', { at: 'b' })
    await sim.run(1_000)
    other.close()
    await sim.run(1_000)
    sim.heal()
    await sim.run(4_000)
    first.heartbeat()
    await runAlive(sim, [first], 30_000)
    expect(first.open).toBe(true)
    for (const replica of [a, b, c]) {
      expect(here(replica)).toMatchObject([{ meta: { at: 'a' }, replica: 'a' }])
      expect(replica.tracker.isOnline('ann')).toBe(true)
    }
  })

  it('F3: drain, and clients that reconnect elsewhere inside the grace: no event, never two metas of one session', async () => {
    const [sim, a, b, c] = await cluster()
    const old = Array.from({ length: 50 }, (_, i) => a.tracker.connect(`user:${i}`, { session: 's' }))
    for (const connection of old) {
      connection.track('room')
    }
    await sim.settle()
    await a.tracker.drain()
    expect(() => a.tracker.connect('late')).toThrowError(/draining/)
    const fresh: Connection[] = []
    for (const [i, connection] of old.entries()) {
      connection.close()
      const target = i % 2 === 0 ? b : c
      const again = target.tracker.connect(`user:${i}`, { session: 's' })
      again.track('room')
      fresh.push(again)
      await sim.run(100)
      for (const replica of [b, c]) {
        expect(replica.tracker.count('room')).toEqual({ keys: 50, presences: 50 })
      }
    }
    await sim.stop(a)
    await runAlive(sim, fresh, 60_000)
    for (const replica of [b, c]) {
      expect(sim.diffs(replica).flatMap(diff => diff.joins)).toHaveLength(50)
      expect(sim.diffs(replica).flatMap(diff => [...diff.leaves, ...diff.updates])).toEqual([])
      expect(sim.transitions(replica).every(({ type }) => type === 'online')).toBe(true)
    }
  })
})

describe('resume anywhere (B1)', () => {
  it('a token of a gives at b what was missed, by joins, leaves and updates; the fold is what b lists', async () => {
    const [sim, a, b] = await cluster()
    const connections = Array.from({ length: 20 }, (_, i) => a.tracker.connect(`user:${i}`))
    for (const connection of connections) {
      connection.track('room', { n: 0 })
    }
    await sim.settle()
    const fold = new PresenceFold()
    const [snapshot] = (await ready(a.tracker.watch('room'))) as [WatchEvent]
    fold.apply(snapshot)
    connections[0]?.close()
    connections[1]?.update('room', { n: 1 })
    b.tracker.connect('new').track('room')
    await sim.settle()
    const [missed] = (await ready(b.tracker.watch('room', { since: snapshot.token }))) as [WatchEvent]
    expect(missed).toMatchObject({
      type: 'diff',
      joins: [{ key: 'new' }],
      leaves: [{ presence: { key: 'user:0' } }],
      updates: [{ next: { key: 'user:1' } }],
      replace: []
    })
    fold.apply(missed)
    expect(new Map(fold.keys)).toEqual(b.tracker.list('room'))
  })

  it('a replica that is behind the token waits; it never shows older state; then BEHIND', async () => {
    const [sim, a, b] = await cluster()
    sim.cut(a, b)
    sim.cut(sim.replicas[2] as SimReplica, b)
    a.tracker.connect('ann').track('room')
    await sim.run(100)
    const token = a.tracker.version()
    const watch = b.tracker.watch('room', { since: token })
    const next = watch.next().catch(error => error)
    await sim.run(2_500)
    expect(await next).toMatchObject({ code: 'BEHIND' })
    const again = b.tracker.watch('room', { since: token }).next()
    sim.heal()
    await sim.run(2_000)
    // The token holds that join: its bearer was shown it already.
    expect((await again).value).toMatchObject({ type: 'diff', joins: [], replace: [] })
    expect(here(b)).toMatchObject([{ key: 'ann' }])
  })

  it('a token from a replica that hid r: its presences are joins where r is shown', async () => {
    const [sim, a, b, c] = await cluster()
    a.tracker.connect('ann').track('room')
    await sim.settle()
    const keep = a.tracker.connect('bob')
    keep.track('room')
    sim.cut(a, b)
    await runAlive(sim, [keep], 40_000)
    const [snapshot] = (await ready(b.tracker.watch('room'))) as [WatchEvent]
    const fold = new PresenceFold()
    fold.apply(snapshot)
    const at = c
    const [missed] = (await ready(at.tracker.watch('room', { since: snapshot.token }))) as [WatchEvent]
    fold.apply(missed)
    expect(new Map(fold.keys)).toEqual(at.tracker.list('room'))
  })

  it('B4: write on a, carry the version to b: waitFor, then list has it', async () => {
    const [sim, a, b] = await cluster()
    a.tracker.connect('ann').track('room')
    const waited = b.tracker.waitFor(a.tracker.version())
    await sim.until(waited)
    expect(here(b)).toHaveLength(1)
  })
})

describe('certainty and failures', () => {
  it('F1, B10: a killed replica: unknown within 3 s, leaves within 10 s and the grace, once', async () => {
    const [sim, a, b, c] = await cluster()
    a.tracker.connect('ann').track('room')
    await sim.settle()
    sim.kill(a)
    await sim.run(3_000)
    expect(here(b)).toMatchObject([{ state: 'unknown' }])
    expect(b.tracker.isOnline('ann')).toBe(true)
    await sim.run(7_000 + 15_000 + 500)
    for (const replica of [b, c]) {
      expect(here(replica)).toEqual([])
      expect(sim.diffs(replica).flatMap(diff => diff.leaves)).toMatchObject([{ reason: 'node-failed' }])
      expect(sim.transitions(replica).map(({ type }) => type)).toEqual(['online', 'offline'])
    }
  })

  it('two replicas, one killed: its leaves come', async () => {
    const [sim, a, b] = await cluster({ replicas: 2 })
    a.tracker.connect('ann').track('room')
    await sim.settle()
    sim.kill(a)
    await sim.run(26_000)
    expect(here(b)).toEqual([])
  })

  it('F2: a 60 s split that heals: no ghost, no loss, at most one pair of events per entry', async () => {
    const [sim, a, b, c] = await cluster()
    const connections = [a, b, c].flatMap((replica, i) =>
      Array.from({ length: 5 }, (_, j) => {
        const connection = replica.tracker.connect(`user:${i}:${j}`)
        connection.track('room')
        return connection
      })
    )
    await sim.settle()
    sim.cut(a, c)
    sim.cut(b, c)
    await runAlive(sim, connections, 60_000)
    sim.heal()
    await runAlive(sim, connections, 20_000)
    for (const replica of [a, b, c]) {
      expect(replica.tracker.count('room')).toEqual({ keys: 15, presences: 15 })
      const leaves = sim.diffs(replica).flatMap(diff => diff.leaves)
      const joins = sim.diffs(replica).flatMap(diff => diff.joins)
      expect(leaves.length).toBeLessThanOrEqual(10)
      expect(joins.length - leaves.length).toBe(15)
    }
  })

  it('B11: one of five is isolated: its watchers see no leave, `isolated` fires; the others see its leaves', async () => {
    const sim = createSimulation({ seed: 11, replicas: 5 })
    const events: boolean[] = []
    await sim.run(3_000)
    const [lone, ...others] = sim.replicas
    lone.tracker.addEventListener('isolated', ({ detail }) => void events.push(detail.isolated))
    const connections = sim.replicas.map((replica, i) => replica.tracker.connect(`user:${i}`))
    for (const connection of connections) {
      connection.track('room')
    }
    await sim.settle()
    for (const other of others) {
      sim.cut(lone, other)
    }
    await runAlive(sim, connections, 60_000)
    expect(events).toEqual([true])
    expect(sim.diffs(lone).flatMap(diff => diff.leaves)).toEqual([])
    for (const other of others) {
      expect(sim.diffs(other).flatMap(diff => diff.leaves)).toHaveLength(1)
    }
    sim.heal()
    await runAlive(sim, connections, 30_000)
    expect(events).toEqual([true, false])
    expect(lone.tracker.count('room').keys).toBe(5)
  })

  it('L5: a replica that stood still for 60 s empties nobody’s room by waking up', async () => {
    const [sim, a, b] = await cluster()
    const connection = b.tracker.connect('bob')
    connection.track('room')
    const mine = a.tracker.connect('ann')
    mine.track('room')
    await sim.settle()
    sim.pause(a)
    for (let i = 0; i < 6; i++) {
      await sim.run(10_000)
      connection.heartbeat()
    }
    sim.resume(a)
    await runAlive(sim, [connection, mine], 20_000)
    expect(sim.diffs(a).flatMap(diff => diff.leaves)).toEqual([])
    expect(here(a)).toHaveLength(2)
    expect(here(b)).toHaveLength(2)
  })

  it('stop holds the presences for the grace; stop with announce takes them at once', async () => {
    const [sim, a, b, c] = await cluster()
    a.tracker.connect('ann').track('room')
    b.tracker.connect('bob').track('room')
    await sim.settle()
    await sim.stop(a)
    await sim.stop(b, { announce: true })
    await sim.run(1_000)
    expect(here(c).map(p => p.key)).toEqual(['ann'])
    expect(sim.diffs(c).flatMap(diff => diff.leaves)).toMatchObject([{ reason: 'node-left', presence: { key: 'bob' } }])
    await sim.run(16_000)
    expect(here(c)).toEqual([])
  })

  it('restart with the same wall clock: the old presences are held for the grace, the new ones are there at once', async () => {
    const [sim, a, b] = await cluster()
    a.tracker.connect('ann', { session: 's' }).track('room')
    await sim.settle()
    sim.restart(a)
    await sim.run(2_000)
    const again = a.tracker.connect('ann', { session: 's' })
    again.track('room')
    await runAlive(sim, [again], 40_000)
    expect(sim.diffs(b).flatMap(diff => [...diff.joins, ...diff.leaves])).toHaveLength(1)
    expect(here(b)).toHaveLength(1)
    expect(here(a)).toHaveLength(1)
  })
})
