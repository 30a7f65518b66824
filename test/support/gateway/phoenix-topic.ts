import { type Channel, Presence, type Push } from 'phoenix'
import { until } from '../net/until.ts'
import type { Json } from './json.ts'
import type { Frame, PhoenixClient } from './phoenix-client.ts'

/** What is shown of one presence. */
export interface ShownMeta {
  readonly phx_ref: string
  readonly phx_ref_prev?: string
  readonly [name: string]: unknown
}

/** A topic that a client has joined, with the client library's own list of who is there. */
export interface JoinedTopic {
  readonly topic: string
  readonly channel: Channel
  readonly presence: Presence
  /** The response of the first join. */
  readonly reply: Json
  /**
   * What the library told, in order: `join k`, the first meta of a key; `more k`, a further one; `fewer k`, one of several has gone; `leave k`, the last one
   * has; `sync`. An update is `more`, then `fewer`.
   */
  readonly events: readonly string[]
  /** The same without `sync`. */
  readonly changes: readonly string[]
  /** How often the channel was closed by the server or by `leave`. */
  readonly closes: number
  /** What the channel was told of as errors: those of the server, and ends of the connection. */
  readonly errors: readonly unknown[]
  /** `presence.list()` by key. */
  list(): Record<string, readonly ShownMeta[]>
  /** Its keys, sorted. */
  keys(): string[]
  /** What came for the topic, or only such events. Empty when the client keeps none. */
  frames(event?: string): Frame[]
  /** Waits until the first list is there. */
  synced(): Promise<void>
  /** Resolves with the response, or rejects with a RequestError. */
  push(event: string, payload?: object): Promise<Json>
  leave(): Promise<void>
}

/** The server answered with an error, or did not answer in time. */
export class RequestError extends Error {
  override readonly name = 'RequestError'
  readonly response: unknown

  constructor(what: string, status: string, response: unknown) {
    super(`${what}: ${status} ${JSON.stringify(response ?? {})}`)
    this.response = response
  }
}

/** Joins, and waits for the reply. Throws RequestError when the join fails; the client then tries again, as it does in a browser. */
export async function joinTopic(client: PhoenixClient, topic: string, payload: object | (() => object) = {}): Promise<JoinedTopic> {
  const channel = client.socket.channel(topic, payload)
  const presence = new Presence(channel)
  const events = record(presence)
  const errors: unknown[] = []
  let closes = 0
  channel.onClose(() => void closes++)
  channel.onError(error => void errors.push(error))
  const reply = await answer(`join of ${topic}`, channel.join())
  const list = (): Record<string, ShownMeta[]> =>
    Object.fromEntries(presence.list((key, { metas }): [string, ShownMeta[]] => [key, metas as ShownMeta[]]))
  return {
    topic,
    channel,
    presence,
    reply,
    events,
    errors,
    get closes() {
      return closes
    },
    get changes() {
      return events.filter(event => event !== 'sync')
    },
    list,
    keys: () => Object.keys(list()).sort(),
    frames: event => client.frames.filter(frame => frame.topic === topic && (event === undefined || frame.event === event)),
    synced: () => until(`the first list of ${topic}`, () => events.includes('sync')),
    push: (event, body = {}) => answer(`${event} in ${topic}`, channel.push(event, body)),
    leave: async () => void (await answer(`leave of ${topic}`, channel.leave()))
  }
}

function record(presence: Presence): string[] {
  const events: string[] = []
  presence.onJoin((key, current) => void events.push(`${current === undefined ? 'join' : 'more'} ${key}`))
  presence.onLeave((key, current) => void events.push(`${current.metas.length === 0 ? 'leave' : 'fewer'} ${key}`))
  presence.onSync(() => void events.push('sync'))
  return events
}

function answer(what: string, push: Push): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const failed = (status: string) => (response: unknown) => reject(new RequestError(what, status, response))
    push.receive('ok', resolve).receive('error', failed('error')).receive('timeout', failed('timeout'))
  })
}
