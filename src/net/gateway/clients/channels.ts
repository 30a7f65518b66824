import type { Feeds, WatchMode } from '../feeds/feeds.ts'
import { type ClientFrame, closeFrame, errorFrame, pushText, replyFrame } from '../protocol/frames.ts'
import { readJoin } from '../protocol/join-request.ts'
import { PushError, tellable } from '../protocol/push-error.ts'
import { frameOf } from '../protocol/wire.ts'
import type { GatewayAction } from '../rights/hooks.ts'
import { type Permissions, UNAVAILABLE } from '../rights/permissions.ts'
import type { Tally } from '../tally.ts'
import type { SystemTopic } from '../types.ts'
import { Channel, type Standing } from './channel.ts'
import { type ChannelsClient, Conversation } from './conversation.ts'

export interface ChannelsInit {
  readonly client: ChannelsClient
  readonly feeds: Feeds
  readonly permissions: Permissions
  readonly systemTopics: ReadonlyMap<string, SystemTopic>
  readonly tally: Tally
  readonly maxTopics: number
  /** Of the joins of a socket, which are kept to ask for their rights again. */
  readonly maxJoinBytes: number
  readonly failed: (error: unknown) => void
}

/** The channels of one socket: deals with its frames. */
export class Channels {
  readonly #init: ChannelsInit
  readonly #client: ChannelsClient
  readonly #conversation: Conversation
  readonly #channels = new Map<string, Channel>()
  #joinBytes = 0

  constructor(init: ChannelsInit) {
    const { client, permissions, systemTopics } = init
    this.#init = init
    this.#client = client
    this.#conversation = new Conversation({
      client,
      permissions,
      systemTopics,
      systemClient: channel => ({ push: (event, state) => this.#pushOwn(channel, event, state) })
    })
  }

  get size(): number {
    return this.#channels.size
  }

