import { Channel } from './channel.ts'
import type { Feeds } from './feeds.ts'
import { type ClientFrame, closeFrame, pushFrame, replyFrame } from './frames.ts'
import type { Allowed, Denied, GatewayAction, GatewayQuestion, Identity } from './hooks.ts'
import { deny } from './hooks.ts'
import { objectIn, readJoin, textIn } from './join-request.ts'
import type { Permissions } from './permissions.ts'
import type { Presences } from './presences.ts'
import type { Tally } from './tally.ts'
import type { SystemTopic } from './types.ts'
import type { Frame } from './wire.ts'

type Payload = Readonly<Record<string, unknown>>

/** What the channels of a client need of it. */
export interface ChannelsClient {
  readonly identity: Identity
  /** The client's token, or what else tells its rights from those of others of the same user. */
  readonly proof: string
  readonly address: string
  readonly isOver: boolean
  readonly takes: boolean
  readonly presences: Presences
  send(frame: Frame): void
  sendParts(parts: readonly Buffer[]): void
  /** A newer token. @throws Error with a message for the client */
  renew(token: string): Promise<void>
}

export interface ChannelsInit {
  readonly client: ChannelsClient
  readonly feeds: Feeds
  readonly permissions: Permissions
  readonly systemTopics: ReadonlyMap<string, SystemTopic>
  readonly tally: Tally
  readonly maxTopics: number
  readonly failed: (error: unknown) => void
}

/** What a client is told in an error reply. */
class PushError extends Error {
  override readonly name = 'PushError'
}

const SUPABASE_REPLY = { postgres_changes: [] }

/** The channels of one socket: deals with its frames. */
export class Channels {
  readonly #init: ChannelsInit
  readonly #client: ChannelsClient
  readonly #channels = new Map<string, Channel>()

  constructor(init: ChannelsInit) {
    this.#init = init
    this.#client = init.client
  }

  get size(): number {
    return this.#channels.size
  }

  has(topic: string): boolean {
    return this.#channels.get(topic)?.state === 'joined'
  }

  handle(frame: ClientFrame): void {
    if (frame.event === 'phx_join') {
      this.#join(frame)
      return
    }
    const channel = this.#channels.get(frame.topic)
    if (frame.topic === 'phoenix') {
      this.#reply(frame, frame.event === 'heartbeat' ? {} : new PushError('unmatched topic'))
    } else if (channel === undefined) {
      // One who leaves what is over already has what he wants.
      this.#reply(frame, frame.event === 'phx_leave' ? {} : new PushError('unmatched topic'))
    } else if (frame.joinRef !== channel.joinRef) {
      // Of an earlier join: that one was closed, and its client told so.
    } else if (frame.event === 'phx_leave') {
      this.#leave(channel)
      this.#client.presences.hide(channel.topic)
      this.#reply(frame, {})
      this.#client.send(closeFrame(channel.topic, channel.joinRef))
    } else if (!channel.inTurn(() => this.#push(channel, frame))) {
      this.#reply(frame, new PushError('too many pushes at once'))
    }
  }

  /** Tells the client that a push came in a form that is not taken. */
  refuse(frame: Omit<ClientFrame, 'payload'>, reason: string): void {
    this.#reply(frame, new PushError(reason))
  }

  /** The socket has read what it was sent: each channel is given the whole state. */
  refresh(): void {
    for (const channel of this.#channels.values()) {
      if (channel.watching !== null) {
        this.#init.tally.resyncs++
        this.#init.feeds.enter(channel.topic, channel.watching, channel)
      }
    }
  }

  /** Asks again for rights that are as old as they may be; ends what they no longer allow. */
  recheck(nowMs: number): void {
    for (const channel of this.#channels.values()) {
      for (const [action, { payload, grant }] of channel.standing) {
        if (grant.untilMs <= nowMs) {
          channel.standing.delete(action)
          channel.inTurn(() => this.#recheck(channel, action, payload))
        }
      }
    }
  }

  /** The socket is over; its presences are its connection's business. */
  end(): void {
    for (const channel of [...this.#channels.values()]) {
      this.#leave(channel)
    }
  }

  #join(frame: ClientFrame): void {
    const { topic, payload } = frame
    const before = this.#channels.get(topic)
    if (before !== undefined) {
      this.#leave(before)
      this.#client.send(closeFrame(topic, before.joinRef))
    }
    if (this.#channels.size >= this.#init.maxTopics) {
      this.#init.tally.joinsRefused++
      this.#reply(frame, new PushError('too many channels joined'))
      return
    }
    const channel = new Channel(this.#client, topic, frame.joinRef ?? frame.ref ?? '', readJoin(topic, payload), payload)
    this.#channels.set(topic, channel)
    channel.inTurn(() => this.#open(channel, frame))
  }

  async #open(channel: Channel, frame: ClientFrame): Promise<void> {
    try {
      const response = await this.#enter(channel)
      if (!channel.isOver) {
        channel.state = 'joined'
        this.#init.tally.joins++
        this.#reply(frame, response)
        this.#startWatching(channel)
      }
    } catch (error) {
      if (!channel.isOver) {
        this.#leave(channel)
        this.#client.presences.hide(channel.topic)
        this.#init.tally.joinsRefused++
        this.#reply(frame, error)
      }
    }
  }

  async #enter(channel: Channel): Promise<object> {
    const { request, topic, payload } = channel
    if (request.accessToken !== undefined && request.accessToken !== this.#client.proof) {
      await this.#client.renew(request.accessToken)
    }
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
    refuseUnless(request, asksToWatch, watch, present, system !== undefined)
    if (system !== undefined) {
      channel.system = system.join({ push: (event, state) => this.#pushOwn(channel, event, state) })
      return {}
    }
    const shown = this.#show(channel, present)
    channel.watching = watch.allowed && request.watch !== 'none' ? request.watch : null
    return request.isSupabase ? SUPABASE_REPLY : { presence: { watch: channel.watching ?? 'none', ...shown } }
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

  #startWatching(channel: Channel): void {
    if (channel.watching === null) {
      return
    }
    try {
      this.#init.feeds.enter(channel.topic, channel.watching, channel)
    } catch (error) {
      // The tracker has stopped meanwhile; the sockets are about to be closed.
      channel.watching = null
      this.#init.failed(error)
    }
  }

  async #push(channel: Channel, frame: ClientFrame): Promise<void> {
    if (channel.isOver) {
      return
    }
    try {
      const response = await this.#answer(channel, frame.event, frame.payload)
      if (!channel.isOver) {
        this.#reply(frame, response)
      }
    } catch (error) {
      if (!channel.isOver) {
        this.#reply(frame, error)
      }
    }
  }

  async #answer(channel: Channel, event: string, payload: Payload): Promise<object> {
    if (event === 'access_token') {
      const token = textIn(payload, 'access_token')
      if (token === undefined) {
        throw new PushError('access_token is missing, allowed is a text')
      }
      await this.#client.renew(token)
      return {}
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
    const shown = this.#show(channel, answer)
    return { ref: shown?.ref }
  }

  #untrack(channel: Channel): object {
    channel.standing.delete('present')
    this.#client.presences.hide(channel.topic)
    return {}
  }

  async #ask(channel: Channel, action: GatewayAction, payload: Payload): Promise<Allowed | Denied> {
    const { identity, proof, address } = this.#client
    const question: GatewayQuestion = {
      user: identity.user,
      topic: channel.topic,
      action,
      payload,
      wantedKey: channel.request.wantedKey,
      identity,
      address
    }
    const grant = await this.#init.permissions.ask(question, proof)
    if (grant.answer.allowed) {
      channel.standing.set(action, { payload, grant })
    }
    return grant.answer
  }

  async #recheck(channel: Channel, action: GatewayAction, payload: Payload): Promise<void> {
    if (channel.isOver) {
      return
    }
    const answer = await this.#ask(channel, action, payload)
    if (channel.isOver || answer.allowed) {
      return
    }
    this.#init.tally.revoked++
    this.#client.presences.hide(channel.topic)
    if (action === 'watch') {
      this.#leave(channel)
      this.#client.send(closeFrame(channel.topic, channel.joinRef))
    }
  }

