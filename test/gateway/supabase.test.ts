import { setTimeout as sleep } from 'node:timers/promises'
import { type RealtimeChannel, RealtimeClient, type RealtimeClientOptions } from '@supabase/realtime-js'
import { afterEach, describe, expect, it } from 'vitest'
import { type Authenticate, type Authorize, allow } from '../../src/net/gateway/index.ts'
import type { Meta } from '../../src/tracker/types.ts'
import { closeLater } from '../support/gateway/close-all.ts'
import { closeAll } from '../support/gateway/phoenix-client.ts'
import { type ServedGateway, startGateway } from '../support/gateway/serve-gateway.ts'
import { until } from '../support/net/until.ts'

afterEach(closeAll)

/** The user is in the token, such as `jwt-of-ann`. The key of the project names nobody yet. */
const byToken: Authenticate = async ({ token, params: { session } }) => {
  await sleep(2)
  const known = /^jwt-of-(\w+)/.exec(token ?? '')?.[1] ?? (token === 'anon-key' ? 'anon' : undefined)
  return known === undefined ? null : { user: known, ...(session !== undefined && { session }) }
}

/** Everybody may do everything, but the key is granted only in topics that say so. Nobody gets in who is nobody. */
const bySupabase: Authorize = ({ user, topic, payload, wantedKey }) => {
  const { config: _, access_token: __, ...meta } = payload
  const key = topic.includes('own-keys') ? wantedKey : undefined
  return user !== 'anon' && allow({ meta: meta as Meta, ...(key !== undefined && { key }) })
}

const serve = (gateway: object = {}): Promise<ServedGateway> =>
  startGateway({ gateway: { authenticate: byToken, authorize: bySupabase, ...gateway } })

/** As supabase-js does it: the token is known before anything is subscribed to. */
async function open({ url }: ServedGateway, user: string, options: Partial<RealtimeClientOptions> = {}): Promise<RealtimeClient> {
  const token = `jwt-of-${user}`
  const client = new RealtimeClient(url, { accessToken: async () => token, ...options, params: { apikey: 'anon-key', ...options.params } })
  closeLater(() => void client.disconnect())
  await client.setAuth()
  return client
}

/** Breaks the connection as a network would. */
function breakOff(client: RealtimeClient): void {
  const { socketAdapter } = client as unknown as { socketAdapter: { getSocket(): { conn: WebSocket } } }
  socketAdapter.getSocket().conn.close(4_000)
}

interface Room {
  readonly channel: RealtimeChannel
  readonly statuses: string[]
  /** `sync`, `join ann 1`, `leave ann 1`: with how many presences came or left. */
  readonly events: string[]
  keys(): string[]
}

function listen(client: RealtimeClient, topic: string, config: { key?: string } = {}): Room {
  const channel = client.channel(topic, { config: { presence: { key: config.key ?? '' } } })
  const events: string[] = []
  channel
    .on('presence', { event: 'sync' }, () => void events.push('sync'))
    .on('presence', { event: 'join' }, ({ key, newPresences }) => void events.push(`join ${key} ${newPresences.length}`))
    .on('presence', { event: 'leave' }, ({ key, leftPresences }) => void events.push(`leave ${key} ${leftPresences.length}`))
  return { channel, statuses: [], events, keys: () => Object.keys(channel.presenceState()).sort() }
}

async function subscribe(client: RealtimeClient, topic: string, config: { key?: string } = {}): Promise<Room> {
  const room = listen(client, topic, config)
  room.channel.subscribe((status, error) => void room.statuses.push(error === undefined ? status : `${status}: ${error.message}`))
  await until(`subscribed to ${topic}`, () => room.statuses.includes('SUBSCRIBED'))
  return room
}

const changes = ({ events }: Room): string[] => events.filter(event => event !== 'sync')

