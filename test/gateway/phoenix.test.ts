import { Presence } from 'phoenix'
import { afterEach, describe, expect, it } from 'vitest'
import type { Connection, Tracker } from '../../src/index.ts'
import { createRandom } from '../../src/tracker/environment.ts'
import { type Ledger, ledger } from '../support/gateway/ledger.ts'
import { closeAll, type JoinedTopic, joinTopic, openClient, type PhoenixClient } from '../support/gateway/phoenix-client.ts'
import { openRaw } from '../support/gateway/raw-client.ts'
import { type ServedGateway, startGateway } from '../support/gateway/serve-gateway.ts'
import { until } from '../support/net/until.ts'

afterEach(closeAll)

const ROOM = 'room:1'

interface Tab {
  readonly client: PhoenixClient
  readonly room: JoinedTopic
}

async function enter({ url }: ServedGateway, user: string, payload: object | (() => object) = {}, session?: string): Promise<Tab> {
  const client = openClient(url, { user, ...(session !== undefined && { session }) })
  return { client, room: await joinTopic(client, ROOM, payload) }
}

/** One who watches, and is not seen. */
async function watch(served: ServedGateway): Promise<JoinedTopic> {
  const { room } = await enter(served, 'watcher', { presence: { present: false } })
  await room.synced()
  return room
}

const refsOf = (tracker: Tracker): string[] =>
  [...tracker.list(ROOM).values()]
    .flat()
    .map(({ ref }) => ref)
    .sort()
const refsIn = (room: JoinedTopic): string[] =>
  Object.values(room.list())
    .flat()
    .map(meta => meta.phx_ref)
    .sort()

describe('C1: who is here, as the npm client phoenix lists it', () => {
  it('pub-C8, pub-C10: two tabs of one user are two metas of one key, oldest first; closing one does not make the key leave', async () => {
    const served = await startGateway()
    const watcher = await watch(served)
    const first = await enter(served, 'ann', { tab: 1 })
    await until('one tab', () => watcher.list().ann?.length === 1)
    const second = await enter(served, 'ann', { tab: 2 })
    await until('both tabs', () => watcher.list().ann?.length === 2)
    expect(watcher.list().ann).toMatchObject([{ tab: 1 }, { tab: 2 }])
    const newcomer = await watch(served)
    expect(newcomer.list().ann).toMatchObject([{ tab: 1 }, { tab: 2 }])

    await first.room.leave()
    await until('one tab', () => watcher.list().ann?.length === 1)
    expect(watcher.list().ann).toMatchObject([{ tab: 2 }])
    await second.room.leave()
    await until('nobody', () => watcher.keys().length === 0)
    expect(watcher.changes).toEqual(['join ann', 'more ann', 'fewer ann', 'leave ann'])
  })

  it('trap 3, pub-C2, pub-C5: an update is one diff with both halves, names its predecessor, and no key leaves', async () => {
    const served = await startGateway()
    const { room } = await enter(served, 'ann', { status: 'here' })
    await enter(served, 'ann', { tab: 2 })
    const watcher = await watch(served)
    const [before] = watcher.list().ann ?? []
    const told: unknown[] = []
    watcher.presence.onJoin((key, current, { metas }) => void told.push(['join', key, current?.metas.length, metas.length]))
    watcher.presence.onLeave((key, current, { metas }) => void told.push(['leave', key, current.metas.length, metas.length]))

    const { ref } = await room.push('update', { status: 'away' })
    await until('the update', () => told.length === 2)
    expect(told).toEqual([
      ['join', 'ann', 2, 1],
      ['leave', 'ann', 2, 1]
    ])
    expect(watcher.frames('presence_diff').map(({ joinRef, payload }) => ({ joinRef, payload }))).toEqual([
      {
        joinRef: null,
        payload: {
          joins: { ann: { metas: [{ status: 'away', phx_ref: ref, phx_ref_prev: before?.phx_ref }] } },
          leaves: { ann: { metas: [{ status: 'here', phx_ref: before?.phx_ref }] } }
        }
      }
    ])
    expect(watcher.list().ann).toMatchObject([{ tab: 2 }, { status: 'away', phx_ref: ref }])
  })

  it('an update that changes nothing keeps its ref, and is told to nobody', async () => {
    const served = await startGateway()
    const { room } = await enter(served, 'ann', { status: 'here' })
    const watcher = await watch(served)
    const [before] = watcher.list().ann ?? []
    expect(await room.push('update', { status: 'here' })).toEqual({ ref: before?.phx_ref })
    await room.push('update', { status: 'away' })
    await until('the real update', () => watcher.changes.length > 1)
    expect(watcher.frames('presence_diff')).toHaveLength(1)
  })

  it('trap 1: the reply, then the state of this join once, then diffs of no join; a newcomer is not told of himself twice', async () => {
    const served = await startGateway()
    const { client, room } = await enter(served, 'ann')
    await room.synced()
    await enter(served, 'bob')
    await until('bob', () => room.keys().length === 2)
    const mine = client.frames.filter(({ topic }) => topic === ROOM)
    const joinRef = mine[0]?.joinRef
    expect(mine.map(frame => [frame.event, frame.joinRef])).toEqual([
      ['phx_reply', joinRef],
      ['presence_state', joinRef],
      ['presence_diff', null]
    ])
    expect(joinRef).not.toBeNull()
    expect(room.changes).toEqual(['join ann', 'join bob'])
  })

  it('trap 6: every meta has its ref, and an app’s own phx_ref does not go before it', async () => {
    const served = await startGateway()
    const { room } = await enter(served, 'ann', { phx_ref: 'forged', phx_ref_prev: 'forged', tab: 1 })
    const watcher = await watch(served)
    const [ref] = refsOf(served.tracker)
    expect(watcher.list().ann).toMatchObject([{ phx_ref: ref, tab: 1 }])
    await room.push('update', { phx_ref: 'forged', tab: 2 })
    await until('the update', () => watcher.list().ann?.[0]?.tab === 2)
    expect(refsIn(watcher)).toEqual(refsOf(served.tracker))
  })

  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'a key with "quotes" and \u2028 \ud83d\ude00'])(
    'trap 5, pub-F3: the key %s is a key as any other',
    async key => {
      const served = await startGateway()
      const watcher = await watch(served)
      const { room } = await enter(served, key, { status: 'here' })
      await until('it came', () => watcher.keys().length === 1)
      expect(watcher.keys()).toEqual([key])
      await room.push('update', { status: 'away' })
      await until('it changed', () => (Object.entries(watcher.list())[0]?.[1][0] as { status?: string } | undefined)?.status === 'away')
      const late = await watch(served)
      expect(late.keys()).toEqual([key])
      await room.leave()
      await until('it left', () => watcher.keys().length === 0 && late.keys().length === 0)
      expect(({} as Record<string, unknown>).metas).toBeUndefined()
    }
  )

  it('a state of 1,000 members is one message, whole', async () => {
    const served = await startGateway()
    for (let member = 0; member < 1_000; member++) {
      served.tracker.connect(`user:${member}`).track(ROOM, { member })
    }
    const { client, room } = await enter(served, 'ann')
    await room.synced()
    expect(room.keys()).toHaveLength(1_001)
    expect(refsIn(room)).toEqual(refsOf(served.tracker))
    expect(client.frames.filter(({ event }) => event.startsWith('presence_')).map(({ event }) => event)).toEqual(['presence_state'])
  })
})

