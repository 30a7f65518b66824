import { setTimeout as sleep } from 'node:timers/promises'
import { Presence } from 'phoenix'
import { afterEach, describe, expect, it } from 'vitest'
import type { Tracker } from '../../src/index.ts'
import type { ReplicaOptions } from '../../src/net/libp2p/index.ts'
import { createRandom } from '../../src/tracker/environment.ts'
import { type ClusterMember, startCluster } from '../support/gateway/cluster.ts'
import { ledger } from '../support/gateway/ledger.ts'
import { type LoadBalancer, startLoadBalancer } from '../support/gateway/load-balancer.ts'
import { closeAll, type JoinedTopic, joinTopic, openClient, type PhoenixClient } from '../support/gateway/phoenix-client.ts'
import { openRaw } from '../support/gateway/raw-client.ts'
import { startSplitPair } from '../support/gateway/split-pair.ts'
import { startSuspendable } from '../support/gateway/suspendable.ts'
import { until } from '../support/net/until.ts'

afterEach(closeAll)

const ROOM = 'room:1'
const WATCHES = { presence: { present: false } }
/** Replicas that find each other dead within a second or so. */
const QUICK: ReplicaOptions = {
  gossip: { heartbeatIntervalMs: 100, periodMs: 200 },
  detector: { acceptablePauseMs: 300, minDeviationMs: 50 }
}

async function watch(url: string): Promise<JoinedTopic> {
  const room = await joinTopic(openClient(url, { user: 'watcher' }), ROOM, WATCHES)
  await room.synced()
  return room
}

/** What the replica itself tells: `join ann`, `leave ann left`, `update ann`. */
function observe(tracker: Tracker): string[] {
  const seen: string[] = []
  tracker.addEventListener('diff', ({ detail: { topic, joins, leaves, updates } }) => {
    if (topic === ROOM) {
      seen.push(...joins.map(({ key }) => `join ${key}`))
      seen.push(...leaves.map(({ presence, reason }) => `leave ${presence.key} ${reason}`))
      seen.push(...updates.map(({ next }) => `update ${next.key}`))
    }
  })
  return seen
}

const refsOf = (tracker: Tracker): string[] =>
  [...tracker.list(ROOM).values()]
    .flat()
    .map(({ ref }) => ref)
    .sort()
const refsIn = ({ presence }: { readonly presence: Presence }): string[] =>
  presence
    .list((_, { metas }: { metas: { phx_ref: string }[] }) => metas.map(({ phx_ref }) => phx_ref))
    .flat()
    .sort()
const portOf = ({ origin }: { readonly origin: string }): number => Number(new URL(origin).port)

