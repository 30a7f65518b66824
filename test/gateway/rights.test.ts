import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { type Authorize, allow, deny, type GatewayOptions, type GatewayQuestion } from '../../src/net/gateway/index.ts'
import type { Meta } from '../../src/tracker/types.ts'
import { byParams, openHouse } from '../support/gateway/hooks.ts'
import { openLongPollClient } from '../support/gateway/long-poll-client.ts'
import { closeAll, type JoinedTopic, joinTopic, openClient } from '../support/gateway/phoenix-client.ts'
import { openRaw } from '../support/gateway/raw-client.ts'
import { type ServedGateway, startGateway } from '../support/gateway/serve-gateway.ts'
import { until } from '../support/net/until.ts'

afterEach(closeAll)

const ROOM = 'room:1'
const WATCHES = { presence: { present: false } }
const SHOWS = { presence: { watch: 'none' } }

const serve = (authorize?: Authorize, gateway: Partial<GatewayOptions> = {}): Promise<ServedGateway> =>
  startGateway({ gateway: { authorize, ...gateway } as Partial<GatewayOptions> })

const join = ({ url }: ServedGateway, user: string, payload: object = {}, topic = ROOM): Promise<JoinedTopic> =>
  joinTopic(openClient(url, { user, rejoinAfterMs: () => 600_000 }), topic, payload)

const metasOf = ({ tracker }: ServedGateway, key: string): Meta[] => tracker.get(ROOM, key).map(({ meta }) => meta)
const UNAUTHORIZED = { response: { reason: 'unauthorized' } }

