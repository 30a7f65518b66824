import type { IncomingMessage } from 'node:http'
import type { Connection, Tracker } from '../../../tracker/types.ts'
import type { ResolvedGatewayOptions } from '../options.ts'
import { callHook } from '../rights/hook-call.ts'
import { type GatewayRequest, type Identity, readIdentity } from '../rights/hooks.ts'
import type { Refusal, Tally } from '../tally.ts'
import type { Census } from './census.ts'
import { isOriginAllowed, readRequest } from './request.ts'
import type { TwinGuard } from './twin-guard.ts'

/** A client that came in: connected to the tracker, and counted until `leave`. */
export interface Admitted {
  readonly request: GatewayRequest
  readonly identity: Identity
  readonly connection: Connection
  /** Its session, when it is one that comes back. */
  readonly session: string | undefined
  leave(): void
}

/** A client that was turned away. */
export interface Refused {
  readonly status: number
  readonly reason: Refusal
  readonly message: string
}

export interface AdmissionInit {
  readonly tracker: Tracker
  readonly options: ResolvedGatewayOptions
  readonly tally: Tally
  readonly census: Census
  readonly twins: TwinGuard
  readonly socketsOf: (user: string) => number
  readonly isClosed: () => boolean
  readonly failed: (error: unknown) => void
}

/** Decides who comes in: origin and limits first, as they cost nothing, then the app's hook, then the tracker. */
export class Admission {
  readonly #init: AdmissionInit

  constructor(init: AdmissionInit) {
    this.#init = init
  }

  /** `isGone`: the client has hung up while the hook was thinking. */
  async admit(request: IncomingMessage, url: URL, path: string, isGone: () => boolean): Promise<Admitted | Refused> {
    const { options, tally, census } = this.#init
    const verdict = this.#look(request, url)
    if (verdict !== undefined) {
      return verdict
    }
    let asked: GatewayRequest
    try {
      asked = readRequest(request, url, path, options)
    } catch (error) {
      tally.refuse('hook')
      return this.#hookFailed(error)
    }
    const full = census.enter(asked.address)
    if (full !== undefined) {
      tally.refuse(full)
      return { status: full === 'sockets' ? 503 : 429, reason: full, message: this.#fullMessage(full) }
    }
    const admitted = await this.#identify(asked, isGone)
    if ('status' in admitted) {
      census.leave(asked.address)
      tally.refuse(admitted.reason)
    }
    return admitted
  }

  /** Whether the page that asks may; counts those that may not. */
  allowsOrigin(request: IncomingMessage): boolean {
    const isAllowed = isOriginAllowed(request, this.#init.options.origins)
    if (!isAllowed) {
      this.#init.tally.refuse('origin')
    }
    return isAllowed
  }

  #look(request: IncomingMessage, url: URL): Refused | undefined {
    const { tally } = this.#init
    const refuse = (status: number, reason: Refusal, message: string): Refused => {
      tally.refuse(reason)
      return { status, reason, message }
    }
    if (!this.allowsOrigin(request)) {
      return {
        status: 403,
        reason: 'origin',
        message: `the origin ${request.headers.origin} is not among the allowed ones (option origins)`
      }
    }
    const version = url.searchParams.get('vsn') ?? '2.0.0'
    if (!/^2\.\d+\.\d+$/.test(version)) {
      return refuse(400, 'version', `vsn is ${JSON.stringify(version.slice(0, 20))}, allowed is 2.0.0`)
    }
    return this.#init.isClosed() ? refuse(503, 'draining', DRAINING) : undefined
  }

  async #identify(request: GatewayRequest, isGone: () => boolean): Promise<Admitted | Refused> {
    const { options } = this.#init
    let identity: Identity | undefined
    try {
      identity = readIdentity(await callHook('authenticate', options.hookTimeoutMs, () => options.authenticate(request)))
    } catch (error) {
      return this.#hookFailed(error)
    }
    if (identity === undefined || isGone()) {
      return { status: 403, reason: 'unauthenticated', message: 'authenticate did not say who this is' }
    }
    if (this.#init.isClosed()) {
      return { status: 503, reason: 'draining', message: DRAINING }
    }
    return this.#connect(request, identity)
  }

  #hookFailed(error: unknown): Refused {
    this.#init.tally.hookFailures++
    this.#init.failed(error)
    return { status: 503, reason: 'hook', message: 'who you are could not be found out; try again' }
  }

  #connect(request: GatewayRequest, identity: Identity): Admitted | Refused {
    const { census } = this.#init
    const full = this.fullFor(identity.user)
    if (full !== undefined) {
      return { status: 429, reason: 'socketsPerUser', message: full }
    }
    try {
      const { connection, session } = this.open(request, identity)
      return { request, identity, connection, session, leave: () => census.leave(request.address) }
    } catch (error) {
      return this.#refusedByTracker(error)
    }
  }

  /** Why a user can have no more sockets; undefined when he can. */
  fullFor(user: string): string | undefined {
    const { options, socketsOf } = this.#init
    return socketsOf(user) >= options.limits.socketsPerUser ? this.#fullMessage('socketsPerUser') : undefined
  }

  /** A connection of the tracker for this client. @throws what `tracker.connect` throws */
  open({ params }: GatewayRequest, identity: Identity): { readonly connection: Connection; readonly session: string | undefined } {
    const { tracker, twins, tally } = this.#init
    const wanted = identity.session ?? (params.session === '' ? undefined : params.session)
    const isShared = wanted !== undefined && twins.isShared(identity.user, wanted, performance.now())
    if (isShared) {
      tally.twins++
    }
    const session = isShared ? undefined : wanted
    const connection = tracker.connect(identity.user, {
      ...(session !== undefined && { session }),
      ...(identity.meta !== undefined && { meta: identity.meta })
    })
    return { connection, session }
  }

  #refusedByTracker(error: unknown): Refused {
    const name = error instanceof Error ? error.name : ''
    const message = error instanceof Error ? error.message : String(error)
    if (name === 'NotAcceptingError') {
      return { status: 503, reason: 'draining', message: DRAINING }
    }
    if (name === 'LimitError') {
      return { status: 503, reason: 'limit', message }
    }
    if (name === 'InvalidNameError') {
      return { status: 400, reason: 'unauthenticated', message }
    }
    this.#init.failed(error)
    return { status: 500, reason: 'hook', message: 'the server could not make a connection of this' }
  }

  #fullMessage(limit: keyof ResolvedGatewayOptions['limits']): string {
    return `limits.${limit} is reached: at most ${this.#init.options.limits[limit]}`
  }
}

const DRAINING = 'this server takes no new clients; try another'
