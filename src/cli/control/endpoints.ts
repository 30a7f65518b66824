import type { Tracker } from '../../tracker/types.ts'
import { ClockWatch } from '../clock-watch.ts'
import type { GatewayServer } from '../gateway/gateway-server.ts'
import { LoopLagMeter } from '../loop-lag.ts'
import type { ReplicaHandle } from '../replica.ts'
import type * as answers from './answers.ts'
import { examine } from './doctor.ts'

/** A request that cannot be answered: the HTTP status, a stable code, and what is allowed. */
export class RequestError extends Error {
  override readonly name = 'RequestError'
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

/** The query of a URL. */
export type Query = URLSearchParams
/** Answers with what becomes JSON, or a promise of it. Throws RequestError, or an error of the tracker. */
export type Endpoint = (query: Query) => unknown
/** Each one a line of NDJSON; ends when `signal` aborts. */
export type StreamEndpoint = (query: Query, signal: AbortSignal) => AsyncIterable<unknown>

const PAGE_MAX = 10_000

/** What the control API can do with one replica, without any HTTP. Keys are `METHOD /path`. */
export class Endpoints {
  readonly #replica: ReplicaHandle
  readonly #gateway: GatewayServer | undefined
  readonly #loop = new LoopLagMeter()
  readonly #clock = new ClockWatch()
  readonly #startedMs = performance.now()
  #ready = false
  #draining = false

  readonly plain: ReadonlyMap<string, Endpoint> = new Map<string, Endpoint>([
    ['GET /v1/status', () => this.status()],
    ['GET /v1/nodes', () => this.#nodes()],
    ['GET /v1/topics', query => this.#topics(query)],
    ['GET /v1/who', query => this.#who(query)],
    ['GET /v1/count', query => this.#count(query)],
    ['GET /v1/user', query => this.#user(query)],
    ['GET /v1/doctor', query => this.#doctor(query)],
    ['GET /v1/stats', () => this.#tracker.stats()],
    ['POST /v1/kick', query => this.#kick(query)],
    ['POST /v1/forget', query => this.#forget(query)],
    ['POST /v1/drain', () => this.#drain()]
  ])

  readonly streams: ReadonlyMap<string, StreamEndpoint> = new Map<string, StreamEndpoint>([
    ['GET /v1/watch', (query, signal) => this.#watch(query, signal)]
  ])

  constructor(replica: ReplicaHandle, gateway?: GatewayServer) {
    this.#replica = replica
    this.#gateway = gateway
    const markReady = (): void => {
      this.#ready = true
    }
    replica.tracker.ready.then(markReady, () => undefined)
  }

  get #tracker(): Tracker {
    return this.#replica.tracker
  }

  stop(): void {
    this.#loop.stop()
  }

  status(): answers.StatusAnswer {
    const tracker = this.#tracker
    return {
      replica: tracker.id,
      cluster: this.#replica.cluster,
      incarnation: tracker.replicas().find(node => node.id === tracker.id)?.incarnation ?? 0,
      addresses: this.#replica.addresses,
      pid: process.pid,
      node: process.version,
      uptimeMs: Math.round(performance.now() - this.#startedMs),
      ready: this.#ready,
      partial: this.#ready && tracker.partial,
      draining: this.#draining || this.#gateway?.draining === true,
      gateway: this.#gateway === undefined ? null : { url: this.#gateway.url, sockets: this.#gateway.size }
    }
  }

  #nodes(): answers.NodesAnswer {
    return { self: this.#tracker.id, nodes: this.#tracker.replicas() }
  }

  #topics(query: Query): answers.TopicsAnswer {
    const limit = limitOf(query)
    const prefix = query.get('prefix')
    const cursor = query.get('cursor')
    const page = this.#tracker.topics({ limit, ...(prefix !== null && { prefix }), ...(cursor !== null && { cursor }) })
    const topics = [...page].map(([topic, count]) => ({ topic, ...count }))
    return { topics, cursor: topics.length < limit ? null : (topics.at(-1)?.topic ?? null) }
  }

  #who(query: Query): answers.WhoAnswer {
    const topic = required(query, 'topic')
    const limit = limitOf(query)
    const cursor = query.get('cursor')
    const page = this.#tracker.list(topic, { limit, ...(cursor !== null && { cursor }) })
    const last = [...page.keys()].at(-1) ?? null
    return { topic, ...this.#tracker.count(topic), list: [...page.values()].flat(), cursor: page.size < limit ? null : last }
  }

  #count(query: Query): answers.CountAnswer {
    const topic = required(query, 'topic')
    return { topic, ...this.#tracker.count(topic) }
  }

  #user(query: Query): answers.UserAnswer {
    const user = required(query, 'user')
    const presences = [...this.#tracker.topicsOf(user)].flatMap(([topic, list]) => list.map(presence => ({ topic, ...presence })))
    return { user, ...this.#tracker.user(user), presences }
  }

  #doctor(query: Query): answers.DoctorAnswer {
    const readings = { status: this.status(), loop: this.#loop.read(), clock: this.#clock.read() }
    return examine(this.#tracker, readings, query.get('user') ?? undefined)
  }

  #kick(query: Query): answers.KickAnswer {
    const user = required(query, 'user')
    return { user, kicked: this.#tracker.kick(user) }
  }

  #forget(query: Query): answers.ForgetAnswer {
    const replica = required(query, 'replica')
    if (replica === this.#tracker.id) {
      throw new RequestError(400, 'ERR_FORGET_SELF', `${replica} is this replica itself; stop it instead`)
    }
    return { replica, forgotten: this.#tracker.forget(replica) }
  }

  async #drain(): Promise<answers.DrainAnswer> {
    this.#draining = true
    await this.#tracker.drain()
    // Goes on for seconds, and `status` tells how far it is. Who stops the gateway waits for it, and hears of a failure.
    this.#gateway?.drain().catch(() => undefined)
    return { draining: true }
  }

  #watch(query: Query, signal: AbortSignal): AsyncIterable<unknown> {
    const since = query.get('since')
    return this.#tracker.watch(required(query, 'topic'), { signal, ...(since !== null && { since }) })
  }
}

function required(query: Query, name: string): string {
  const value = query.get(name)
  if (value === null || value === '') {
    throw new RequestError(400, 'ERR_MISSING_PARAMETER', `the query has no ${name}; say ?${name}=…`)
  }
  return value
}

function limitOf(query: Query): number {
  const raw = query.get('limit')
  const limit = raw === null ? PAGE_MAX : Number(raw)
  if (!Number.isInteger(limit) || limit < 1 || limit > PAGE_MAX) {
    throw new RequestError(400, 'ERR_BAD_PARAMETER', `limit is ${raw}, allowed is a whole number from 1 to ${PAGE_MAX}`)
  }
  return limit
}
