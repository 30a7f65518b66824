import { expect } from 'vitest'
import { createReplica, type ReplicaOptions } from '../../../src/net/libp2p/index.ts'
import type { Tracker } from '../../../src/tracker/types.ts'
import { until } from '../net/until.ts'
import { closeLater } from './close-all.ts'
import { type JoinedTopic, joinTopic, openClient, type PhoenixClient, type ShownMeta } from './phoenix-client.ts'

export interface CrowdOptions {
  readonly url: string
  readonly topic: string
  /** Clients, each with a session of its own that it keeps. */
  readonly sessions: number
  /** Fewer than sessions: some users have two. */
  readonly users: number
}

interface Person {
  readonly client: PhoenixClient
  readonly room: JoinedTopic
}

/** Also how long the clients wait for replies: one whose join has no reply in time leaves, as the library has it, and that is no hand-over. */
const PATIENCE_MS = 60_000
/** Clients that connect at one time. */
const AT_ONCE = 25

/** Clients of the npm library who are all in one topic and all watch it, and nobody of whom is to see anybody come or go. */
export class SteadyCrowd {
  readonly #options: CrowdOptions
  readonly #people: Person[] = []
  /** What was listed wrongly, at any time after `settle`. */
  readonly #faults: string[] = []
  #refs = new Set<string>()

  constructor(options: CrowdOptions) {
    this.#options = options
  }

  /** Everybody connects and joins, and everybody lists everybody. From then on lists are looked at after each message that could change them. */
  async settle(): Promise<void> {
    const { sessions } = this.#options
    while (this.#people.length < sessions) {
      const next = Array.from({ length: Math.min(AT_ONCE, sessions - this.#people.length) }, (_, i) => this.#people.length + i)
      this.#people.push(...(await Promise.all(next.map(index => this.#enter(index)))))
    }
    await this.untilAll('lists everybody', ({ room }) => refsOf(room).length === sessions)
    this.#refs = new Set(refsOf((this.#people[0] as Person).room))
    for (const person of this.#people) {
      const look = (): void => this.#look(person.room)
      look()
      person.room.channel.on('presence_state', look)
      person.room.channel.on('presence_diff', look)
    }
    this.forget()
  }

  /** What was told so far is the past. */
  forget(): void {
    for (const { room } of this.#people) {
      ;(room.events as string[]).length = 0
    }
  }

  async untilAll(what: string, holds: (person: Person) => boolean): Promise<void> {
    await until(`everybody ${what}`, () => this.#people.every(holds), PATIENCE_MS)
  }

  /** Everybody is connected and joined. */
  async untilBack(): Promise<void> {
    await this.untilAll('is back', ({ client, room }) => client.socket.isConnected() && room.channel.state === 'joined')
  }

  /** How many connected a second time or more. */
  get returned(): number {
    return this.#people.filter(({ client }) => client.opens > 1).length
  }

  /** Nobody was told of `join`, `leave` or anything but `expected`; and every list was complete at all times, with each session in it once. */
  expectUndisturbed(expected: readonly string[] = []): void {
    expect(this.#people.filter(({ room }) => room.changes.join() !== expected.join()).map(({ room }) => room.changes)).toEqual([])
    expect(this.#faults).toEqual([])
  }

  async #enter(index: number): Promise<Person> {
    const { url, topic, users } = this.#options
    const session = { user: `user:${index % users}`, session: `session:${index}` }
    const client = openClient(url, { ...session, keepFrames: false, timeout: PATIENCE_MS })
    return { client, room: await joinTopic(client, topic, { index }) }
  }

  /** A list may have others in it, but the crowd under the refs that it had at first, and each session of it once. */
  #look(room: JoinedTopic): void {
    const { sessions } = this.#options
    const refs = refsOf(room)
    const known = refs.filter(ref => this.#refs.has(ref)).length
    const indexes = new Set(ownMetas(room).map(meta => meta.index)).size
    if (refs.length !== sessions || known !== sessions || indexes !== sessions) {
      this.#faults.push(`of ${sessions} sessions ${indexes} are listed, under ${refs.length} refs, ${known} of which are known`)
    }
  }
}

/** A replica of the cluster without clients that tells what it sees in a topic: `join k`, `leave k reason`, `update k`. */
export interface Observer {
  readonly tracker: Tracker
  readonly seen: string[]
}

export async function startObserver(topic: string, options: ReplicaOptions): Promise<Observer> {
  const replica = await createReplica({ cluster: 'test', ...options })
  closeLater(() => replica.stop())
  const seen: string[] = []
  replica.presence.addEventListener('diff', ({ detail }) => {
    if (detail.topic === topic) {
      seen.push(...detail.joins.map(({ key }) => `join ${key}`))
      seen.push(...detail.leaves.map(({ presence, reason }) => `leave ${presence.key} ${reason}`))
      seen.push(...detail.updates.map(({ next }) => `update ${next.key}`))
    }
  })
  await replica.presence.ready
  return { tracker: replica.presence, seen }
}

const isOwn = (key: string): boolean => key.startsWith('user:')

const ownMetas = (room: JoinedTopic): ShownMeta[] => Object.entries(room.list()).flatMap(([key, metas]) => (isOwn(key) ? metas : []))

const refsOf = (room: JoinedTopic): string[] => ownMetas(room).map(meta => meta.phx_ref)
