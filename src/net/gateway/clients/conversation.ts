import { type JoinRequest, objectIn, textIn } from '../protocol/join-request.ts'
import { PushError, TokenError } from '../protocol/push-error.ts'
import type { Frame } from '../protocol/wire.ts'
import type { Allowed, Denied, GatewayAction, Identity } from '../rights/hooks.ts'
import { deny } from '../rights/hooks.ts'
import { type Permissions, UNAVAILABLE } from '../rights/permissions.ts'
import type { SystemClient, SystemTopic } from '../types.ts'
import type { Channel, Standing } from './channel.ts'
import type { Presences } from './presences.ts'

type Payload = Readonly<Record<string, unknown>>

/** What the channels of a client need of it. */
export interface ChannelsClient {
  readonly identity: Identity
  readonly token: string | undefined
  /** Tells its rights from those of others of the same user: it differs where `authenticate` was shown something else. */
  readonly proof: string
  readonly address: string
  readonly isOver: boolean
  readonly takes: boolean
  readonly presences: Presences
  send(frame: Frame): void
  sendParts(parts: readonly Buffer[]): void
  /** A newer token; before any topic is joined, perhaps another user's. @throws TokenError */
  renew(token: string): Promise<void>
}

export interface ConversationInit {
  readonly client: ChannelsClient
  readonly permissions: Permissions
  readonly systemTopics: ReadonlyMap<string, SystemTopic>
  /** The side of a channel that a topic of the gateway's own talks to. */
  readonly systemClient: (channel: Channel) => SystemClient
}

/** A right is asked for again at most so often. */
const ASK_AGAIN_MS = 1_000
/** For so long a right holds that nobody answers for. */
const HOLD_MS = 60_000
const SUPABASE_REPLY = { postgres_changes: [] }

/** What a client may do and does in its channels. Whatever a hook takes: what it decided counts only if the channel is not over by then. */
export class Conversation {
  readonly #init: ConversationInit
  readonly #client: ChannelsClient

  constructor(init: ConversationInit) {
    this.#init = init
    this.#client = init.client
  }