  /** Whether any topic is joined; joins under way do not count. */
  get isInAny(): boolean {
    return [...this.#channels.values()].some(({ state }) => state === 'joined')
  }

  has(topic: string): boolean {
    return this.#channels.get(topic)?.state === 'joined'
  }

  handle(frame: ClientFrame): void {
    const channel = this.#channels.get(frame.topic)
    if (frame.topic === 'phoenix') {
      this.#answerIf(frame.event === 'heartbeat', frame)
    } else if (frame.event === 'phx_join') {
      this.#join(frame)
    } else if (channel === undefined) {
      // One who leaves what is over already has what he wants.
      this.#answerIf(frame.event === 'phx_leave', frame)
    } else if (frame.joinRef !== channel.joinRef) {
      // Of an earlier join: that one was closed, and its client told so.
    } else if (frame.event === 'phx_leave') {
      this.#leave(channel)
      this.#client.presences.hide(channel.topic)
      this.#reply(frame, {})
      this.#client.send(closeFrame(channel.topic, channel.joinRef))
    } else if (!channel.inTurn(() => this.#push(channel, frame))) {
      this.#refuse(frame, new PushError('too many pushes at once'))
    }
  }

  /** Tells the client that a push came in a form that is not taken. */
  refuse(frame: Omit<ClientFrame, 'payload' | 'length'>, reason: string): void {
    this.#refuse(frame, new PushError(reason))
  }

  /** The socket has read what it was sent: each channel that missed something is given the whole state. */
  refresh(): void {
    for (const channel of this.#channels.values()) {
      if (channel.watching !== null && this.#init.feeds.resume(channel.topic, channel.watching, channel)) {
        this.#init.tally.resyncs++
      }
    }
  }

  /** Asks again for rights that are as old as they may be; ends what they no longer allow. `Infinity`: for all. */
  recheck(nowMs: number): void {
    for (const channel of this.#channels.values()) {
      for (const [action, standing] of channel.standing) {
        if (standing.askMs <= nowMs && channel.inTurn(() => this.#recheck(channel, action, standing))) {
          channel.standing.delete(action)
        }
      }
    }
  }

  /** Nothing comes any more of a topic that the client watches so. It joins again; its presence stays meanwhile. */
  interrupt(topic: string, mode: WatchMode): void {
    const channel = this.#channels.get(topic)
    if (channel?.watching === mode) {
      this.#leave(channel)
      this.#client.send(errorFrame(topic, channel.joinRef, 'interrupted'))
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
      this.#refuse(frame, new PushError('too many channels joined'))
      return
    }
    if (this.#joinBytes + frame.length > this.#init.maxJoinBytes) {
      this.#init.tally.joinsRefused++
      this.#refuse(frame, new PushError('joins too large'))
      return
    }
    const channel = new Channel(this.#client, topic, frame.joinRef ?? frame.ref ?? '', readJoin(topic, payload), payload, frame.length)
    this.#joinBytes += channel.length
    this.#channels.set(topic, channel)
    channel.inTurn(() => this.#open(channel, frame))
  }

  async #open(channel: Channel, frame: ClientFrame): Promise<void> {
    try {
      const response = await this.#conversation.enter(channel)
      if (!channel.isOver) {
        if (channel.watching !== null) {
          // What it is told first comes in a later turn of the event loop, after the reply.
          this.#init.feeds.enter(channel.topic, channel.watching, channel)
        }
        channel.state = 'joined'
        this.#init.tally.joins++
        this.#reply(frame, response)
      }
    } catch (error) {
      if (!channel.isOver) {
        this.#leave(channel)
        this.#client.presences.hide(channel.topic)
        this.#init.tally.joinsRefused++
        this.#refuse(frame, error)
      }
    }
  }

  async #push(channel: Channel, frame: ClientFrame): Promise<void> {
    if (channel.isOver) {
      return
    }
    try {
      const response = await this.#conversation.push(channel, frame.event, frame.payload)
      if (!channel.isOver) {
        this.#reply(frame, response)
      }
    } catch (error) {
      if (!channel.isOver) {
        this.#refuse(frame, error)
      }
    }
  }

  async #recheck(channel: Channel, action: GatewayAction, standing: Standing): Promise<void> {
    const denied = channel.isOver ? undefined : await this.#conversation.recheck(channel, action, standing)
    if (denied === undefined) {
      return
    }
    const { topic, joinRef } = channel
    this.#init.tally.revoked++
    if (denied === UNAVAILABLE) {
      // Nobody took the right away: the client is to ask again.
      this.#leave(channel)
      this.#client.send(errorFrame(topic, joinRef, denied.reason))
    } else if (action === 'watch') {
      this.#leave(channel)
      this.#client.send(closeFrame(topic, joinRef))
    }
  }

  #pushOwn(channel: Channel, event: string, payload: object): boolean {
    const takes = !channel.isOver && this.#client.takes
    if (takes) {
      this.#client.send(frameOf(pushText(channel.topic, event, jsonOf(payload), channel.joinRef)))
    }
    return takes
  }

  #leave(channel: Channel): void {
    if (channel.state !== 'left') {
      this.#joinBytes -= channel.length
    }
    channel.state = 'left'
    if (this.#channels.get(channel.topic) === channel) {
      this.#channels.delete(channel.topic)
    }
    if (channel.watching !== null) {
      this.#init.feeds.leave(channel.topic, channel.watching, channel)
    }
    channel.system?.leave()
  }

  #answerIf(isFine: boolean, frame: ClientFrame): void {
    if (isFine) {
      this.#reply(frame, {})
    } else {
      this.#refuse(frame, new PushError('unmatched topic'))
    }
  }

  /** A frame without a ref wants no answer. */
  #reply(to: Pick<ClientFrame, 'joinRef' | 'ref' | 'topic'>, response: object): void {
    if (to.ref !== null && !this.#client.isOver) {
      this.#client.send(replyFrame(to, 'ok', response))
    }
  }

  /** Whatever was thrown, by whomever. */
  #refuse(to: Pick<ClientFrame, 'joinRef' | 'ref' | 'topic'>, error: unknown): void {
    const told = tellable(error)
    if (told === undefined) {
      this.#init.failed(error)
    }
    if (to.ref !== null && !this.#client.isOver) {
      this.#client.send(replyFrame(to, 'error', told ?? { reason: 'internal error' }))
    }
  }
}

/** What a topic of the gateway's own pushes to all its clients is encoded once. */
const encoded = new WeakMap<object, string>()

function jsonOf(payload: object): string {
  let text = encoded.get(payload)
  if (text === undefined) {
    text = JSON.stringify(payload)
    encoded.set(payload, text)
  }
  return text
}