describe('S1: authorize', () => {
  it('denies everything where it is not given', async () => {
    const served = await startGateway({ gateway: { authorize: undefined } as unknown as Partial<GatewayOptions> })
    await expect(join(served, 'ann')).rejects.toMatchObject(UNAUTHORIZED)
    expect(served.tracker.count(ROOM).presences).toBe(0)
  })

  it.each([
    ['false', () => false],
    ['null', () => null],
    ['nothing', () => undefined],
    ['false, later', async () => false],
    ['deny()', () => deny()]
  ] satisfies [string, Authorize][])('%s denies, and says no more than of a topic that does not exist', async (_, authorize) => {
    await expect(join(await serve(authorize), 'ann')).rejects.toMatchObject(UNAUTHORIZED)
  })

  it('one that throws, rejects, or does not answer in time denies as unavailable; the next join asks again', async () => {
    const faults: Authorize[] = [
      () => {
        throw new Error('database')
      },
      () => Promise.reject(new Error('database')),
      () => new Promise(() => undefined)
    ]
    let fault = faults[0]
    const served = await serve(question => fault?.(question) ?? openHouse(question), { hookTimeoutMs: 100 })
    for (fault of faults) {
      await expect(join(served, 'ann')).rejects.toMatchObject({ response: { reason: 'unavailable' } })
    }
    fault = undefined
    expect((await join(served, 'ann')).reply).toMatchObject({ presence: { watch: 'list', key: 'ann' } })
    expect(served.gateway.stats().hookFailures).toBe(6)
  })

  it('what is shown is what it says: its meta, its key, not what the client sent', async () => {
    const served = await serve(
      ({ action, user, payload }) => action === 'watch' || allow({ key: `team of ${user}`, meta: { n: Number(payload.n) * 2 } })
    )
    const { reply } = await join(served, 'ann', { n: 21, admin: true })
    expect(reply).toEqual({ presence: { watch: 'list', key: 'team of ann', ref: served.tracker.get(ROOM, 'team of ann')[0]?.ref } })
    expect(metasOf(served, 'team of ann')).toEqual([{ n: 42 }])
  })

  it('a key that changes with an update moves in one diff: at no time neither, or both', async () => {
    const served = await serve(({ action, payload }) => action === 'watch' || allow({ key: String(payload.team), meta: {} }))
    const watcher = await join(served, 'watcher', WATCHES)
    const ann = await join(served, 'ann', { team: 'red' })
    await until('red', () => watcher.keys().join() === 'red')
    await ann.push('update', { team: 'blue' })
    await until('blue', () => watcher.keys().join() === 'blue')
    const diff = watcher.frames('presence_diff').at(-1)?.payload
    expect([Object.keys(diff.joins), Object.keys(diff.leaves)]).toEqual([['blue'], ['red']])
    await ann.leave()
    await until('nobody', () => watcher.keys().length === 0)
    expect(watcher.changes).toEqual(['join red', 'join blue', 'leave red', 'leave blue'])
  })

  it('an answer is remembered for its time, for the same question of the same client only', async () => {
    let asked = 0
    const served = await serve(question => {
      asked++
      return question.action === 'watch' || allow({ meta: {}, validMs: 60_000 })
    })
    const ann = await join(served, 'ann')
    expect(asked).toBe(2)
    await ann.push('update', { n: 1 })
    await ann.push('update', { n: 1 })
    expect(asked).toBe(3)
    await ann.push('update', { n: 2 })
    expect(asked).toBe(4)
    await join(served, 'ann')
    await join(served, 'bob')
    expect(asked).toBe(8)
  })

  it('pub-E15: it is asked on every path, with what was sent on it: join, track, update, rejoin, Supabase’s track', async () => {
    const asked: string[] = []
    const served = await serve(({ action, payload, topic }) => {
      asked.push(`${topic} ${action} ${payload.step}`)
      return action === 'watch' || (payload.step !== 'vetoed' && allow({ meta: { step: String(payload.step), stamped: true } }))
    })
    const client = openClient(served.url, { user: 'ann', session: 'tab' })
    const room = await joinTopic(client, ROOM, { step: 'join' })
    await room.push('update', { step: 'update' })
    await room.push('untrack')
    await room.push('track', { step: 'track' })
    await room.push('presence', { event: 'track', payload: { step: 'supabase' } })
    expect(metasOf(served, 'ann')).toEqual([{ step: 'supabase', stamped: true }])
    for (const event of ['update', 'track']) {
      await expect(room.push(event, { step: 'vetoed' })).rejects.toMatchObject(UNAUTHORIZED)
    }
    await expect(room.push('presence', { event: 'track', payload: { step: 'vetoed' } })).rejects.toMatchObject(UNAUTHORIZED)
    expect(metasOf(served, 'ann')).toEqual([{ step: 'supabase', stamped: true }])
    client.breakOff()
    await until('it is in again', () => client.opens === 2 && room.channel.state === 'joined')
    expect(asked.filter(each => each.endsWith('vetoed'))).toEqual(['room:1 present vetoed'])
    expect(asked.filter(each => !each.endsWith('vetoed'))).toEqual([
      ...['room:1 watch join', 'room:1 present join', 'room:1 present update', 'room:1 present track', 'room:1 present supabase'],
      ...['room:1 watch join', 'room:1 present join']
    ])
  })
})

