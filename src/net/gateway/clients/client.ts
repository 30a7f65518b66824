import type { Connection, Tracker } from '../../../tracker/types.ts'
import type { Admission, Admitted } from '../doors/admission.ts'
import { proofOf } from '../doors/request.ts'
import type { TwinGuard } from '../doors/twin-guard.ts'
import type { Feeds, WatchMode } from '../feeds/feeds.ts'
import type { ResolvedGatewayOptions } from '../options.ts'
import { CLOSE_CODES } from '../protocol/close-codes.ts'
import { parseBinaryPush, parseFrame, pushFrame } from '../protocol/frames.ts'
import { TokenError } from '../protocol/push-error.ts'
import type { Frame, Wire, WireListener } from '../protocol/wire.ts'
import { callHook } from '../rights/hook-call.ts'
import { type GatewayRequest, type Identity, readIdentity } from '../rights/hooks.ts'
import type { Permissions } from '../rights/permissions.ts'
import type { CloseReason, Tally } from '../tally.ts'
import type { Message, SystemTopic } from '../types.ts'
import { Backlog } from './backlog.ts'
import { Channels } from './channels.ts'
import { Presences } from './presences.ts'
import { Receipts } from './receipts.ts'
import { Throttle } from './throttle.ts'

/** What all clients of a gateway share. */
export interface ClientHost {
  readonly tracker: Tracker
  readonly options: ResolvedGatewayOptions
  readonly tally: Tally
  readonly feeds: Feeds
  readonly permissions: Permissions
  readonly admission: Admission
  readonly twins: TwinGuard
  readonly systemTopics: ReadonlyMap<string, SystemTopic>
  readonly failed: (error: unknown) => void
  readonly ended: (client: Client) => void
  /** It is another user's from now on. */
  readonly moved: (client: Client, from: string, to: string) => void
}

/** One socket of one user: a connection of the tracker, and its channels. INV-90: its silence is judged by the tracker alone. */
export class Client implements WireListener {
  readonly #host: ClientHost
  readonly #wire: Wire
  readonly #admitted: Admitted
  readonly #channels: Channels
  readonly #throttle: Throttle
  readonly #backlog: Backlog
  readonly #receipts: Receipts
  #request: GatewayRequest
  #proof: string | undefined
  #identity: Identity
  #session: string | undefined
  #connection!: Connection
  #presences!: Presences
  /** The newest token that came is dealt with. */
  #renewed: Promise<void> = Promise.resolve()
  #isOver = false
  #nextPingMs: number