describe('C1, B1: two replicas', () => {
  it('each client sees those of the other: their coming, their changes, their going', async () => {
    const { members } = await startCluster(2)
    const [a, b] = members as [ClusterMember, ClusterMember]
    const ann = await joinTopic(openClient(a.url, { user: 'ann' }), ROOM, { status: 'here' })
    const bob = await joinTopic(openClient(b.url, { user: 'bob' }), ROOM)
    await until('each sees both', () => ann.keys().length === 2 && bob.keys().length === 2)
    expect(refsIn(ann)).toEqual(refsIn(bob))
    const before = ann.list().ann?.[0]?.phx_ref
    const { ref } = await ann.push('update', { status: 'away' })
    await until('bob sees the update', () => bob.list().ann?.[0]?.status === 'away')
    expect(bob.list().ann).toEqual([{ status: 'away', phx_ref: ref, phx_ref_prev: before }])
    await bob.leave()
    await until('bob has left', () => ann.keys().join() === 'ann')
    expect(ann.changes.filter(change => change.endsWith('bob'))).toEqual(['join bob', 'leave bob'])
    expect(bob.changes.filter(change => change !== 'join bob')).toEqual(['join ann', 'more ann', 'fewer ann'])
  })

  it('pub-C8: two tabs of one user on two replicas: closing one leaves the key', async () => {
    const { members } = await startCluster(2, { replica: { graceMs: 0 } })
    const [a, b] = members as [ClusterMember, ClusterMember]
    const watchers = await Promise.all([watch(a.url), watch(b.url)])
    const first = openClient(a.url, { user: 'ann' })
    await joinTopic(first, ROOM, { tab: 1 })
    await until('one tab', () => watchers.every(({ keys }) => keys().length === 1))
    const second = openClient(b.url, { user: 'ann' })
    await joinTopic(second, ROOM, { tab: 2 })
    await until('two tabs', () => watchers.every(room => room.list().ann?.length === 2))
    await first.close()
    await until('one tab', () => watchers.every(room => room.list().ann?.length === 1))
    await second.close()
    await until('none', () => watchers.every(room => room.keys().length === 0))
    for (const { changes } of watchers) {
      expect(changes).toEqual(['join ann', 'more ann', 'fewer ann', 'leave ann'])
    }
  })

  it('traps 1 and 2: changes on both, and clients that come meanwhile on both: all list the same in the end, and each was told each thing once', async () => {
    const { members } = await startCluster(2)
    const trackers = members.map(({ tracker }) => tracker)
    const random = createRandom(11)
    const rooms: ReturnType<typeof joinCounted>[] = []
    const here = trackers.map(() => new Map<number, ReturnType<Tracker['connect']>>())
    for (let step = 0; step < 120; step++) {
      const side = random.nextUint32() % 2
      const place = random.nextUint32() % 12
      const connections = here[side] as Map<number, ReturnType<Tracker['connect']>>
      const known = connections.get(place)
      if (known === undefined) {
        const connection = (trackers[side] as Tracker).connect(`user:${place}`)
        connection.track(ROOM, { n: 0 })
        connections.set(place, connection)
      } else if (random.nextUint32() % 3 > 0) {
        known.update(ROOM, { n: step })
      } else {
        known.close()
        connections.delete(place)
      }
      if (step % 6 === 0) {
        rooms.push(joinCounted((members[step % 2] as ClusterMember).url))
      }
      await sleep(random.nextUint32() % 8)
    }
    await until(
      'both replicas list the same',
      () => JSON.stringify(refsOf(trackers[0] as Tracker)) === JSON.stringify(refsOf(trackers[1] as Tracker))
    )
    const refs = refsOf(trackers[0] as Tracker)
    await until('all clients list it', () => rooms.every(room => JSON.stringify(refsIn(room)) === JSON.stringify(refs)))
    expect(refs.length).toBeGreaterThan(3)
    expect(rooms.flatMap(({ faults }) => faults)).toEqual([])
    await Promise.all(rooms.map(({ client }) => client.close()))
  })
})

/** One who watches; what he is told wrongly is written down. */
function joinCounted(url: string): { client: PhoenixClient; presence: Presence; faults: readonly string[] } {
  const client = openClient(url, { user: 'watcher', keepFrames: false })
  const channel = client.socket.channel(ROOM, WATCHES)
  const presence = new Presence(channel)
  const { faults } = ledger(presence)
  channel.join()
  return { client, presence, faults }
}