  /** Lets the channel into its topic, as far as the client may. Returns the reply. @throws PushError, TokenError and the tracker's */
  async enter(channel: Channel): Promise<object> {
    const { request, topic, payload } = channel
    if (request.accessToken !== undefined && request.accessToken !== this.#client.token) {
      await this.#client.renew(request.accessToken)
    }
    const { user } = this.#client.identity
    const system = this.#init.systemTopics.get(topic)
    // Who asks for neither still has to be let into the topic.
    const asksToWatch = request.watch !== 'none' || !request.present || system !== undefined
    const [watch, present] = await Promise.all([
      asksToWatch ? this.#ask(channel, 'watch', payload) : deny(),
      request.present && system === undefined ? this.#ask(channel, 'present', payload) : deny()
    ])
    if (channel.isOver) {
      return {}
    }
    if (this.#client.identity.user !== user) {
      // The token of another join that was under way as well: what was granted was granted to somebody else.
      throw new TokenError('the socket has become another user’s meanwhile; join again')
    }
    refuseUnless(request, { asksToWatch, isSystem: system !== undefined }, watch, present)
    if (system !== undefined) {
      channel.system = system.join(this.#init.systemClient(channel))
      return { user: this.#client.identity.user }
    }
    const shown = this.#show(channel, present)
    channel.watching = watch.allowed && request.watch !== 'none' ? request.watch : null
    return request.isSupabase ? SUPABASE_REPLY : { presence: { watch: channel.watching ?? 'none', ...shown } }
  }

  /** Does what a client pushed. Returns the reply. @throws PushError and the tracker's */
  async push(channel: Channel, event: string, payload: Payload): Promise<object> {
    if (event === 'access_token') {
      return await this.#renew(payload)
    }
    if (channel.system !== null) {
      return await channel.system.handle(event, payload)
    }
    switch (event) {
      case 'track':
        return await this.#track(channel, payload)
      case 'update':
        if (!this.#client.presences.has(channel.topic)) {
          throw new PushError('not present')
        }
        return await this.#track(channel, payload)
      case 'untrack':
        return this.#untrack(channel)
      case 'presence':
        return await this.#supabase(channel, payload)
      default:
        throw new PushError('unknown event')
    }
  }

  /**
   * Asks again for a right that is as old as it may be. Returns why it is no more; the presence is ended then. Undefined: it holds. While the hook fails it holds
   * for a minute: a database that is away for a moment must not empty the rooms.
   */
  async recheck(channel: Channel, action: GatewayAction, { payload, endMs }: Standing): Promise<Denied | undefined> {
    const answer = await this.#ask(channel, action, payload)
    if (channel.isOver || answer.allowed) {
      return undefined
    }
    const nowMs = performance.now()
    if (answer === UNAVAILABLE && nowMs < endMs) {
      channel.standing.set(action, { payload, askMs: nowMs + ASK_AGAIN_MS, endMs })
      return undefined
    }
    this.#client.presences.hide(channel.topic)
    return answer
  }

  async #renew(payload: Payload): Promise<object> {
    const token = textIn(payload, 'access_token')
    if (token === undefined) {
      throw new PushError('access_token is missing, allowed is a text')
    }
    await this.#client.renew(token)
    return {}
  }

  /** A second join of a topic may be granted less than the first. */
  #show({ topic }: Channel, present: Allowed | Denied): { readonly key: string; readonly ref: string } | undefined {
    if (!present.allowed) {
      this.#client.presences.hide(topic)
      return undefined
    }
    const key = present.key ?? this.#client.identity.user
    return { key, ref: this.#client.presences.show(topic, key, present.meta) }
  }

  async #supabase(channel: Channel, payload: Payload): Promise<object> {
    const event = textIn(payload, 'event')?.toLowerCase()
    if (event === 'untrack') {
      return this.#untrack(channel)
    }
    if (event !== 'track') {
      throw new PushError('unknown event')
    }
    await this.#track(channel, objectIn(payload, 'payload') ?? {})
    return {}
  }

  async #track(channel: Channel, payload: Payload): Promise<object> {
    const answer = await this.#ask(channel, 'present', payload)
    if (channel.isOver) {
      return {}
    }
    if (!answer.allowed) {
      throw new PushError(answer.reason)
    }
    return { ref: this.#show(channel, answer)?.ref }
  }

  #untrack(channel: Channel): object {
    channel.standing.delete('present')
    this.#client.presences.hide(channel.topic)
    return {}
  }

  async #ask(channel: Channel, action: GatewayAction, payload: Payload): Promise<Allowed | Denied> {
    const { identity, proof, address } = this.#client
    const { topic, request } = channel
    const question = { user: identity.user, topic, action, payload, wantedKey: request.wantedKey, identity, address }
    const grant = await this.#init.permissions.ask(question, proof)
    if (grant.answer.allowed) {
      const askMs = Math.max(grant.untilMs, performance.now() + ASK_AGAIN_MS)
      channel.standing.set(action, { payload, askMs, endMs: askMs + HOLD_MS })
    }
    return grant.answer
  }
}

/** What was asked for by name must be granted; else, of both, one at least. */
function refuseUnless(
  { insists, watch: wanted, present: wantsPresent }: JoinRequest,
  { asksToWatch, isSystem }: { readonly asksToWatch: boolean; readonly isSystem: boolean },
  watch: Allowed | Denied,
  present: Allowed | Denied
): void {
  const mustWatch = insists.watch || isSystem || (wanted === 'none' && asksToWatch)
  if (!watch.allowed && (mustWatch || !present.allowed)) {
    throw new PushError(asksToWatch || present.allowed ? watch.reason : present.reason)
  }
  if (!present.allowed && wantsPresent && insists.present) {
    throw new PushError(present.reason)
  }
}
