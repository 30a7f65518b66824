import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { allow, deny, type GatewayAnswer, type Identity } from '../../src/net/gateway/rights/hooks.ts'
import { createRandom } from '../../src/tracker/environment.ts'
import { closeAll } from '../support/gateway/close-all.ts'
import { openRaw, type RawClient, type RawFrame } from '../support/gateway/raw-client.ts'
import { type ServedGateway, startGateway } from '../support/gateway/serve-gateway.ts'
import { until } from '../support/net/until.ts'

const LONG = process.env.ROLLCALL_LONG === '1'
const SEED = LONG ? Date.now() % 2 ** 31 : 4_711
const RUNS = LONG ? 2_000 : 50

afterEach(closeAll)

/** Answers now, a little later, or not without an error; allows more often than not. */
function lateHooks(seed: number) {
  const random = createRandom(seed)
  const late = async <T>(answer: T): Promise<T> => {
    for (let turns = random.below(4); turns > 0; turns--) {
      await new Promise(resolve => setTimeout(resolve, random.below(4)))
    }
    if (random.below(15) === 0) {
      throw new Error('down')
    }
    return answer
  }
  const answers: readonly (() => GatewayAnswer)[] = [
    () => true,
    () => allow({ meta: { n: random.below(3) } }),
    () => allow({ key: `key${random.below(3)}`, validMs: 0 }),
    () => allow({ validMs: 0 }),
    () => deny()
  ]
  return {
    authenticate: ({ params, token }: { params: Readonly<Record<string, string>>; token: string | undefined }): Promise<Identity | null> =>
      late(token === 'bad' ? null : { user: token ?? params.user ?? 'nobody' }),
    authorize: (): Promise<GatewayAnswer> => late((answers[random.below(answers.length)] as () => GatewayAnswer)())
  }
}

type Action =
  | { readonly type: 'frame'; readonly socket: number; readonly frame: RawFrame }
  | { readonly type: 'open'; readonly socket: number; readonly session: number; readonly user: number }
  | { readonly type: 'cut' | 'close'; readonly socket: number }
  | { readonly type: 'wait'; readonly ms: number }

const socket = fc.nat(2)
const topic = fc.constantFrom('a', 'b', 'c')
const joinRef = fc.constantFrom('1', '2')
const payload = fc.oneof(
  fc.constantFrom<object>(
    {},
    { n: 1 },
    { presence: { watch: 'counts' } },
    { presence: { watch: 'none' } },
    { presence: { present: false } }
  ),
  fc.record({ access_token: fc.constantFrom('user0', 'user1', 'bad') })
)
const event = fc.constantFrom('phx_join', 'phx_join', 'phx_join', 'phx_leave', 'track', 'update', 'untrack', 'access_token')
const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc
      .tuple(socket, joinRef, topic, event, payload)
      .map(([index, ref, name, what, body]) => ({ type: 'frame' as const, socket: index, frame: [ref, ref, name, what, body] as RawFrame }))
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('open' as const), socket, session: fc.nat(1), user: fc.nat(1) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constantFrom('cut' as const, 'close' as const), socket }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('wait' as const), ms: fc.constantFrom(0, 1, 5) }) }
)

async function run({ url }: ServedGateway, actions: readonly Action[]): Promise<RawClient[]> {
  const sockets = new Map<number, RawClient>()
  for (const each of actions) {
    const client = 'socket' in each ? sockets.get(each.socket) : undefined
    if (each.type === 'wait') {
      await new Promise(resolve => setTimeout(resolve, each.ms))
    } else if (each.type === 'open') {
      client?.terminate()
      const opened = await openRaw(url, { user: `user${each.user}`, session: `s${each.session}` }).catch(() => undefined)
      if (opened !== undefined) {
        sockets.set(each.socket, opened)
      }
    } else if (client !== undefined && client.ws.readyState === client.ws.OPEN) {
      if (each.type === 'frame') {
        client.send(each.frame)
      } else if (each.type === 'cut') {
        client.terminate()
      } else {
        client.ws.close()
      }
    }
  }
  return [...sockets.values()]
}

/** The topics that a client is in, as far as it was told. */
function joinedOf({ frames, ws }: RawClient): Set<string> {
  const joined = new Map<string, string | null>()
  for (const [ref, , name, what, body] of frames) {
    if (what === 'phx_reply' && body.response.presence !== undefined) {
      joined.set(name, ref)
    } else if ((what === 'phx_close' || what === 'phx_error') && joined.get(name) === ref) {
      joined.delete(name)
    }
  }
  return new Set(ws.readyState === ws.OPEN ? joined.keys() : [])
}

describe('hooks that answer late, fail, and change their mind', () => {
  it(`S3, INV-91: nobody is shown where he is not joined, and nothing is left behind; ${RUNS} runs, seed ${SEED}`, async () => {
    // No right is taken away while the end is looked at.
    const settled = { authenticate: async () => null, authorize: async (): Promise<GatewayAnswer> => true }
    let hooks: ReturnType<typeof lateHooks> = settled
    const served = await startGateway({
      gateway: { authenticate: request => hooks.authenticate(request), authorize: () => hooks.authorize() },
      trackerOptions: { graceMs: 0 }
    })
    const { gateway, tracker } = served
    let runs = 0
    await fc.assert(
      fc.asyncProperty(fc.integer(), fc.array(action, { minLength: 20, maxLength: 60, size: 'max' }), async (seed, actions) => {
        runs++
        hooks = lateHooks(seed)
        const first = [0, 1, 2].map((index): Action => ({ type: 'open', socket: index, session: index % 2, user: 0 }))
        const clients = await run(served, [...first, ...actions])
        hooks = settled
        const joined = (): string[] => clients.flatMap(client => [...joinedOf(client)])
        const isShownInVain = (): boolean => [...tracker.topics().keys()].some(name => !joined().includes(name))
        await until('all has been answered', () => joined().length === gateway.stats().channels && !isShownInVain())
        for (const { presences } of tracker.topics().values()) {
          expect(presences).toBeLessThanOrEqual(clients.length)
        }
        for (const client of clients) {
          client.terminate()
        }
        await until('all have gone', () => gateway.size === 0 && tracker.stats().connections === 0)
        await until('nobody is shown, nothing is watched', () => tracker.topics().size === 0 && tracker.stats().topicWatches === 0)
        expect(gateway.stats()).toMatchObject({ channels: 0, watchers: 0, feeds: 0, behind: 0, bufferedBytes: 0 })
      }),
      { numRuns: RUNS, seed: SEED, endOnFailure: true }
    )
    const stats = gateway.stats()
    expect(stats.joins).toBeGreaterThan(runs)
    expect(stats.joinsRefused).toBeGreaterThan(runs / 2)
  }, 1_800_000)
})
