import type { Diff, Presence, Tracker } from '../../tracker/types.ts'
import { sharedNowMs } from './shared-clock.ts'
import { SAW_JOIN, SAW_LEAVE, type WorkerEvents, type WorkerSnapshot } from './worker-protocol.ts'

interface Shown {
  readonly key: string
  readonly replica: string
  readonly state: Presence['state']
}

const CONTRADICTIONS_MAX = 5

/** What one replica shows: folds every diff by itself, notes what was seen of others' clients and when, and compares the fold with the lists. */
export class WorkerView {
  readonly #tracker: Tracker
  readonly #fold = new Map<string, Map<string, Shown>>()
  readonly #doubted = new Set<string>()
  topics: string[] = []
  keys: string[] = []
  kinds: number[] = []
  sawAtMs: number[] = []
  judged: WorkerEvents['judged'][number][] = []
  isolated: WorkerEvents['isolated'][number][] = []

  constructor(tracker: Tracker) {
    this.#tracker = tracker
    for (const topic of tracker.topics().keys()) {
      this.#fold.set(topic, new Map([...tracker.list(topic).values()].flat().map(presence => [presence.ref, presence])))
    }
    tracker.addEventListener('diff', ({ detail }) => this.#apply(detail))
    for (const status of ['up', 'suspect', 'down', 'permdown'] as const) {
      tracker.addEventListener(`replica:${status}`, ({ detail }) => {
        this.judged.push({ id: detail.id, status, atMs: sharedNowMs() })
      })
    }
    tracker.addEventListener('isolated', ({ detail }) => {
      this.isolated.push({ isolated: detail.isolated, atMs: sharedNowMs() })
    })
  }

  snapshot(request: number): WorkerSnapshot {
    const presences = [...this.#tracker.topics().keys()].flatMap(topic =>
      [...this.#tracker.list(topic).values()].flat().map(presence => ({ topic, ...presence }))
    )
    return {
      type: 'snapshot',
      request,
      atMs: sharedNowMs(),
      topics: presences.map(presence => presence.topic),
      keys: presences.map(presence => presence.key),
      refs: presences.map(presence => presence.ref),
      replicas: presences.map(presence => presence.replica),
      unknown: presences.map(presence => presence.state === 'unknown'),
      usersOnline: [...this.#tracker.users()],
      contradictions: this.#contradictions(),
      nodes: this.#tracker.replicas()
    }
  }

  get presences(): number {
    let total = 0
    for (const { presences } of this.#tracker.topics().values()) {
      total += presences
    }
    return total
  }

  // Written apart from `PresenceFold`, so that neither hides the other's mistake.
  #apply(diff: Diff): void {
    const atMs = sharedNowMs()
    const shown = this.#fold.get(diff.topic) ?? new Map<string, Shown>()
    this.#fold.set(diff.topic, shown)
    for (const { presence } of diff.leaves) {
      shown.delete(presence.ref)
      this.#saw(SAW_LEAVE, diff.topic, presence, atMs)
    }
    for (const { prev, next } of diff.updates) {
      shown.delete(prev.ref)
      shown.set(next.ref, next)
    }
    for (const { ref, replica, state } of diff.moves) {
      const presence = shown.get(ref)
      if (presence !== undefined) {
        shown.set(ref, { ...presence, replica, state })
      }
    }
    for (const presence of diff.joins) {
      shown.set(presence.ref, presence)
      this.#saw(SAW_JOIN, diff.topic, presence, atMs)
    }
    for (const { id, state } of diff.replicas) {
      this.#doubt(id, state, atMs)
      for (const [ref, presence] of shown) {
        if (presence.replica === id) {
          shown.set(ref, { ...presence, state })
        }
      }
    }
    if (shown.size === 0) {
      this.#fold.delete(diff.topic)
    }
  }

  // One diff per topic says so; the first one counts.
  #doubt(id: string, state: Presence['state'], atMs: number): void {
    if (state === 'online') {
      this.#doubted.delete(id)
    } else if (!this.#doubted.has(id)) {
      this.#doubted.add(id)
      this.judged.push({ id, status: 'unknown', atMs })
    }
  }

  #saw(kind: number, topic: string, presence: Presence, atMs: number): void {
    if (presence.replica !== this.#tracker.id) {
      this.topics.push(topic)
      this.keys.push(presence.key)
      this.kinds.push(kind)
      this.sawAtMs.push(atMs)
    }
  }

  #contradictions(): string[] {
    const found: string[] = []
    const topics = new Set([...this.#fold.keys(), ...this.#tracker.topics().keys()])
    for (const topic of topics) {
      const listed = [...this.#tracker.list(topic).values()].flat()
      const folded = this.#fold.get(topic) ?? new Map<string, Shown>()
      const { presences, keys } = this.#tracker.count(topic)
      if (presences !== listed.length || keys !== new Set(listed.map(presence => presence.key)).size) {
        found.push(`count(${topic}) is ${keys} keys and ${presences} presences, ${listed.length} are listed`)
      }
      for (const presence of listed) {
        const same = folded.get(presence.ref)
        if (same?.key !== presence.key || same.replica !== presence.replica || same.state !== presence.state) {
          found.push(
            `${topic}: ${presence.key} (${presence.ref}) is listed as ${describe(presence)}, the diffs gave ${same ? describe(same) : 'nothing'}`
          )
        }
      }
      if (folded.size > listed.length) {
        found.push(`${topic}: the diffs gave ${folded.size} presences, ${listed.length} are listed`)
      }
    }
    return found.slice(0, CONTRADICTIONS_MAX)
  }
}

const describe = (presence: Shown): string => `${presence.state} on ${presence.replica.slice(-6)}`