describe('S2, pub-E2: present and watching are two rights', () => {
  const may =
    (...actions: string[]): Authorize =>
    ({ action }) =>
      actions.includes(action) && (action === 'watch' || allow({ meta: {} }))

  it('both: listed, and told', async () => {
    const served = await serve(may('watch', 'present'))
    const room = await join(served, 'ann')
    await room.synced()
    expect([room.reply.presence.watch, room.keys(), served.tracker.count(ROOM).keys]).toEqual(['list', ['ann'], 1])
  })

  it('watch only: told, and not listed; track is refused', async () => {
    const served = await serve(may('watch'))
    served.tracker.connect('bob').track(ROOM)
    const room = await join(served, 'ann')
    await room.synced()
    expect([room.reply, room.keys()]).toEqual([{ presence: { watch: 'list' } }, ['bob']])
    await expect(room.push('track')).rejects.toMatchObject(UNAUTHORIZED)
    await expect(room.push('update')).rejects.toMatchObject({ response: { reason: 'not present' } })
    expect(served.tracker.count(ROOM).keys).toBe(1)
  })

  it('present only: listed, and told nothing: no state, no diff, no count', async () => {
    const served = await serve(may('present'))
    const client = openClient(served.url, { user: 'ann' })
    const room = await joinTopic(client, ROOM)
    served.tracker.connect('bob').track(ROOM)
    await room.push('update', { n: 1 })
    await sleep(100)
    await room.push('update', { n: 2 })
    expect(room.reply.presence).toMatchObject({ watch: 'none', key: 'ann' })
    expect(room.frames().filter(({ event }) => event !== 'phx_reply')).toEqual([])
    expect(served.tracker.count(ROOM).keys).toBe(2)
  })

  it('neither: refused, and not listed', async () => {
    const served = await serve(may())
    await expect(join(served, 'ann')).rejects.toMatchObject(UNAUTHORIZED)
    expect(served.tracker.count(ROOM).keys).toBe(0)
  })

  it.each([
    ['watch', { watch: 'list' }, may('present')],
    ['counts', { watch: 'counts' }, may('present')],
    ['presence', { present: true }, may('watch')],
    ['nothing at all, in a topic that is closed to it,', { watch: 'none', present: false }, may()]
  ])('one who asks for %s by name and may not is refused', async (_, presence, authorize) => {
    const served = await serve(authorize)
    await expect(join(served, 'ann', { presence })).rejects.toMatchObject(UNAUTHORIZED)
    expect(served.tracker.count(ROOM).keys).toBe(0)
  })

  it('is asked only for what the client wants', async () => {
    const asked: string[] = []
    const served = await serve(question => {
      asked.push(`${question.user} ${question.action}`)
      return openHouse(question)
    })
    await join(served, 'ann', WATCHES)
    await join(served, 'bob', SHOWS)
    expect(asked).toEqual(['ann watch', 'bob present'])
  })

  it('counts: how many, never who', async () => {
    const served = await serve(may('watch'))
    const client = openClient(served.url, { user: 'ann' })
    const room = await joinTopic(client, ROOM, { presence: { watch: 'counts', present: false } })
    const bob = served.tracker.connect('bob')
    bob.track(ROOM)
    await until('one', () => room.frames('presence_count').some(({ payload }) => payload.keys === 1))
    bob.close()
    await until('none again', () => room.frames('presence_count').at(-1)?.payload.keys === 0 && room.frames('presence_count').length > 2)
    expect(JSON.stringify(client.frames)).not.toContain('bob')
  })
})

