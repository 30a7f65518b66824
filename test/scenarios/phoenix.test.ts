import { describe, expect, it } from 'vitest'
import type { Connection } from '../../src/index.ts'
import { ready, startLone } from '../support/lone.ts'
import { crowd, keys, readIntervals, stateBytes, verdicts } from '../support/scenario.ts'
import { listed, runAlive, startCluster, told } from '../support/sim.ts'

// What Phoenix.Tracker's own tests demand, as far as it is not shown elsewhere: docs/phoenix.md has the whole list.

describe('Phoenix.Tracker, state', () => {
  it('phx-S2, phx-S3: a join arrives once, a leave once, an update in one piece; what is merged again changes nothing', async () => {
    const { sim, a, b } = await startCluster({ replicas: 2 })
    const ann = a.tracker.connect('ann')
    ann.track('room', { n: 1 })
    await sim.settle()
    expect(sim.diffs(b).map(({ joins, leaves, updates }) => [joins.length, leaves.length, updates.length])).toEqual([[1, 0, 0]])
    sim.hold(a, b, { types: ['delta'] })
    ann.update('room', { n: 2 })
    await sim.run(100)
    sim.duplicate(a, b, 0)
    sim.duplicate(a, b, 0)
    sim.deliver(a, b, 0)
    sim.heal()
    await sim.settle()
    expect(sim.diffs(b).slice(1)).toMatchObject([
      { joins: [], leaves: [], updates: [{ prev: { meta: { n: 1 } }, next: { meta: { n: 2 } } }] }
    ])
    expect(listed(b).map(({ ref }) => ref)).toEqual(listed(a).map(({ ref }) => ref))
    ann.untrack('room')
    await sim.settle()
    expect(
      sim
        .diffs(b)
        .slice(2)
        .map(({ joins, leaves }) => [joins.length, leaves.length])
    ).toEqual([[0, 1]])
    expect([a, b].map(({ tracker }) => tracker.list('room').size)).toEqual([0, 0])
  })

  it('phx-S4, phx-S9: a replica goes down: exactly its presences leave, those of a second one with it; back up, they are listed again', async () => {
    const { sim, a, b, c } = await startCluster({ options: { graceMs: 1_000 } })
    const connections = [a, b, c].flatMap(replica => crowd(replica, replica.name, 2))
    await sim.settle()
    sim.cut(a, b)
    sim.cut(b, c)
    await runAlive(sim, connections.slice(0, 2), 5_000)
    const mine = crowd(a, 'during', 1)
    await runAlive(sim, [...connections, ...mine], 25_000)
    expect(keys(a)).toEqual(['a0', 'a1', 'c0', 'c1', 'during0'])
    expect(
      told(sim, a, 'leaves')
        .map(({ presence }) => presence.key)
        .sort()
    ).toEqual(['b0', 'b1'])
    sim.heal()
    await runAlive(sim, [...connections, ...mine], 5_000)
    expect(keys(a)).toEqual(['a0', 'a1', 'b0', 'b1', 'c0', 'c1', 'during0'])
    expect(
      told(sim, a, 'joins')
        .slice(-2)
        .map(presence => presence.key)
        .sort()
    ).toEqual(['b0', 'b1'])
    expect(a.tracker.list('nowhere')).toEqual(new Map())
  })

  it('phx-S5, phx-S6: a and c are cut: c hears of a new presence of a, and of the end of an old one, through b, each once', async () => {
    const { sim, a, c } = await startCluster()
    const old = a.tracker.connect('old')
    old.track('room')
    await sim.settle()
    sim.cut(a, c)
    // Until both notice that no link is left.
    await sim.run(20_000)
    const before = sim.diffs(c).length
    const fresh = a.tracker.connect('fresh')
    fresh.track('room')
    await runAlive(sim, [old, fresh], 3_000)
    old.untrack('room')
    await runAlive(sim, [old, fresh], 3_000)
    const after = sim.diffs(c).slice(before)
    expect(after.flatMap(({ joins }) => joins.map(presence => presence.key))).toEqual(['fresh'])
    expect(after.flatMap(({ leaves }) => leaves.map(({ presence, reason }) => `${presence.key} ${reason}`))).toEqual(['old left'])
  })

  it('phx-S7, phx-S8: by connection, by key, by user: exactly theirs, nothing for another topic or key', async () => {
    const { tracker } = await startLone()
    const one = tracker.connect('ann')
    const two = tracker.connect('ann')
    const refs = [one.track('x', { of: 1 }), two.track('x', { of: 2 })]
    one.track('y')
    expect(
      tracker
        .get('x', 'ann')
        .map(({ ref }) => ref)
        .sort()
    ).toEqual([...refs].sort())
    expect([tracker.get('x', 'bob'), tracker.get('z', 'ann')]).toEqual([[], []])
    expect([...tracker.topicsOf('ann')].map(([topic, presences]) => [topic, presences.length])).toEqual([
      ['x', 2],
      ['y', 1]
    ])
    expect(tracker.topicsOf('bob').size).toBe(0)
    expect([tracker.connection(one.id) === one, tracker.connection('nobody')]).toEqual([true, undefined])
  })

  it('phx-S10: a replica that was dropped leaves nothing in any index, and only itself brings anything back', async () => {
    const { sim, a, b } = await startCluster({
      replicas: 2,
      options: { graceMs: 1_000, permdownAfterMs: 15_000, limits: { changeLog: 0 } }
    })
    crowd(a, 'mine', 2)
    const base = sim.sizes(a)
    crowd(b, 'b', 10, 'elsewhere')
    await sim.settle()
    sim.kill(b)
    await sim.run(20_000)
    for (const name of ['entries', 'topicNodes', 'users', 'held', 'changeLog', 'lingering']) {
      expect([name, sim.sizes(a)[name]]).toEqual([name, base[name]])
    }
    expect(a.tracker.topicsOf('b0').size).toBe(0)
    expect(a.tracker.replicas().map(({ id }) => id)).toEqual(['a'])
    sim.restart(b)
    crowd(b, 'again', 1)
    await sim.run(3_000)
    expect(keys(a)).toEqual(['again0', 'mine0', 'mine1'])
  })

  it('phx-S11: each track, update, untrack and connect is one event: heads count them, here and there', async () => {
    const { sim, a, b } = await startCluster({ replicas: 2, options: { graceMs: 0 } })
    const heads = async (): Promise<unknown[]> => {
      await sim.settle()
      return [a, b].map(replica => replica.tracker.replicas().find(({ id }) => id === 'a')?.head)
    }
    expect(await heads()).toEqual([0, 0])
    // A user is an entry, too.
    const ann = a.tracker.connect('ann')
    expect(await heads()).toEqual([1, 1])
    ann.track('room')
    expect(await heads()).toEqual([2, 2])
    ann.update('room', { n: 1 })
    expect(await heads()).toEqual([3, 3])
    ann.untrack('room')
    expect(await heads()).toEqual([4, 4])
    ann.track('room')
    expect(await heads()).toEqual([5, 5])
    ann.close()
    expect(await heads()).toEqual([7, 7])
    // No gap is left open anywhere: nothing waits, all is complete.
    expect(b.tracker.replicas().every(({ complete, lagMs }) => complete && lagMs === 0)).toBe(true)
  })
})

