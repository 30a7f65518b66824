import type { Presence, Tracker } from '../../../tracker/types.ts'
import { textIn } from '../protocol/join-request.ts'
import { PushError } from '../protocol/push-error.ts'
import { explainUser } from './explain-user.ts'
import type { Device, TopicsReply, UserReply, UsersReply } from './messages.ts'
import { Pacer } from './pacer.ts'

/** Items in one reply. */
const PAGE = 100

type Payload = Readonly<Record<string, unknown>>

/** What the live page asks. */
export class Questions {
  readonly #tracker: Tracker
  readonly #pacer = new Pacer()

  constructor(tracker: Tracker) {
    this.#tracker = tracker
  }

  /** Rejects with what is shown to the one who asked. */
  async answer(event: string, payload: Payload): Promise<object> {
    switch (event) {
      case 'topics':
        return this.#pacer.run(() => this.#topics(payload))
      case 'users':
        return this.#pacer.run(() => this.#users(payload))
      case 'user':
        return this.#pacer.run(() => this.#user(payload))
      default:
        throw new PushError('unknown event; allowed are topics, users and user')
    }
  }

  #topics(payload: Payload): TopicsReply {
    const cursor = textIn(payload, 'cursor')
    const page = this.#tracker.topics({ prefix: textIn(payload, 'prefix') ?? '', limit: PAGE, ...(cursor !== undefined && { cursor }) })
    const topics = [...page].map(([topic, count]) => ({ topic, ...count }))
    return { topics, cursor: topics.length < PAGE ? null : (topics.at(-1)?.topic ?? null) }
  }

  #users(payload: Payload): UsersReply {
    const prefix = textIn(payload, 'prefix') ?? ''
    const users: string[] = []
    let more = false
    for (const user of this.#tracker.users()) {
      if (user.startsWith(prefix)) {
        if (users.length === PAGE) {
          more = true
          break
        }
        users.push(user)
      }
    }
    return { users: users.sort(), more, total: this.#tracker.stats().users ?? 0 }
  }

  #user(payload: Payload): UserReply {
    const user = textIn(payload, 'user')
    if (user === undefined) {
      throw new PushError('user is missing: a text that names one')
    }
    const { online, connections, lastSeen } = this.#tracker.user(user)
    const explanation = explainUser(this.#tracker, this.#tracker.replicas(), user, Date.now())
    const devices = this.#tracker.connectionsOf(user)
    return {
      ...explanation,
      presences: explanation.presences.slice(0, PAGE),
      online: online ?? null,
      connections,
      lastSeenMs: lastSeen,
      devices: devices.slice(0, PAGE).map(deviceOf),
      omitted: Math.max(0, explanation.presences.length - PAGE) + Math.max(0, devices.length - PAGE)
    }
  }
}

const deviceOf = ({ replica, state, joinedAt, meta }: Presence): Device => ({ replica, state, sinceMs: joinedAt, meta })
