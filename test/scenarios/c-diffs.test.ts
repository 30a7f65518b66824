import { describe, expect, it } from 'vitest'
import { type Connection, PresenceFold, type WatchEvent } from '../../src/index.ts'
import { ready } from '../support/lone.ts'
import { listed, runAlive, startCluster, told } from '../support/sim.ts'

/** All orders of some items. */
const orders = <T>(items: readonly T[]): T[][] =>
  items.length === 0 ? [[]] : items.flatMap((item, i) => orders([...items.slice(0, i), ...items.slice(i + 1)]).map(rest => [item, ...rest]))

describe('(c) diffs and events', () => {
  it('pub-C1: a leave that happens while a snapshot is on its way is in the snapshot, or comes after it', async () => {
    const { sim, a, b } = await startCluster()
    const gone = a.tracker.connect('gone')
    gone.track('room')
    await sim.settle()
    const watch = b.tracker.watch('room')
    const first = watch.next()
    gone.close()
    await sim.settle()
    const fold = new PresenceFold()
    fold.apply((await first).value)
    for (const event of await ready<WatchEvent>(watch)) {
      fold.apply(event)
    }
    expect(fold.size).toBe(0)
    expect(fold.unknownRefs).toBe(0)
  })

  it('pub-C5: an update is one event and no join or leave; a re-sync that changes nothing tells nothing', async () => {
    const { sim, a, b, c } = await startCluster()
    const ann = a.tracker.connect('ann')
    ann.track('room', { n: 1 })
    await sim.settle()
    ann.update('room', { n: 2 })
    await sim.settle()
    expect(told(sim, b, 'updates')).toHaveLength(1)
    expect([told(sim, b, 'joins').length, told(sim, b, 'leaves').length]).toEqual([1, 0])
    const before = sim.diffs(b).length
    sim.breakLink(a, b)
    sim.breakLink(c, b)
    await runAlive(sim, [ann], 20_000)
    expect(
      sim
        .diffs(b)
        .slice(before)
        .flatMap(diff => [...diff.joins, ...diff.leaves, ...diff.updates])
    ).toEqual([])
  })

  it('pub-C8: three connections of one user on two replicas, closed in all six orders: offline once, after the last and the grace', async () => {
    for (const order of orders([0, 1, 2])) {
      const { sim, a, b, c } = await startCluster({ options: { graceMs: 1_000 } })
      const connections = [a, a, b].map(replica => {
        const connection = replica.tracker.connect('ann')
        connection.track('room')
        return connection
      })
      await sim.settle()
      for (const i of order) {
        connections[i]?.close()
        await sim.run(2_000)
      }
      await sim.run(5_000)
      for (const replica of [a, b, c]) {
        expect(sim.transitions(replica).map(({ type }) => type)).toEqual(['online', 'offline'])
        expect(told(sim, replica, 'leaves')).toHaveLength(3)
      }
    }
  })

  it('pub-C9: one connection in five topics closes: one leave in each, in one batch at the others', async () => {
    const { sim, a, b } = await startCluster()
    const ann = a.tracker.connect('ann')
    for (let i = 1; i <= 5; i++) {
      ann.track(`t${i}`)
    }
    await sim.settle()
    await sim.run(100)
    const before = sim.diffs(b).length
    const counts = new Set<number>()
    b.tracker.addEventListener('diff', () => void counts.add([1, 2, 3, 4, 5].filter(i => b.tracker.count(`t${i}`).keys === 0).length))
    ann.close()
    await sim.run(100)
    // Whichever leave is told first: all five have happened.
    expect([...counts]).toEqual([5])
    const diffs = sim.diffs(b).slice(before)
    expect(diffs.map(diff => [diff.topic, diff.leaves.length]).sort()).toEqual([1, 2, 3, 4, 5].map(i => [`t${i}`, 1]))
  })

  it('pub-C10: a second tab does not overwrite the first: both metas, and closing it gives the first back', async () => {
    const { sim, a, b } = await startCluster()
    a.tracker.connect('ann').track('room', { name: 'a' })
    await sim.run(50)
    const second = b.tracker.connect('ann')
    second.track('room', { name: 'b' })
    await sim.settle()
    for (const replica of [a, b]) {
      expect(replica.tracker.get('room', 'ann').map(p => p.meta.name)).toEqual(['a', 'b'])
    }
    second.close()
    await sim.settle()
    expect(a.tracker.get('room', 'ann').map(p => p.meta.name)).toEqual(['a'])
  })

  it('pub-C11: a new key in one batch: no instant with none or two, and a late close of the old touches nothing', async () => {
    const { sim, a, b } = await startCluster()
    const guest = a.tracker.connect('guest')
    guest.track('room', {}, { key: 'guest' })
    await sim.settle()
    const sizes: number[] = []
    b.tracker.addEventListener('diff', () => void sizes.push(b.tracker.count('room').presences))
    a.tracker.batch(() => {
      guest.untrack('room', { key: 'guest' })
      guest.track('room', {}, { key: 'ann' })
    })
    expect(guest.untrack('room', { key: 'guest' })).toBe(0)
    await sim.settle()
    expect(sizes).toEqual([1])
    expect([...b.tracker.list('room').keys()]).toEqual(['ann'])
  })

  it('pub-C13: a watch that was given up has no later effect on the next one', async () => {
    const { sim, a } = await startCluster()
    const first = a.tracker.watch('room')
    await ready(first)
    const late = first.next()
    await first.return?.()
    const second = a.tracker.watch('room')
    await ready(second)
    a.tracker.connect('ann').track('room')
    await sim.run(100)
    expect(await late).toEqual({ value: undefined, done: true })
    expect((await ready<WatchEvent>(second)).map(event => event.type)).toEqual(['diff'])
  })

  it('pub-C14: on a replica that has stopped, what is listed and what was told still agree', async () => {
    const { sim, a } = await startCluster()
    a.tracker.connect('ann').track('room')
    await sim.settle()
    await a.tracker.stop()
    await sim.run(60_000)
    const folded = told(sim, a, 'joins').length - told(sim, a, 'leaves').length
    expect(listed(a)).toHaveLength(folded)
  })

  it('pub-C15: the first event of a watch is the whole snapshot, also on a replica that is still learning', async () => {
    const { sim, a } = await startCluster()
    for (let i = 0; i < 200; i++) {
      a.tracker.connect(`user:${i}`).track('room')
    }
    await sim.settle()
    const late = sim.add()
    const watch = late.tracker.watch('room')
    const [first] = await ready<WatchEvent>(watch)
    expect(first).toMatchObject({ type: 'snapshot', presences: [] })
    expect(late.tracker.isOnline('user:1')).toBeUndefined()
    await sim.run(6_000)
    const [second] = await ready<WatchEvent>(late.tracker.watch('room'))
    expect(second?.type === 'snapshot' && second.presences.length).toBe(200)
    expect(late.tracker.isOnline('user:1')).toBe(true)
  })

  it('pub-C17: that a cannot reach c is its own view: b tells no leave, and no message of a says that c has left', async () => {
    const { sim, a, b, c } = await startCluster()
    const cid = c.tracker.connect('cid')
    cid.track('room')
    await sim.settle()
    sim.cut(a, c)
    await runAlive(sim, [cid], 60_000)
    expect(told(sim, b, 'leaves')).toEqual([])
    sim.heal()
    await runAlive(sim, [cid], 20_000)
    expect(told(sim, b, 'leaves')).toEqual([])
    expect(listed(a)).toHaveLength(1)
    expect(told(sim, a, 'joins').length - told(sim, a, 'leaves').length).toBe(1)
  })

  it('T4, pub-A9: within whatever callback, a user whose meta is being updated has exactly one', async () => {
    const { sim, a, b, c } = await startCluster()
    const ann: Connection = a.tracker.connect('ann')
    ann.track('room', { n: 0 })
    await sim.settle()
    const seen = new Set<number>()
    for (const replica of [a, b, c]) {
      replica.tracker.addEventListener('diff', () => void seen.add(replica.tracker.get('room', 'ann').length))
    }
    for (let n = 1; n <= 50; n++) {
      ann.update('room', { n })
      await sim.run(7)
      for (const replica of [a, b, c]) {
        seen.add(replica.tracker.get('room', 'ann').length)
      }
    }
    expect([...seen]).toEqual([1])
  })
})