/** Random coming, changing and going of many presences, from below the gateway. */
function churn(tracker: Tracker, seed: number): { step(): void } {
  const random = createRandom(seed)
  const pick = (below: number): number => Math.floor((random.nextUint32() / 2 ** 32) * below)
  const here: (Connection | undefined)[] = Array.from({ length: 30 })
  return {
    step() {
      for (let change = pick(4); change >= 0; change--) {
        const place = pick(here.length)
        const connection = here[place]
        if (connection === undefined) {
          here[place] = tracker.connect(`user:${place % 10}`)
          here[place].track(ROOM, { n: 0 })
        } else if (pick(3) > 0) {
          connection.update(ROOM, ({ n }) => ({ n: Number(n) + 1 }))
        } else {
          connection.close()
          here[place] = undefined
        }
      }
    }
  }
}

describe('C1: one stream', () => {
  it('traps 1 and 2, pub-C1, pub-C6, pub-C15: whoever joins in the midst of changes is told each coming and going once, in order, and no ghost stays', async () => {
    const served = await startGateway({ gateway: { diffWindowMs: 5 } })
    const { step } = churn(served.tracker, 7)
    const rooms: { client: PhoenixClient; presence: Presence; seen: Ledger }[] = []
    for (let round = 0; round < 60; round++) {
      step()
      const client = openClient(served.url, { user: 'watcher', keepFrames: false })
      const channel = client.socket.channel(ROOM, { presence: { present: false } })
      const presence = new Presence(channel)
      rooms.push({ client, presence, seen: ledger(presence) })
      channel.join()
      for (let more = 0; more < 3; more++) {
        await new Promise(resolve => setImmediate(resolve))
        step()
      }
    }
    const refs = refsOf(served.tracker)
    expect(refs.length).toBeGreaterThan(5)
    const listed = ({ presence }: { presence: Presence }): string =>
      JSON.stringify(
        presence
          .list((_, { metas }) => metas.map(({ phx_ref }: { phx_ref: string }) => phx_ref))
          .flat()
          .sort()
      )
    await until('all list what the tracker lists', () => rooms.every(room => listed(room) === JSON.stringify(refs)))
    expect(rooms.flatMap(({ seen }) => seen.faults)).toEqual([])
    expect(rooms.every(({ seen }) => seen.here.size === refs.length)).toBe(true)
    await Promise.all(rooms.map(({ client }) => client.close()))
  })

  it('pub-C3: what a callback does to the objects it is given reaches no other watcher, and no later state', async () => {
    const served = await startGateway()
    const vandal = await watch(served)
    const watcher = await watch(served)
    vandal.presence.onJoin((_, __, presence) => {
      presence.metas[0].phx_ref = 'broken'
      presence.metas.length = 0
    })
    const { room } = await enter(served, 'ann', { status: 'here' })
    await until('ann', () => watcher.keys().length === 1)
    await room.push('update', { status: 'away' })
    await until('away', () => watcher.list().ann?.[0]?.status === 'away')
    expect(refsIn(watcher)).toEqual(refsOf(served.tracker))
    expect(refsIn(await watch(served))).toEqual(refsOf(served.tracker))
  })

  it('pub-C9: one client in five topics leaves with its connection: one leave in each topic, once', async () => {
    const served = await startGateway({ trackerOptions: { graceMs: 0 } })
    const topics = ['room:1', 'room:2', 'room:3', 'room:4', 'room:5']
    const watcher = openClient(served.url, { user: 'watcher' })
    const watched = await Promise.all(topics.map(topic => joinTopic(watcher, topic, { presence: { present: false } })))
    const ann = openClient(served.url, { user: 'ann' })
    await Promise.all(topics.map(topic => joinTopic(ann, topic)))
    await until('ann everywhere', () => watched.every(room => room.keys().length === 1))
    await ann.close()
    await until('ann nowhere', () => watched.every(room => room.keys().length === 0))
    expect(watched.map(({ changes }) => changes)).toEqual(topics.map(() => ['join ann', 'leave ann']))
    expect(watched.map(room => room.frames('presence_diff').length)).toEqual(topics.map(() => 2))
  })

  it('pub-C13: joined, left and joined again on one socket: nothing of the first join has an effect on the second', async () => {
    const served = await startGateway()
    const watcher = await watch(served)
    const { client, room } = await enter(served, 'ann', { round: 1 })
    await room.synced()
    await room.leave()
    const again = await joinTopic(client, ROOM, { round: 2 })
    await again.push('update', { round: 3 })
    await until('the last round', () => watcher.list().ann?.[0]?.round === 3 && again.list().ann?.[0]?.round === 3)
    expect(room.closes).toBe(1)
    expect(room.changes).toEqual(['join ann'])
    expect(again.closes).toBe(0)
    expect(watcher.list().ann).toHaveLength(1)
    expect(served.tracker.count(ROOM)).toEqual({ keys: 1, presences: 1 })
  })

  it('pub-D3: what is told of one change is of its size, not of the topic’s', async () => {
    const served = await startGateway({ gateway: { diffWindowMs: 0 } })
    const connections = Array.from({ length: 1_000 }, (_, member) => served.tracker.connect(`user:${member}`))
    for (const connection of connections) {
      connection.track(ROOM, { n: 0 })
    }
    const raw = await openRaw(served.url, { user: 'watcher' })
    await raw.request(ROOM, 'phx_join', { presence: { present: false } })
    await raw.next(([, , , event]) => event === 'presence_state')
    for (const connection of connections.slice(0, 100)) {
      connection.update(ROOM, { n: 1 })
      const [, , , , { joins, leaves }] = await raw.next(([, , , event]) => event === 'presence_diff')
      expect([Object.keys(joins), Object.keys(leaves)]).toEqual([[connection.user], [connection.user]])
    }
    const diffs = raw.texts.filter(text => text.includes('presence_diff'))
    expect(diffs).toHaveLength(100)
    expect(Math.max(...diffs.map(text => text.length))).toBeLessThan(300)
  })

  it('pub-D10: two devices that disagree every 50 ms: no key leaves, and a watcher gets one diff per window at most', async () => {
    const served = await startGateway({ gateway: { diffWindowMs: 200 } })
    const transitions: string[] = []
    served.tracker.addEventListener('online', ({ detail }) => void transitions.push(`online ${detail.user}`))
    served.tracker.addEventListener('offline', ({ detail }) => void transitions.push(`offline ${detail.user}`))
    const phone = await enter(served, 'ann', { device: 'phone' })
    const laptop = await enter(served, 'ann', { device: 'laptop' })
    const watcher = await watch(served)
    const startMs = performance.now()
    for (let turn = 0; turn < 20; turn++) {
      await phone.room.push('update', { device: 'phone', status: turn % 2 === 0 ? 'away' : 'active' })
      await laptop.room.push('update', { device: 'laptop', status: turn % 2 === 0 ? 'active' : 'away' })
      await new Promise(resolve => setTimeout(resolve, 50))
    }
    await until('the last word', () => watcher.list().ann?.every(({ status }) => status !== undefined) === true)
    const windows = Math.ceil((performance.now() - startMs) / 200) + 1
    expect(watcher.frames('presence_diff').length).toBeLessThanOrEqual(windows)
    expect(watcher.changes.filter(change => change === 'leave ann')).toEqual([])
    expect(transitions.filter(each => each.endsWith('ann'))).toEqual(['online ann'])
  })
})