describe('rights that end', () => {
  it('an answer that is older than its validMs is asked again; whoever may watch no more is put out, for good', async () => {
    let mayWatch = true
    const served = await serve(({ action, user }) =>
      action === 'watch' ? user !== 'ann' || (mayWatch && allow({ validMs: 200 })) : allow()
    )
    const other = await join(served, 'bob')
    const room = await join(served, 'ann')
    await until('both', () => other.keys().length === 2)
    mayWatch = false
    await until('ann is put out', () => room.closes === 1)
    await until('ann has left', () => other.keys().length === 1)
    served.tracker.connect('carol').track(ROOM)
    await until('carol', () => other.keys().length === 2)
    expect(room.channel.state).toBe('closed')
    expect(room.keys()).not.toContain('carol')
    expect(served.gateway.stats().revoked).toBe(1)
  })

  it('whoever may be present no more leaves at once, and watches on', async () => {
    let mayShow = true
    const served = await serve(({ action, user }) => action === 'watch' || (user !== 'ann' ? allow() : mayShow && allow({ validMs: 200 })))
    const other = await join(served, 'bob')
    const room = await join(served, 'ann')
    await until('both', () => other.keys().length === 2)
    mayShow = false
    await until('ann has left', () => other.keys().length === 1 && room.keys().length === 1)
    expect(room.channel.state).toBe('joined')
    await expect(room.push('update', { n: 1 })).rejects.toMatchObject({ response: { reason: 'not present' } })
  })

  it('a hook that fails when it is asked again ends nothing: it is asked each second, and what it says then counts', async () => {
    let isBroken = false
    let mayWatch = true
    const served = await serve(({ action }) => {
      if (isBroken) {
        throw new Error('database')
      }
      return mayWatch && allow(action === 'watch' ? { validMs: 200 } : { validMs: 200, meta: {} })
    })
    const room = await joinTopic(openClient(served.url, { user: 'ann' }), ROOM)
    isBroken = true
    await until('it failed for both rights, twice', () => (served.gateway.stats().hookFailures ?? 0) >= 4)
    expect(served.tracker.count(ROOM).keys).toBe(1)
    expect(room.channel.state).toBe('joined')
    isBroken = false
    mayWatch = false
    await until('ann is put out', () => served.tracker.count(ROOM).keys === 0 && room.closes === 1)
  })

  it('a client that keeps all places of its channel’s queue taken is asked again all the same', async () => {
    let mayWatch = true
    const door = Promise.withResolvers<void>()
    const served = await serve(async ({ action, payload }) => {
      if (action === 'watch') {
        return mayWatch && allow({ validMs: 100 })
      }
      await (payload.slow === true ? door.promise : undefined)
      return allow({ meta: {} })
    })
    const raw = await openRaw(served.url, { user: 'ann' })
    await raw.request(ROOM, 'phx_join')
    mayWatch = false
    for (let n = 0; n < 300; n++) {
      raw.send(['1', `push ${n}`, ROOM, 'update', { slow: true, n }])
    }
    expect((await raw.next(([, ref, , event]) => ref?.startsWith('push') === true && event === 'phx_reply'))[4].response).toEqual({
      reason: 'too many pushes at once'
    })
    await sleep(600)
    door.resolve()
    await raw.next(([, , , event]) => event === 'phx_close')
    expect(served.tracker.count(ROOM).keys).toBe(0)
  })

  it('while nothing changes, asking again changes nothing that anybody sees', async () => {
    let asked = 0
    const served = await serve(({ action }) => {
      asked++
      return allow(action === 'watch' ? { validMs: 50 } : { validMs: 50, meta: {} })
    })
    const room = await join(served, 'ann')
    await until('it was asked many times', () => asked >= 8)
    expect([room.closes, room.errors, room.changes]).toEqual([0, [], ['join ann']])
  })
})

