import type { Tracker } from '../../../tracker/types.ts'
import type { GatewayStats, SystemClient, SystemSession, SystemTopic } from '../types.ts'
import { clusterState } from './cluster-state.ts'
import { EventTail } from './event-tail.ts'
import { CLUSTER_TOPIC, type ClusterState, type TailBatch } from './messages.ts'
import { Questions } from './questions.ts'
import { TopicCounts } from './topic-counts.ts'
import { TrackerEar } from './tracker-ear.ts'

const TICK_MS = 1_000

export interface ClusterTopicInit {
  readonly tracker: Tracker
  /** The gateway's numbers, for the page to show. Read once a second while somebody looks. */
  readonly gateway: () => GatewayStats
}

/** One who looks, and what he did not take as he read too slowly. */
interface Onlooker {
  readonly client: SystemClient
  missesState: boolean
  missesEvents: boolean
}

/**
 * The topic of the live page. Pushes `cluster` (all that there is to see) at once and then once a second if it changed, and `events` as they happen; answers
 * `topics`, `users` and `user`. It listens to the tracker, and has a timer, only while somebody has joined.
 */
export class ClusterTopic implements SystemTopic {
  readonly topic = CLUSTER_TOPIC
  readonly #init: ClusterTopicInit
  readonly #onlookers = new Set<Onlooker>()
  readonly #counts: TopicCounts
  readonly #tail = new EventTail(batch => this.#happened(batch))
  readonly #ear: TrackerEar
  readonly #questions: Questions
  #timer: NodeJS.Timeout | undefined
  #incarnation: number | undefined
  #state: ClusterState | undefined
  #told = ''

  constructor(init: ClusterTopicInit) {
    this.#init = init
    this.#counts = new TopicCounts(init.tracker)
    this.#ear = new TrackerEar(init.tracker, this.#tail, this.#counts)
    this.#questions = new Questions(init.tracker)
  }

  /** Clients that have joined. */
  get size(): number {
    return this.#onlookers.size
  }

  join(client: SystemClient): SystemSession {
    if (this.#onlookers.size === 0) {
      this.#start()
    }
    const onlooker: Onlooker = { client, missesState: true, missesEvents: true }
    this.#onlookers.add(onlooker)
    this.#catchUp(onlooker)
    return {
      handle: (event, payload) => this.#questions.answer(event, payload),
      leave: () => {
        if (this.#onlookers.delete(onlooker) && this.#onlookers.size === 0) {
          this.#stop()
        }
      }
    }
  }

  #start(): void {
    this.#tail.start()
    this.#ear.start()
    this.#look()
    this.#timer = setInterval(() => this.#tick(), TICK_MS)
    this.#timer.unref()
  }

  #stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#ear.stop()
    this.#tail.stop()
    this.#counts.clear()
    this.#incarnation = undefined
    this.#state = undefined
    this.#told = ''
  }

  /** Builds the state. @returns whether it differs from the one before */
  #look(): boolean {
    const { tracker, gateway } = this.#init
    const incarnation = tracker.replicas()[0]?.incarnation
    // A tracker that was stopped and started lost its topics without a diff.
    if (incarnation !== this.#incarnation) {
      this.#incarnation = incarnation
      this.#counts.load()
    }
    const state = clusterState(tracker, this.#counts, gateway(), Date.now())
    const told = JSON.stringify({ ...state, atMs: 0 })
    const changed = told !== this.#told
    if (changed) {
      this.#told = told
      this.#state = state
    }
    return changed
  }

  #tick(): void {
    const changed = this.#look()
    for (const onlooker of this.#onlookers) {
      onlooker.missesState ||= changed
      this.#catchUp(onlooker)
    }
  }

  #happened(batch: TailBatch): void {
    for (const onlooker of this.#onlookers) {
      // The batch is among the last events already.
      const missed = onlooker.missesEvents ? this.#tail.last() : batch
      onlooker.missesEvents = !onlooker.client.push('events', missed)
    }
  }

  #catchUp(onlooker: Onlooker): void {
    if (onlooker.missesState && this.#state !== undefined) {
      onlooker.missesState = !onlooker.client.push('cluster', this.#state)
    }
    if (onlooker.missesEvents) {
      onlooker.missesEvents = !onlooker.client.push('events', this.#tail.last())
    }
  }
}