  constructor(host: ClientHost, wire: Wire, admitted: Admitted) {
    const { options, feeds, permissions, systemTopics, tally, failed } = host
    const nowMs = performance.now()
    this.#host = host
    this.#wire = wire
    this.#admitted = admitted
    this.#request = admitted.request
    this.#proof = proofOf(admitted.request)
    this.#identity = admitted.identity
    this.#session = admitted.session
    this.#throttle = new Throttle(wire, options.limits.framesPerSecond, options.limits.frameBurst)
    this.#backlog = new Backlog(options.limits.bufferedBytes)
    this.#receipts = new Receipts(wire)
    this.#nextPingMs = nowMs + Math.random() * options.pingIntervalMs
    this.#channels = new Channels({
      client: this,
      feeds,
      permissions,
      systemTopics,
      tally,
      maxTopics: options.limits.topicsPerSocket,
      maxJoinBytes: options.limits.joinBytes,
      failed
    })
    this.#follow(admitted.connection)
  }

  get user(): string {
    return this.#identity.user
  }

  get identity(): Identity {
    return this.#identity
  }

  get token(): string | undefined {
    return this.#request.token
  }

  get proof(): string {
    return this.#proof ?? this.#connection.id
  }

  get address(): string {
    return this.#request.address
  }

  get presences(): Presences {
    return this.#presences
  }

  get isOver(): boolean {
    return this.#isOver
  }

  get channels(): number {
    return this.#channels.size
  }

  get isBehind(): boolean {
    return this.#backlog.isBehind
  }

  get bufferedBytes(): number {
    return this.#wire.bufferedBytes
  }

  get takes(): boolean {
    return this.#backlog.takes(this.#wire.bufferedBytes)
  }

  message(text: string): void {
    if (!this.#received()) {
      return
    }
    const frame = parseFrame(text)
    if (frame === undefined) {
      this.#host.tally.malformed++
      this.end('malformed')
    } else {
      this.#channels.handle(frame)
    }
  }

  binary(bytes: Uint8Array): void {
    const frame = this.#received() ? parseBinaryPush(bytes) : undefined
    if (frame !== undefined) {
      this.#channels.refuse(frame, 'binary payloads are not taken')
    }
  }

  heard(): void {
    if (!this.#isOver && !this.#connection.heartbeat()) {
      this.end('expired')
    }
  }

  /** Counts as a frame: answers to it are kept where they are not read. */
  pinged(): void {
    this.#received()
  }

  closed(reason: 'gone' | 'malformed' | 'too large' = 'gone'): void {
    if (reason !== 'gone' && !this.#isOver) {
      this.#host.tally.malformed++
    }
    this.end(reason)
  }

  send(frame: Frame): void {
    if (!this.#isOver) {
      this.#host.tally.framesOut++
      this.#host.tally.bytesOut += frame.bytes.length
      this.#wire.send(frame)
    }
  }

  sendParts(parts: readonly Buffer[]): void {
    if (!this.#isOver) {
      this.#host.tally.framesOut++
      this.#host.tally.bytesOut += parts.reduce((sum, part) => sum + part.length, 0)
      this.#wire.sendParts(parts)
    }
  }

  /** Nothing comes any more of a topic that it watches so: it is to join again. */
  interrupt(topic: string, mode: WatchMode): void {
    this.#channels.interrupt(topic, mode)
  }

  /** Undefined when the client has not joined the topic; else resolves whether it is known to have the message. */
  deliver({ topic, event, payload }: Message, timeoutMs: number): Promise<boolean> | undefined {
    if (!this.#channels.has(topic) || !this.takes) {
      return undefined
    }
    this.send(pushFrame(topic, event, payload))
    return this.#receipts.ask(timeoutMs)
  }

  /** A newer token, and with it perhaps other rights; or, before any topic is joined, another user's. The one that came last counts. @throws TokenError */
  renew(token: string): Promise<void> {
    const renewed = this.#renewed.then(() => this.#renew(token))
    this.#renewed = renewed.catch(() => {})
    return renewed
  }

  async #renew(token: string): Promise<void> {
    if (token === this.token) {
      return
    }
    const { options } = this.#host
    const request: GatewayRequest = Object.freeze({ ...this.#request, token })
    const identity = readIdentity(await callHook('authenticate', options.hookTimeoutMs, () => options.authenticate(request)))
    if (this.#isOver) {
      return
    }
    if (identity === undefined) {
      throw new TokenError('the token is not valid')
    }
    if (identity.user !== this.#identity.user) {
      if (this.#channels.isInAny) {
        throw new TokenError('the token is another user’s; connect anew with it')
      }
      this.#move(request, identity)
    }
    this.#request = request
    this.#proof = proofOf(request)
    this.#identity = identity
    this.#channels.recheck(Infinity)
  }

  #move(request: GatewayRequest, identity: Identity): void {
    const before = this.#connection
    const { admission } = this.#host
    const full = admission.fullFor(identity.user)
    if (full !== undefined) {
      throw new TokenError(full)
    }
    const { connection, session } = admission.open(request, identity)
    this.#session = session
    this.#follow(connection)
    before.close()
    this.#host.moved(this, this.#identity.user, identity.user)
  }

  /** Several times a second. */
  sweep(nowMs: number, wallMs: number): void {
    const { limits, pingIntervalMs } = this.#host.options
    if (this.#backlog.hasRead(this.#wire.bufferedBytes)) {
      this.#channels.refresh()
    } else if (this.#backlog.behindMs(nowMs) >= limits.slowMs) {
      this.end('slow')
      return
    }
    if ((this.#identity.expiresAtMs ?? Infinity) <= wallMs) {
      this.end('token expired')
      return
    }
    this.#channels.recheck(nowMs)
    if (nowMs >= this.#nextPingMs) {
      this.#nextPingMs = nowMs + pingIntervalMs
      this.#wire.ping()
    }
  }

  /** Idempotent. The connection is lost, unless it has ended already: its presences have their grace. */
  end(reason: CloseReason): void {
    if (this.#isOver) {
      return
    }
    this.#isOver = true
    this.#throttle.end()
    this.#channels.end()
    this.#connection.lost()
    this.#receipts.end()
    this.#admitted.leave()
    this.#host.tally.close(reason)
    this.#host.ended(this)
    this.#wire.close(CLOSE_CODES[reason], reason)
  }

  #follow(connection: Connection): void {
    this.#connection = connection
    this.#presences = new Presences(this.#host.tracker, connection)
    connection.signal.addEventListener('abort', () => this.#connectionEnded(connection), { once: true })
  }

  #connectionEnded(connection: Connection): void {
    if (connection !== this.#connection || this.#isOver) {
      return
    }
    const end = (connection.signal.reason as { readonly end?: string }).end
    if (end === 'taken-over') {
      if (this.#session !== undefined) {
        this.#host.twins.takenOver(this.user, this.#session, performance.now())
      }
      this.end('taken over')
    } else {
      this.end(end === 'kicked' || end === 'stopped' ? end : 'expired')
    }
  }

  /** A frame has come. False when the client is over, or has sent too much for too long. */
  #received(): boolean {
    if (this.#isOver) {
      return false
    }
    const { tally, options } = this.#host
    tally.framesIn++
    this.heard()
    if (this.#isOver) {
      return false
    }
    const heldMs = this.#throttle.frame(performance.now())
    if (heldMs === 0) {
      tally.throttled++
    }
    if (heldMs !== undefined && heldMs >= options.limits.throttledMs) {
      this.end('rate')
    }
    return !this.#isOver
  }
}