describe('B2, pub-E10: a session that moves to another replica', () => {
  const GRACE_MS = 2_000

  interface Moving {
    readonly a: ClusterMember
    readonly b: ClusterMember
    readonly c: ClusterMember
    readonly balancer: LoadBalancer
    readonly client: PhoenixClient
    readonly room: JoinedTopic
    readonly watchers: readonly JoinedTopic[]
    readonly seen: readonly string[][]
    readonly ref: string
  }

  /** A client on A, through a balancer that sends what comes now to B; watchers on B and C. */
  async function prepare(replica: ReplicaOptions = {}): Promise<Moving> {
    const { members } = await startCluster(3, { replica: { ...QUICK, graceMs: GRACE_MS, ...replica }, gateway: { drainMs: 100 } })
    const [a, b, c] = members as [ClusterMember, ClusterMember, ClusterMember]
    const watchers = await Promise.all([watch(b.url), watch(c.url)])
    const balancer = await startLoadBalancer([portOf(a)])
    const client = openClient(balancer.url, { user: 'ann', session: 'tab' })
    const room = await joinTopic(client, ROOM, { status: 'here' })
    await room.synced()
    await until('all see ann', () => watchers.every(each => each.keys().length === 1))
    const seen = members.map(({ tracker }) => observe(tracker))
    balancer.add(portOf(b))
    balancer.remove(portOf(a))
    const [{ ref } = { ref: '' }] = a.tracker.get(ROOM, 'ann')
    return { a, b, c, balancer, client, room, watchers, seen, ref }
  }

  /** Nobody has been told anything, also not after the grace; and all can hear. */
  async function expectQuiet({ b, c, client, room, watchers, seen, ref }: Moving): Promise<void> {
    await until('it is on B', () => client.opens >= 2 && room.channel.state === 'joined')
    await until('B has it', () => b.tracker.get(ROOM, 'ann')[0]?.replica === b.tracker.id)
    await sleep(GRACE_MS + 500)
    expect(seen).toEqual([[], [], []])
    expect([b, c].map(({ tracker }) => tracker.get(ROOM, 'ann').map(presence => presence.ref))).toEqual([[ref], [ref]])
    await room.push('update', { status: 'away' })
    await until('the update is seen', () => watchers.every(({ changes }) => changes.includes('fewer ann')))
    expect(watchers.map(({ changes }) => changes)).toEqual(watchers.map(() => ['join ann', 'more ann', 'fewer ann']))
    expect(room.changes).toEqual(['join ann', 'more ann', 'fewer ann'])
  }

  it('F3: A’s gateway is drained, then A is stopped: nobody is told anything', async () => {
    const moving = await prepare()
    await moving.a.stopGently({ announce: true })
    await expectQuiet(moving)
    expect(moving.client.closes[0]).toEqual({ code: 1_012, reason: 'draining' })
  })

  it('A is stopped without being drained: nobody is told anything', async () => {
    const moving = await prepare()
    await moving.a.stop()
    await expectQuiet(moving)
  })

  it('A dies: nobody is told anything', async () => {
    const moving = await prepare()
    await moving.a.kill()
    await expectQuiet(moving)
  })

  it('its socket is cut without a goodbye, while A lives on: nobody is told anything', async () => {
    const moving = await prepare()
    moving.a.cut()
    await expectQuiet(moving)
    expect(moving.a.tracker.get(ROOM, 'ann')).toMatchObject([{ replica: moving.b.tracker.id }])
  })

  it('its old socket on A stays half open: A closes it as taken over, and nobody is told anything', async () => {
    const { members } = await startCluster(2, { replica: { graceMs: GRACE_MS } })
    const [a, b] = members as [ClusterMember, ClusterMember]
    const watchers = await Promise.all([watch(a.url), watch(b.url)])
    const old = await openRaw(a.url, { user: 'ann', session: 'tab' })
    await old.request(ROOM, 'phx_join', { status: 'here' })
    await until('all see ann', () => watchers.every(each => each.keys().length === 1))
    old.stopReading()
    const young = await openRaw(b.url, { user: 'ann', session: 'tab' })
    await young.request(ROOM, 'phx_join', { status: 'here' })
    old.resumeReading()
    expect(await old.closed()).toEqual({ code: 1_000, reason: 'taken over' })
    await sleep(GRACE_MS + 500)
    await young.request(ROOM, 'update', { status: 'away' })
    await until('the update is seen', () => watchers.every(({ changes }) => changes.includes('fewer ann')))
    expect(watchers.map(({ changes }) => changes)).toEqual(watchers.map(() => ['join ann', 'more ann', 'fewer ann']))
  })

  it('it does not come back: exactly one leave everywhere, after the grace', async () => {
    const { a, client, watchers, seen } = await prepare()
    const startMs = performance.now()
    await client.close()
    await until('all have seen it leave', () => watchers.every(each => each.keys().length === 0))
    expect(performance.now() - startMs).toBeGreaterThan(GRACE_MS - 50)
    expect(seen).toEqual([['leave ann expired'], ['leave ann expired'], ['leave ann expired']])
    expect(a.tracker.count(ROOM).keys).toBe(0)
    expect(watchers.map(({ changes }) => changes)).toEqual(watchers.map(() => ['join ann', 'leave ann']))
  })

  it('it comes back too late: one leave, one join, everywhere', async () => {
    const { b, client, watchers, seen } = await prepare({ graceMs: 300 })
    await client.close()
    await until('all have seen it leave', () => watchers.every(each => each.keys().length === 0))
    await joinTopic(openClient(b.url, { user: 'ann', session: 'tab' }), ROOM, { status: 'here' })
    await until('all have seen it come', () => watchers.every(each => each.keys().length === 1))
    expect(seen).toEqual(seen.map(() => ['leave ann expired', 'join ann']))
    expect(watchers.map(({ changes }) => changes)).toEqual(watchers.map(() => ['join ann', 'leave ann', 'join ann']))
  })

  it('phx_leave is a leave at once everywhere, also of a session that has moved', async () => {
    const { a, b, c, client, room, watchers, seen } = await prepare({ graceMs: 600_000, permdownAfterMs: 1_200_000 })
    a.cut()
    await until('it is on B', () => client.opens >= 2 && room.channel.state === 'joined')
    await until('all know that it is', () => [a, b, c].every(({ tracker }) => tracker.get(ROOM, 'ann')[0]?.replica === b.tracker.id))
    await room.leave()
    await until('all have seen it leave', () => watchers.every(each => each.keys().length === 0) && seen.every(({ length }) => length > 0))
    expect(seen).toEqual(seen.map(() => ['leave ann left']))
  })
})