describe('Phoenix.Tracker, pool', () => {
  it('phx-P1, phx-P2: a hundred topics tracked, each lists its ref', async () => {
    const { tracker } = await startLone()
    const ann = tracker.connect('ann')
    for (let i = 0; i < 100; i++) {
      const ref = ann.track(`t${i}`, { i })
      expect(tracker.list(`t${i}`).get('ann')).toMatchObject([{ ref, meta: { i }, prevRef: null }])
    }
    expect(tracker.topics().size).toBe(100)
  })

  it('phx-P3, phx-P4: untracked one by one, or by the end of their connection, all hundred are empty', async () => {
    for (const end of ['untrack', 'close'] as const) {
      const { tracker } = await startLone()
      const ann = tracker.connect('ann')
      for (let i = 0; i < 100; i++) {
        ann.track(`t${i}`)
      }
      if (end === 'close') {
        ann.close()
      } else {
        for (let i = 0; i < 100; i++) {
          expect(ann.untrack(`t${i}`)).toBe(1)
        }
      }
      expect(tracker.topics().size).toBe(0)
    }
  })

  it('phx-P5, phx-P6, phx-N11, phx-N12: an update, by a meta or a function of the old one, gives a new ref that names the old', async () => {
    const { sim, a, b } = await startCluster({ replicas: 2 })
    const ann = a.tracker.connect('ann')
    const first = ann.track('room', { n: 1, kept: true })
    await sim.settle()
    const second = ann.update('room', { n: 2, kept: true })
    await sim.settle()
    const third = ann.update('room', meta => ({ ...meta, n: (meta.n as number) + 1 }))
    await sim.settle()
    expect(new Set([first, second, third]).size).toBe(3)
    for (const replica of [a, b]) {
      expect(listed(replica)).toMatchObject([{ ref: third, prevRef: second, meta: { n: 3, kept: true } }])
      expect(told(sim, replica, 'updates')).toMatchObject([
        { prev: { ref: first, meta: { n: 1 } }, next: { ref: second, prevRef: first, meta: { n: 2 } } },
        { prev: { ref: second, meta: { n: 2 } }, next: { ref: third, prevRef: second, meta: { n: 3 } } }
      ])
    }
  })

  it('phx-P7: stopped, nothing runs on; started again, nothing is listed', async () => {
    const { tracker, process } = await startLone()
    const ann = tracker.connect('ann')
    ann.track('room')
    await tracker.stop({ announce: true })
    expect([process.timers, ann.open]).toEqual([0, false])
    expect(() => tracker.connect('bob')).toThrowError(expect.objectContaining({ code: 'ERR_NOT_ACCEPTING' }))
    await tracker.start()
    await tracker.ready
    expect([tracker.list('room').size, tracker.isOnline('ann')]).toEqual([0, false])
    expect(tracker.connect('ann').track('room')).toBeTypeOf('string')
  })
})