describe('pub-F1, pub-F2: nobody speaks for another', () => {
  it('pub-F1: a payload that names another user is the payload of the one who sent it', async () => {
    const served = await serve(openHouse)
    const alice = await join(served, 'alice', { name: 'Alice' })
    const forged = { user: 'alice', userId: 'alice', key: 'alice', user_id: 'alice', presence: { key: 'alice' } }
    const mallory = await join(served, 'mallory', forged)
    await mallory.push('update', { ...forged, n: 1 })
    await mallory.push('track', { ...forged, n: 2 })
    await until('mallory is seen', () => alice.keys().length === 2)
    expect(mallory.reply.presence.key).toBe('mallory')
    expect(served.tracker.get(ROOM, 'mallory').map(({ user }) => user)).toEqual(['mallory'])
    expect(metasOf(served, 'alice')).toEqual([{ name: 'Alice' }])
    expect(alice.changes.filter(change => change.endsWith('alice'))).toEqual(['join alice'])
  })

  it('pub-F1: another user’s session id is another session: it neither takes over nor adopts anything', async () => {
    const served = await serve(openHouse)
    const client = openClient(served.url, { user: 'alice', session: 'stolen' })
    const alice = await joinTopic(client, ROOM, { name: 'Alice' })
    const [before] = served.tracker.get(ROOM, 'alice')
    const thief = await joinTopic(openClient(served.url, { user: 'mallory', session: 'stolen' }), ROOM)
    await until('mallory is seen', () => alice.keys().length === 2)
    await thief.leave()
    await until('mallory has left', () => alice.keys().length === 1)
    expect(served.tracker.get(ROOM, 'alice')).toEqual([before])
    expect([client.closes, alice.changes]).toEqual([[], ['join alice', 'join mallory', 'leave mallory']])
  })

  it('pub-F2: a frame with another’s ref, topic or join_ref acts on its own socket only', async () => {
    const served = await serve(question => (question.topic !== 'room:alice’s' || question.user === 'alice' ? openHouse(question) : false))
    const alice = await openRaw(served.url, { user: 'alice' })
    await alice.request(ROOM, 'phx_join')
    await alice.request('room:alice’s', 'phx_join')
    const [{ ref } = { ref: '' }] = served.tracker.get(ROOM, 'alice')
    const mallory = await openRaw(served.url, { user: 'mallory' })
    await mallory.request(ROOM, 'phx_join')
    const sent = alice.frames.length

    for (const [event, payload] of [
      ['untrack', { ref, phx_ref: ref, key: 'alice' }],
      ['untrack', { [ref]: ref }],
      ['update', { ref, phx_ref: ref, key: 'alice' }],
      ['presence', { event: 'untrack', payload: { ref }, key: 'alice' }]
    ] as const) {
      mallory.send(['1', `9 ${event}`, ROOM, event, payload as object])
    }
    mallory.send(['2', '90', 'room:alice’s', 'untrack', {}])
    mallory.send(['2', '91', 'room:alice’s', 'phx_leave', {}])
    mallory.send(['2', '92', 'room:alice’s', 'phx_join', {}])
    const answers = await Promise.all(['90', '91', '92'].map(wanted => mallory.next(([, given]) => given === wanted).catch(() => null)))
    expect(answers.map(answer => answer?.[4])).toEqual([
      { status: 'error', response: { reason: 'unmatched topic' } },
      { status: 'ok', response: {} },
      { status: 'error', response: { reason: 'unauthorized' } }
    ])
    expect(served.tracker.get(ROOM, 'alice').map(presence => presence.ref)).toEqual([ref])
    expect(served.tracker.count('room:alice’s').keys).toBe(1)
    expect(alice.close).toBeUndefined()
    expect(JSON.stringify(alice.frames.slice(sent))).not.toContain('"leaves":{"alice"')
  })

  it('pub-F2: with three users at once, a slow hook is asked for each by its own name, and each gets what was granted to it', async () => {
    const asked: GatewayQuestion[] = []
    const served = await serve(async question => {
      asked.push(question)
      await sleep(Math.random() * 10)
      return question.action === 'watch' || allow({ meta: { grantedTo: question.user } })
    })
    const users = ['alice', 'bob', 'carol']
    const rooms = await Promise.all(users.map(user => join(served, user, { from: user })))
    await Promise.all(rooms.flatMap((room, place) => [1, 2, 3, 4, 5].map(n => room.push('update', { from: users[place], n }))))
    expect(asked.every(({ user, identity, payload }) => user === identity.user && user === payload.from)).toBe(true)
    expect(asked).toHaveLength(3 * 7)
    expect(users.map(user => metasOf(served, user))).toEqual(users.map(user => [{ grantedTo: user }]))
    expect(rooms.map(({ reply }) => reply.presence.key)).toEqual(users)
  })
})

describe('pub-F8: the same refusal on every way in', () => {
  it('by WebSocket and long poll, for list and counts, of the system topic: as of a topic that does not exist', async () => {
    const served = await serve(({ topic }) => topic === 'room:open', { page: true })
    served.tracker.connect('bob').track('room:secret')
    const webSocket = await openRaw(served.url, { user: 'ann' })
    const asks = [{}, { presence: { watch: 'counts' } }, { presence: { watch: 'list' } }, { presence: { present: true, watch: 'none' } }]
    const refusals: unknown[] = []
    for (const topic of ['room:secret', 'room:nowhere', 'rollcall:cluster', 'realtime:room:secret']) {
      for (const payload of [...asks, { config: { presence: { enabled: true } } }]) {
        refusals.push(await webSocket.request(topic, 'phx_join', payload))
        refusals.push(await webSocket.request(topic, 'phx_join', payload))
      }
      const poller = openLongPollClient(served.url, { user: 'ann', rejoinAfterMs: () => 600_000 })
      const refused = (await joinTopic(poller, topic).catch((error: unknown) => error)) as { response: unknown }
      refusals.push({ status: 'error', response: refused.response })
    }
    expect(new Set(refusals.map(refusal => JSON.stringify(refusal)))).toEqual(
      new Set([JSON.stringify({ status: 'error', response: { reason: 'unauthorized' } })])
    )
    expect(webSocket.frames.every(([, , , event]) => event === 'phx_reply')).toBe(true)
  })

  it('without a page, its topic is a topic as any other', async () => {
    const served = await serve(({ topic }) => topic === 'room:open')
    await expect(join(served, 'ann', {}, 'rollcall:cluster')).rejects.toMatchObject(UNAUTHORIZED)
  })
})