describe('F2: a netsplit of two replicas', () => {
  const GRACE_MS = 800
  const replica: ReplicaOptions = { ...QUICK, graceMs: GRACE_MS }

  it('no ghost and no loss after it, and one pair of events at most for each client, whatever happened meanwhile', async () => {
    const { members, split, heal } = await startSplitPair(replica)
    const [a, b] = members
    const watchers = await Promise.all([watch(a.url), watch(b.url)])
    const clients = await Promise.all(
      ['stays', 'goes', 'changes'].flatMap(name =>
        members.map(async ({ url }, side) => {
          const client = openClient(url, { user: `${name} ${side}` })
          return { client, room: await joinTopic(client, ROOM, { n: 0 }) }
        })
      )
    )
    await until('all see all', () => watchers.every(each => each.keys().length === 6))
    const past = watchers.map(({ changes }) => changes.length)

    await split()
    await until('each side has seen the other leave', () => watchers.every(each => each.keys().length === 3))
    for (const { client, room } of clients) {
      const [name] = [...served(room)]
      if (name === 'goes') {
        await room.leave()
        await client.close()
      } else if (name === 'changes') {
        await room.push('update', { n: 1 })
        await room.push('update', { n: 2 })
      }
    }
    const comes = await joinTopic(openClient(a.url, { user: 'comes 0' }), ROOM)
    await until('a sees who came', () => comes.keys().length === 3)

    await heal()
    const expected = ['changes 0', 'changes 1', 'comes 0', 'stays 0', 'stays 1']
    await until('all see the same', () => watchers.every(each => each.keys().join() === expected.join()))
    await until('and the newest of it', () => watchers.every(each => expected.slice(0, 2).every(key => each.list()[key]?.[0]?.n === 2)))
    await sleep(GRACE_MS + 500)
    expect(watchers.map(refsIn)).toEqual([refsOf(a.tracker), refsOf(a.tracker)])
    expect(refsOf(b.tracker)).toEqual(refsOf(a.tracker))
    watchers.forEach((watcher, side) => {
      const told = (key: string): string[] => watcher.changes.slice(past[side]).filter(change => change.endsWith(key))
      const far = 1 - side
      expect(told(`stays ${side}`)).toEqual([])
      expect(told(`stays ${far}`)).toEqual([`leave stays ${far}`, `join stays ${far}`])
      expect(told(`changes ${far}`)).toEqual([`leave changes ${far}`, `join changes ${far}`])
      expect(told(`goes ${far}`)).toEqual([`leave goes ${far}`])
      expect(told('comes 0')).toEqual(['join comes 0'])
    })
  })

  it('one that heals inside the grace is told to nobody', async () => {
    const { members, split, heal } = await startSplitPair({ ...replica, graceMs: 20_000 })
    const watchers = await Promise.all(members.map(({ url }) => watch(url)))
    await Promise.all(members.map(({ url }, side) => joinTopic(openClient(url, { user: `user ${side}` }), ROOM)))
    await until('all see all', () => watchers.every(each => each.keys().length === 2))
    await split()
    await until('each holds the other down', () =>
      members.every(({ tracker }) => tracker.replicas().some(({ status }) => status === 'down'))
    )
    await heal()
    await until('each holds the other up', () => members.every(({ tracker }) => tracker.replicas().every(({ status }) => status === 'up')))
    await joinTopic(openClient(members[0].url, { user: 'proof' }), ROOM)
    await until('all hear', () => watchers.every(each => each.keys().includes('proof')))
    expect(watchers.map(({ changes }) => [...changes].sort())).toEqual(watchers.map(() => ['join proof', 'join user 0', 'join user 1']))
  })

  it('a session that moves to the other side while the two are cut is one presence after it, and no event beyond the split’s own', async () => {
    const { members, split, heal } = await startSplitPair(replica)
    const [a, b] = members
    const watchers = await Promise.all([watch(a.url), watch(b.url)])
    const balancer = await startLoadBalancer([portOf(a)])
    const client = openClient(balancer.url, { user: 'ann', session: 'tab' })
    const room = await joinTopic(client, ROOM, { status: 'here' })
    await until('all see ann', () => watchers.every(each => each.keys().length === 1))
    await split()
    await until('b has seen ann leave', () => watchers[1]?.keys().length === 0)
    balancer.add(portOf(b))
    balancer.remove(portOf(a))
    client.breakOff()
    await until('it is on B', () => client.opens >= 2 && room.channel.state === 'joined')
    await until('B shows it', () => watchers[1]?.keys().length === 1)
    await heal()
    await until('both have it from B', () => members.every(({ tracker }) => tracker.get(ROOM, 'ann')[0]?.replica === b.tracker.id))
    await sleep(GRACE_MS + 500)
    expect(members.map(({ tracker }) => tracker.count(ROOM))).toEqual(members.map(() => ({ keys: 1, presences: 1 })))
    expect(watchers[1]?.changes).toEqual(['join ann', 'leave ann', 'join ann'])
    expect(watchers[0]?.changes.filter(change => change.startsWith('leave')).length).toBeLessThanOrEqual(1)
    expect(watchers.map(({ list }) => list().ann?.length)).toEqual([1, 1])
  })
})