  #pushOwn(channel: Channel, event: string, payload: object): boolean {
    const takes = !channel.isOver && this.#client.takes
    if (takes) {
      this.#client.send(pushFrame(channel.topic, event, payload, channel.joinRef))
    }
    return takes
  }

  #leave(channel: Channel): void {
    channel.state = 'left'
    if (this.#channels.get(channel.topic) === channel) {
      this.#channels.delete(channel.topic)
    }
    if (channel.watching !== null) {
      this.#init.feeds.leave(channel.topic, channel.watching, channel)
    }
    channel.system?.leave()
  }

  #reply(to: Pick<ClientFrame, 'joinRef' | 'ref' | 'topic'>, response: unknown): void {
    // A frame without a ref wants no answer.
    if (to.ref === null || this.#client.isOver) {
      return
    }
    this.#client.send(
      response instanceof Error ? replyFrame(to, 'error', this.#errorReply(response)) : replyFrame(to, 'ok', response as object)
    )
  }

  #errorReply(error: Error): object {
    const { code } = error as { readonly code?: unknown }
    if (error.name === 'PushError') {
      return { reason: error.message }
    }
    if (typeof code === 'string' && TELLABLE.has(error.name)) {
      return { reason: error.message, code }
    }
    this.#init.failed(error)
    return { reason: 'internal error' }
  }
}

/** Errors of the tracker that name only what the client sent, and what is allowed. */
const TELLABLE = new Set(['InvalidNameError', 'InvalidMetaError', 'MetaTooBigError', 'LimitError', 'ConnectionEndedError', 'TokenError'])

function refuseUnless(
  { insists, watch: wanted, present: wantsPresent }: Channel['request'],
  asksToWatch: boolean,
  watch: Allowed | Denied,
  present: Allowed | Denied,
  isSystem: boolean
): void {
  const mustWatch = insists.watch || isSystem || (wanted === 'none' && asksToWatch)
  if (!watch.allowed && (mustWatch || !present.allowed)) {
    throw new PushError(asksToWatch || present.allowed ? watch.reason : present.reason)
  }
  if (!present.allowed && wantsPresent && insists.present) {
    throw new PushError(present.reason)
  }
}
