import { createEntry, type DeltaInterval, type Entry, type EntryContent, EntryState, type Mark } from '../../src/crdt/index.ts'
import { createRandom, type Random } from '../../src/tracker/environment.ts'
import type { Delta, Heartbeat } from '../../src/tracker/messages.ts'

/** The replica that sends: a PeerId and an incarnation as they are in production. */
export const SENDER = { id: '12D3KooWGzh5m2b6q9pXv1nVqN8mT3yF7dKc4uJwRsAeXzPtLhQk', incarnation: 1_807_360_126_418_432 }

export const NO_META = '{}'

/** About 60 bytes, different for each user. */
export function richMeta(user: number): string {
  return `{"device":"phone","online_at":${1_765_000_000 + user},"status":"available"}`
}

/** Who makes the session: the tracker numbers them behind a prefix, clients' secrets are hashed to 12 random bytes. */
export type Sessions = 'tracker' | 'client'

const JOINED_AT = 1_765_000_123_456
const USERS = 100_000

/** Makes messages of one replica, whose events go on from one to the next. */
export class MessageSource {
  readonly #random: Random
  readonly #sessions: Sessions
  readonly #meta: (user: number) => string
  readonly #prefix: Uint8Array
  #connections = 0
  #head: number

  constructor(sessions: Sessions, meta: (user: number) => string, head = 0) {
    this.#random = createRandom(`wire/${sessions}`)
    this.#sessions = sessions
    this.#meta = meta
    this.#prefix = this.#bytes(8)
    this.#head = head
  }

  /** Joins of users in random order, within a few milliseconds. */
  joins(count: number, topic = 'room:123'): Delta {
    return this.#push(count, () => [{ ...this.#connection(), topic }])
  }

  /** Per user an entry among the users and one in a room, of one session. */
  connects(count: number): Delta {
    return this.#push(count, () => {
      const connection = this.#connection()
      return [
        { ...connection, topic: '$users' },
        { ...connection, topic: 'room:123' }
      ]
    })
  }

  #connection(): EntryContent {
    const connection = this.#connections++
    const user = this.#random.below(USERS)
    const name = `user:${user}`
    const joinedAt = JOINED_AT + (connection >> 3)
    const meta = this.#meta(user)
    return { topic: '', key: name, user: name, session: this.#session(), connection, meta, joinedAt, revision: 0, epoch: 1, over: [] }
  }

  #push(count: number, contents: () => EntryContent[]): Delta {
    const from = this.#head
    const adds: Entry[] = []
    for (let i = 0; i < count; i++) {
      for (const content of contents()) {
        adds.push(createEntry(content, ++this.#head))
      }
    }
    return deltaOf({ from, to: this.#head, since: from, asOf: this.#head, adds })
  }

  #session(): string {
    if (this.#sessions === 'client') {
      return Buffer.from(this.#bytes(12)).toString('base64url')
    }
    const bytes = Buffer.alloc(12)
    bytes.set(this.#prefix)
    bytes.writeUInt32BE(this.#connections, 8)
    return bytes.toString('base64url')
  }

  #bytes(count: number): Uint8Array {
    return Uint8Array.from({ length: count }, () => this.#random.below(256))
  }
}

/** Of the dots 1 … `live`, `count` are removed: at random, or those of one stretch. */
export function leaves(count: number, live: number, order: 'scattered' | 'contiguous'): Delta {
  const dots = Array.from({ length: live }, (_, i) => i + 1)
  const gone = order === 'scattered' ? createRandom('leaves').shuffle(dots).slice(0, count) : dots.slice(live >> 1, (live >> 1) + count)
  const marks: Mark[] = gone.map((counter, i) => ({ event: live + 1 + i, counter, state: EntryState.removed, reason: 1 }))
  return deltaOf({ from: live, to: live + count, since: live, asOf: live + count, marks })
}

/** Of a replica that has run for a month at one heartbeat a second, and made a million events. */
export const IDLE_HEARTBEAT: Heartbeat = {
  type: 'heartbeat',
  replica: SENDER,
  counter: 2_592_000,
  ageMs: 0,
  head: 1_000_000,
  hash: { high: 0xdeadbeef, low: 0x01234567 },
  digestHash: 0x89abcdef,
  relayed: []
}

function deltaOf(parts: Pick<DeltaInterval, 'from' | 'to' | 'since' | 'asOf'> & Partial<DeltaInterval>): Delta {
  return { type: 'delta', answer: false, intervals: [{ replica: SENDER, shard: 0, adds: [], marks: [], ...parts }] }
}