describe('pub-F9: tokens', () => {
  /** `ann 3 9999`: the third token of ann, which ends at that time; those that were revoked are refused. */
  const tokens = (): { readonly seen: string[]; readonly revoked: Set<string>; readonly authenticate: GatewayOptions['authenticate'] } => {
    const seen: string[] = []
    const revoked = new Set<string>()
    return {
      seen,
      revoked,
      authenticate: async ({ token = '', params: { session } }) => {
        seen.push(token)
        const [user, , endsAtMs] = token.split(' ')
        if (user === undefined || user === '' || revoked.has(token) || Number(endsAtMs) <= Date.now()) {
          return null
        }
        return { user, ...(session !== undefined && { session }), ...(endsAtMs !== undefined && { expiresAtMs: Number(endsAtMs) }) }
      }
    }
  }

  it('a reconnect presents the newest token, not the first', async () => {
    const { authenticate, seen, revoked } = tokens()
    const served = await serve(openHouse, { authenticate })
    let token = 'ann 1'
    const client = openClient(served.url, { session: 'tab', params: () => ({ token }) })
    const room = await joinTopic(client, ROOM)
    token = 'ann 2'
    revoked.add('ann 1')
    client.breakOff()
    await until('it is back', () => client.opens === 2 && room.channel.state === 'joined')
    expect(seen).toEqual(['ann 1', 'ann 2'])
    expect(room.changes).toEqual(['join ann'])
  })

  it('a token that ends while its client is connected: closed with 1008, and the presence has its grace', async () => {
    const { authenticate } = tokens()
    const served = await startGateway({ trackerOptions: { graceMs: 500 }, gateway: { authenticate } })
    const watcher = await joinTopic(openClient(served.url, { params: { token: 'watcher 1' } }), ROOM, WATCHES)
    const endsAtMs = Date.now() + 500
    const raw = await openRaw(served.url, { params: { token: `ann 1 ${endsAtMs}` } })
    await raw.request(ROOM, 'phx_join')
    expect(await raw.closed()).toEqual({ code: 1008, reason: 'token expired' })
    expect(Date.now()).toBeGreaterThanOrEqual(endsAtMs)
    expect(watcher.keys()).toEqual(['ann'])
    await until('ann has left', () => watcher.keys().length === 0)
    expect(Date.now() - endsAtMs).toBeGreaterThanOrEqual(490)
  })

  it('a client that comes back with a new token inside the grace has lost nothing, and nobody is told', async () => {
    const { authenticate, seen } = tokens()
    const served = await serve(openHouse, { authenticate })
    const watcher = await joinTopic(openClient(served.url, { params: { token: 'watcher 1' } }), ROOM, WATCHES)
    let n = 0
    const client = openClient(served.url, {
      session: 'tab',
      params: () => ({ token: `ann ${++n} ${Date.now() + (n === 1 ? 300 : 60_000)}` })
    })
    const room = await joinTopic(client, ROOM)
    await until('it is back', () => client.opens === 2 && room.channel.state === 'joined')
    await room.push('update', { n })
    await until('the update', () => watcher.changes.length > 1)
    expect(client.closes).toMatchObject([{ code: 1008, reason: 'token expired' }])
    expect(seen.filter(token => token.startsWith('ann'))).toHaveLength(2)
    expect(watcher.changes).toEqual(['join ann', 'more ann', 'fewer ann'])
  })

  it('access_token brings a newer one in time: the socket stays; its rights are asked for anew', async () => {
    const { authenticate } = tokens()
    const asked: string[] = []
    const served = await serve(
      question => {
        asked.push(`${question.action} ${question.identity.expiresAtMs === undefined ? 'new' : 'old'}`)
        return openHouse(question)
      },
      { authenticate }
    )
    const client = openClient(served.url, { params: { token: `ann 1 ${Date.now() + 400}` } })
    const room = await joinTopic(client, ROOM)
    expect(await room.push('access_token', { access_token: 'ann 2' })).toEqual({})
    await sleep(800)
    expect(client.closes).toEqual([])
    expect(asked).toEqual(['watch old', 'present old', 'watch new', 'present new'])
  })

  it('of two newer tokens the one that came last counts, however long the hook takes for the first', async () => {
    const first = Promise.withResolvers<void>()
    const asked: unknown[] = []
    const served = await serve(
      ({ identity }) => {
        asked.push(identity.claims)
        return true
      },
      {
        authenticate: async ({ token }) => {
          await (token === 'slow' ? first.promise : undefined)
          return { user: 'ann', claims: token }
        }
      }
    )
    const raw = await openRaw(served.url, { params: { token: 'old' } })
    await raw.request('a', 'phx_join', WATCHES)
    await raw.request('b', 'phx_join', WATCHES)
    const join = (topic: string): string | null => raw.frames.find(([, , of]) => of === topic)?.[0] ?? null
    raw.send([join('a'), 'first', 'a', 'access_token', { access_token: 'slow' }])
    raw.send([join('b'), 'last', 'b', 'access_token', { access_token: 'fast' }])
    await raw.request('phoenix', 'heartbeat')
    first.resolve()
    await raw.next(([, ref]) => ref === 'last')
    await raw.request('c', 'phx_join', WATCHES)
    expect(asked.at(-1)).toBe('fast')
  })

  it.each([
    ['another user’s', 'bob 1'],
    ['one that is not valid', 'ann revoked'],
    ['no text', 7]
  ])('access_token with %s is refused: the socket goes on as it was', async (_, access_token) => {
    const { authenticate, revoked } = tokens()
    revoked.add('ann revoked')
    const served = await serve(openHouse, { authenticate })
    const client = openClient(served.url, { params: { token: 'ann 1' } })
    const room = await joinTopic(client, ROOM)
    await expect(room.push('access_token', { access_token })).rejects.toMatchObject({
      response: { reason: expect.stringContaining('token') }
    })
    await room.push('update', { n: 1 })
    expect([...served.tracker.list(ROOM).keys()]).toEqual(['ann'])
    expect(client.closes).toEqual([])
  })

  it('pub-C11: before any topic is joined, a token may bring another user; the first one is nowhere then', async () => {
    const { authenticate } = tokens()
    const served = await serve(openHouse, { authenticate })
    const raw = await openRaw(served.url, { params: { token: 'guest 1' } })
    expect(await raw.request(ROOM, 'phx_join', { access_token: 'ann 1' })).toMatchObject({
      status: 'ok',
      response: { presence: { key: 'ann' } }
    })
    expect([...served.tracker.list(ROOM).keys()]).toEqual(['ann'])
    expect(await raw.request('room:2', 'phx_join', { access_token: 'bob 1' })).toMatchObject({ status: 'error' })
    expect(served.tracker.isOnline('ann')).toBe(true)
    expect(served.tracker.connectionsOf('guest').filter(({ state }) => state === 'online').length).toBeLessThanOrEqual(1)
    expect(served.tracker.topicsOf('guest').size).toBe(0)
  })

  it('pub-C11: another user on the same page: a new socket, and of the old one nothing is left', async () => {
    const served = await startGateway({ trackerOptions: { graceMs: 100 }, gateway: { authenticate: byParams, authorize: openHouse } })
    const watcher = await joinTopic(openClient(served.url, { user: 'watcher' }), ROOM, WATCHES)
    let user = 'guest'
    const client = openClient(served.url, { session: 'tab', params: () => ({ user }) })
    const room = await joinTopic(client, ROOM)
    await until('the guest', () => watcher.keys().length === 1)
    user = 'ann'
    client.breakOff()
    await until('ann, and no guest', () => watcher.keys().join() === 'ann' && room.keys().join() === 'ann')
    expect(watcher.list().ann).toHaveLength(1)
  })
})