const served = ({ reply }: JoinedTopic): string[] => String(reply.presence.key).split(' ')

describe('replicas that stand still, and drains', () => {
  it('pub-D12: with another replica hung, and one dead, a client that joins is told at once who is here', async () => {
    const { members } = await startCluster(1, { replica: { readyTimeoutMs: 1_000 } })
    const [here] = members as [ClusterMember]
    const bootstrap = here.replica.addresses()
    const [hung, dead] = [await startSuspendable({ bootstrap }), await startSuspendable({ bootstrap })]
    for (const [place, { url }] of [hung, dead].entries()) {
      await joinTopic(openClient(url, { user: `user:${place}` }), ROOM)
    }
    await until('all are known here', () => here.tracker.count(ROOM).keys === 2)
    hung.suspend()
    dead.kill()
    const startMs = performance.now()
    const room = await watch(here.url)
    expect(performance.now() - startMs).toBeLessThan(1_000)
    expect(room.keys()).toEqual(['user:0', 'user:1'])
    const count = await joinTopic(openClient(here.url, { user: 'counter' }), 'room:1', { presence: { watch: 'counts', present: false } })
    await until('the counts', () => count.frames('presence_count').length > 0)
    expect(count.frames('presence_count')[0]?.payload).toEqual({ keys: 2, presences: 2 })
    hung.resume()
  })

  it('pub-D9, pub-E9: 200 clients of a drained gateway: sent on evenly, none refused where it comes to, nobody told anything', async () => {
    const { members } = await startCluster(2, { replica: { graceMs: 20_000 }, gateway: { drainMs: 2_000 } })
    const [a, b] = members as [ClusterMember, ClusterMember]
    const watcher = await watch(b.url)
    const balancer = await startLoadBalancer([portOf(a)])
    const clients = await Promise.all(
      Array.from({ length: 200 }, async (_, n) => {
        const client = openClient(balancer.url, { user: `user:${n}`, session: `tab:${n}`, keepFrames: false })
        const { channel } = await joinTopic(client, ROOM)
        return { client, channel }
      })
    )
    await until('all are seen', () => watcher.keys().length === 200)
    balancer.add(portOf(b))
    balancer.remove(portOf(a))
    const arrivals: number[] = []
    for (const { client } of clients) {
      client.socket.onOpen(() => void arrivals.push(performance.now()))
    }
    const startMs = performance.now()
    await a.gateway.drain()
    expect(performance.now() - startMs).toBeGreaterThan(1_700)
    await until('all are on B', () => clients.every(({ channel }) => channel.state === 'joined') && b.gateway.size === 201)
    expect(clients.every(({ client }) => client.closes.length === 1 && client.closes[0]?.code === 1_012)).toBe(true)
    const perWindow = new Map<number, number>()
    for (const atMs of arrivals) {
      const window = Math.floor((atMs - startMs) / 250)
      perWindow.set(window, (perWindow.get(window) ?? 0) + 1)
    }
    expect(arrivals).toHaveLength(200)
    expect(Math.max(...perWindow.values())).toBeLessThan(60)
    await until('B holds them', () => [...b.tracker.list(ROOM).values()].every(([presence]) => presence?.replica === b.tracker.id))
    expect(watcher.changes).toHaveLength(200)
    await Promise.all(clients.map(({ client }) => client.close()))
  })
})