describe('C5: @supabase/realtime-js, unchanged', () => {
  it('subscribes, tracks, and sees others come, change and go', async () => {
    const served = await serve()
    const ann = await subscribe(await open(served, 'ann'), 'lobby')
    const bob = await subscribe(await open(served, 'bob'), 'lobby')
    await until('two empty lists', () => ann.events.length > 0 && bob.events.length > 0)
    expect([ann.keys(), bob.keys()]).toEqual([[], []])

    expect(await ann.channel.track({ status: 'here' })).toBe('ok')
    await until('ann is seen', () => bob.keys().length === 1 && ann.keys().length === 1)
    expect(bob.channel.presenceState()).toEqual({ ann: [{ status: 'here', presence_ref: expect.any(String) }] })
    expect(served.tracker.get('realtime:lobby', 'ann').map(({ meta }) => meta)).toEqual([{ status: 'here' }])

    expect(await ann.channel.untrack()).toBe('ok')
    await until('ann is gone', () => bob.keys().length === 0 && ann.keys().length === 0)
    expect(changes(bob)).toEqual(['join ann 1', 'leave ann 1'])
  })

  it('a second track is an update: join and leave of one key in one diff, and one sync', async () => {
    const served = await serve()
    const ann = await subscribe(await open(served, 'ann'), 'lobby')
    const bob = await subscribe(await open(served, 'bob'), 'lobby')
    await ann.channel.track({ status: 'here' })
    await until('ann is seen', () => bob.keys().length === 1)
    const before = bob.events.length
    expect(await ann.channel.track({ status: 'away' })).toBe('ok')
    await until('it has changed', () => bob.events.slice(before).includes('sync'))
    expect(bob.events.slice(before)).toEqual(['join ann 1', 'leave ann 1', 'sync'])
    const late = await subscribe(await open(served, 'late'), 'lobby')
    await until('the list of one who came later', () => late.keys().length === 1)
    expect(late.channel.presenceState()).toMatchObject({ ann: [{ status: 'away' }] })
    expect(served.tracker.count('realtime:lobby')).toEqual({ keys: 1, presences: 1 })
  })

  it('the key of its config is a wish: without a grant it is the user’s own', async () => {
    const served = await serve()
    const watcher = await subscribe(await open(served, 'watcher'), 'lobby')
    const granting = await subscribe(await open(served, 'watcher'), 'own-keys')
    const client = await open(served, 'mallory')
    const lobby = await subscribe(client, 'lobby', { key: 'ann' })
    const own = await subscribe(client, 'own-keys', { key: 'seat 7' })
    await lobby.channel.track({})
    await own.channel.track({})
    await until('both are seen', () => watcher.keys().length === 1 && granting.keys().length === 1)
    expect([watcher.keys(), granting.keys()]).toEqual([['mallory'], ['seat 7']])
  })

  it('unsubscribed, it has left at once', async () => {
    const served = await serve()
    const ann = await subscribe(await open(served, 'ann'), 'lobby')
    const bob = await subscribe(await open(served, 'bob'), 'lobby')
    await ann.channel.track({})
    await until('ann is seen', () => bob.keys().length === 1)
    expect(await ann.channel.unsubscribe()).toBe('ok')
    await until('ann has left', () => bob.keys().length === 0)
    expect(ann.statuses).toEqual(['SUBSCRIBED', 'CLOSED'])
  })

  it('without listeners for presence it is not told who is there, and can still be seen', async () => {
    const served = await serve()
    const bob = await subscribe(await open(served, 'bob'), 'lobby')
    const channel = (await open(served, 'ann')).channel('lobby')
    let isIn = false
    channel.subscribe(status => {
      isIn = status === 'SUBSCRIBED'
    })
    await until('ann is in', () => isIn)
    expect(await channel.track({})).toBe('ok')
    await until('ann is seen', () => bob.keys().length === 1)
    expect(channel.presenceState()).toEqual({})
  })

  it('one who may not is told CHANNEL_ERROR with the reason; a track that is refused is an error', async () => {
    let mayShow = true
    const served = await serve({
      authorize: (question: Parameters<Authorize>[0]) =>
        question.topic !== 'realtime:secret' && (question.action === 'watch' || mayShow) && bySupabase(question)
    })
    const client = await open(served, 'ann')
    const secret = listen(client, 'secret')
    secret.channel.subscribe((status, error) => void secret.statuses.push(`${status}: ${error?.message}`))
    await until('the refusal', () => secret.statuses.length > 0)
    expect(secret.statuses[0]).toBe('CHANNEL_ERROR: unauthorized')
    mayShow = false
    const lobby = await subscribe(client, 'lobby')
    expect(await lobby.channel.track({})).toBe('error')
  })

  it('reconnects with its session: neither it nor others see an event', async () => {
    const served = await serve()
    const client = await open(served, 'ann', { params: { apikey: 'anon-key', session: 'tab' }, reconnectAfterMs: () => 20 })
    const ann = await subscribe(client, 'lobby')
    const bob = await subscribe(await open(served, 'bob'), 'lobby')
    await ann.channel.track({ n: 1 })
    await until('ann is seen', () => bob.keys().length === 1)
    const [ref] = served.tracker.get('realtime:lobby', 'ann').map(presence => presence.ref)
    // What an app of Supabase does: whoever is subscribed again tracks again.
    const subscribed = ann.statuses.length
    breakOff(client)
    await until('it is subscribed again', () => ann.statuses.slice(subscribed).includes('SUBSCRIBED'))
    await ann.channel.track({ n: 1 })
    await ann.channel.track({ n: 2 })
    await until('the change is seen', () => changes(bob).length > 1)
    expect(changes(bob)).toEqual(['join ann 1', 'join ann 1', 'leave ann 1'])
    expect(served.tracker.get('realtime:lobby', 'ann').map(presence => presence.prevRef)).toEqual([ref])
  })

  it('several channels at once, with a token that comes after the connection: all are in, at the first attempt, as its user', async () => {
    const served = await serve()
    const client = await open(served, 'ann')
    const topics = ['one', 'two', 'three', 'four']
    const rooms = topics.map(topic => listen(client, topic))
    for (const { channel, statuses } of rooms) {
      channel.subscribe((status, error) => void statuses.push(error === undefined ? status : `${status}: ${error.message}`))
    }
    await until('all are in', () => rooms.every(({ statuses }) => statuses.includes('SUBSCRIBED')))
    breakOff(client)
    await until('all are in again', () => rooms.every(({ statuses }) => statuses.filter(status => status === 'SUBSCRIBED').length === 2))
    await Promise.all(rooms.map(({ channel }) => channel.track({})))
    expect(topics.map(topic => [...served.tracker.list(`realtime:${topic}`).keys()])).toEqual(topics.map(() => ['ann']))
    expect(
      rooms.flatMap(({ statuses }) => statuses.filter(status => status.includes('unauthorized') || status.includes('another')))
    ).toEqual([])
  })

  it('pub-F9: setAuth brings a newer token of the same user; another user’s is refused, and changes nothing', async () => {
    const served = await serve()
    const client = await open(served, 'ann')
    const ann = await subscribe(client, 'lobby')
    await ann.channel.track({})
    await client.setAuth('jwt-of-ann-2')
    expect(await ann.channel.track({ n: 2 })).toBe('ok')
    await client.setAuth('jwt-of-bob')
    expect(await ann.channel.track({ n: 3 })).toBe('ok')
    expect([...served.tracker.list('realtime:lobby').keys()]).toEqual(['ann'])
    expect(ann.statuses).toEqual(['SUBSCRIBED'])
  })

  it('its broadcasts, in JSON and binary, reach nobody and do no harm', async () => {
    const served = await serve()
    const ann = await subscribe(await open(served, 'ann'), 'lobby')
    const bob = await subscribe(await open(served, 'bob'), 'lobby')
    await ann.channel.send({ type: 'broadcast', event: 'cursor', payload: { x: 1 } })
    await ann.channel.send({ type: 'broadcast', event: 'cursor', payload: new ArrayBuffer(8) } as never)
    expect(await ann.channel.track({ fine: true })).toBe('ok')
    await until('ann is seen', () => bob.keys().length === 1)
    expect(served.gateway.stats()['closed.malformed']).toBeUndefined()
    expect(ann.statuses).toEqual(['SUBSCRIBED'])
  })
})