describe('Phoenix.Tracker, replication between nodes', () => {
  it('phx-N1, phx-N2: an unseen replica starts to an idle one: up, one transfer, its presences are listed; heartbeats go on', async () => {
    const { sim, a } = await startCluster({ replicas: 1 })
    await sim.run(60_000)
    const read = readIntervals(sim)
    const b = sim.add()
    const said = verdicts(a, b.name)
    crowd(b, 'b', 5)
    await sim.run(1_000)
    expect(said).toEqual(['up'])
    expect(keys(a)).toHaveLength(5)
    expect(read.filter(({ to }) => to === 'a')).toHaveLength(1)
    const before = sim.traffic(a, b).bytesOf.heartbeat as number
    await sim.run(60_000)
    expect((sim.traffic(a, b).bytesOf.heartbeat as number) - before).toBeGreaterThan(50 * 10)
  })

  it('phx-N3: two peers are both ahead of one who lost everything: each presence is sent to it once', async () => {
    const { sim, a, b, c } = await startCluster({ checks: 'manual' })
    crowd(a, 'a', 100)
    crowd(b, 'b', 100)
    await sim.settle()
    const read = readIntervals(sim)
    sim.restart(c)
    await sim.run(3_000)
    expect(keys(c)).toHaveLength(200)
    expect(read.filter(({ to }) => to === 'c').reduce((sum, { interval }) => sum + interval.adds.length, 0)).toBe(400)
  })

  it('phx-N5: suspended: down, leaves; resumed: up, joins, the same incarnation; killed, restarted: the old one is dropped, only new presences', async () => {
    const { sim, a, b } = await startCluster({ replicas: 2, options: { graceMs: 1_000, permdownAfterMs: 60_000 } })
    const incarnation = (): number | undefined => a.tracker.replicas().find(({ id }) => id === 'b')?.incarnation
    const said = verdicts(a, 'b')
    const [bob] = crowd(b, 'bob', 1) as [Connection]
    await sim.settle()
    const first = incarnation()
    sim.pause(b)
    await sim.run(20_000)
    expect([said.splice(0), keys(a)]).toEqual([['suspect', 'down'], []])
    sim.resume(b)
    await runAlive(sim, [bob], 5_000)
    expect([said.splice(0), keys(a), incarnation()]).toEqual([['up'], ['bob0'], first])
    sim.kill(b)
    await sim.run(20_000)
    expect([said.splice(0), keys(a)]).toEqual([['suspect', 'down'], []])
    sim.restart(b)
    crowd(b, 'new', 1)
    await sim.run(3_000)
    expect([said.splice(0), keys(a)]).toEqual([['permdown', 'up'], ['new0']])
    expect(incarnation()).toBeGreaterThan(first as number)
    sim.kill(b)
    await sim.run(70_000)
    expect([said.splice(0), incarnation()]).toEqual([['suspect', 'down', 'permdown'], undefined])
  })

  it('phx-N6: joins and leaves, local and remote, by call and by the end of a connection, are told here and there', async () => {
    const { sim, a, b } = await startCluster({ replicas: 2, options: { graceMs: 0 } })
    const ann = a.tracker.connect('ann')
    const bob = b.tracker.connect('bob')
    ann.track('room')
    bob.track('room')
    await sim.settle()
    ann.untrack('room')
    bob.lost()
    await sim.settle()
    for (const replica of [a, b]) {
      expect(
        told(sim, replica, 'joins')
          .map(presence => presence.key)
          .sort()
      ).toEqual(['ann', 'bob'])
      expect(
        told(sim, replica, 'leaves')
          .map(({ presence, reason }) => `${presence.key} ${reason}`)
          .sort()
      ).toEqual(['ann left', 'bob expired'])
    }
  })

  it('phx-N7: a replica is down: leaves, its presences are hidden, and kept until permdown', async () => {
    const { sim, a, b } = await startCluster({ replicas: 2, options: { graceMs: 1_000, permdownAfterMs: 60_000 } })
    crowd(b, 'b', 5)
    await sim.settle()
    sim.kill(b)
    await sim.run(20_000)
    expect([listed(a), told(sim, a, 'leaves').length]).toEqual([[], 5])
    // The user's and the topic's entry of each.
    expect(sim.sizes(a).entries).toBe(10)
    await sim.run(45_000)
    expect(sim.sizes(a).entries).toBe(0)
    expect(told(sim, a, 'leaves')).toHaveLength(5)
  })

  it('phx-N8, phx-N9, phx-N10, phx-N13, phx-N14: of what is not there untrack is none, update an error; twice the same is an error, another topic or key is not', async () => {
    const { tracker } = await startLone()
    const ann = tracker.connect('ann')
    expect([ann.untrack('room'), ann.untrack('room', { key: 'k' }), ann.untrack()]).toEqual([0, 0, 0])
    expect(() => ann.update('room', {})).toThrowError(expect.objectContaining({ code: 'ERR_NOT_TRACKED', topicOrRef: 'room' }))
    ann.track('room')
    expect(() => ann.track('room')).toThrowError(expect.objectContaining({ code: 'ERR_ALREADY_TRACKED', topic: 'room', key: 'ann' }))
    ann.track('room', {}, { key: 'other' })
    ann.track('lobby')
    expect([ann.untrack('lobby'), tracker.count('lobby').keys, tracker.count('room').keys]).toEqual([1, 0, 2])
    expect([ann.untrack(), tracker.topics().size, ann.open]).toEqual([2, 0, true])
  })

  it('phx-N15: a stop that is announced: leaves at once elsewhere, and the replica is down and gone in one step', async () => {
    const { sim, a, b } = await startCluster({ replicas: 2 })
    const said = verdicts(a, 'b')
    crowd(b, 'b', 3)
    await sim.settle()
    await sim.stop(b, { announce: true })
    await sim.run(10)
    expect(told(sim, a, 'leaves').map(({ reason }) => reason)).toEqual(['node-left', 'node-left', 'node-left'])
    expect(said).toEqual(['down', 'permdown'])
    expect(a.tracker.replicas().map(({ id }) => id)).toEqual(['a'])
  })

  it('phx-N16: a newcomer, where the others hold a down replica that it never knew, asks for it neither once nor again', async () => {
    const { sim, a, b, c } = await startCluster({ options: { graceMs: 1_000 } })
    const connections = crowd(a, 'a', 3)
    crowd(c, 'c', 3)
    await sim.settle()
    sim.kill(c)
    await runAlive(sim, connections, 20_000)
    const late = sim.add()
    await sim.run(3_000)
    expect(keys(late)).toEqual(['a0', 'a1', 'a2'])
    const before = [a, b].map(replica => [stateBytes(sim, replica, late), sim.traffic(late, replica).bytesOf.pull ?? 0])
    await runAlive(sim, connections, 60_000)
    expect([a, b].map(replica => [stateBytes(sim, replica, late), sim.traffic(late, replica).bytesOf.pull ?? 0])).toEqual(before)
    expect(before.map(([, pulls]) => pulls)).toEqual([0, 0])
  })

  it('phx-N6, phx-P1: a watcher of the topic gets the list, then each diff', async () => {
    const { sim, a, b } = await startCluster({ replicas: 2 })
    const watch = b.tracker.watch('room')
    await ready(watch)
    const ann = a.tracker.connect('ann')
    ann.track('room')
    await sim.settle()
    ann.close()
    await sim.settle()
    expect((await ready(watch)).map(event => event.type === 'diff' && [event.joins.length, event.leaves.length])).toEqual([
      [1, 0],
      [0, 1]
    ])
  })
})
