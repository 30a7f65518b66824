import { vi } from 'vitest'
import { type Connection, createTracker, type Tracker } from '../../../src/index.ts'
import { Feeds } from '../../../src/net/gateway/feeds/feeds.ts'
import type { GatewayOptions } from '../../../src/net/gateway/options.ts'
import { Tally } from '../../../src/net/gateway/tally.ts'
import { VirtualClock } from '../../../src/testing/virtual-clock.ts'
import { VirtualProcess } from '../../../src/testing/virtual-process.ts'
import { createRandom } from '../../../src/tracker/environment.ts'
import { microtasks, resolved } from './fakes.ts'
import { type Listing, Screen } from './screen.ts'

export const TOPIC = 'room:1'

export type Op =
  | { readonly type: 'connect'; readonly user: number; readonly session: number }
  | { readonly type: 'show'; readonly who: number; readonly key: number; readonly n: number }
  | { readonly type: 'untrack'; readonly who: number; readonly key: number }
  | { readonly type: 'close' | 'lost'; readonly who: number }
  | { readonly type: 'enter' | 'leave' | 'behind' | 'resume'; readonly screen: number }
  | { readonly type: 'batch'; readonly ops: readonly Op[] }
  | { readonly type: 'clock' | 'window'; readonly ms: number }
  | { readonly type: 'tick' | 'turn' }

/** A real tracker under virtual time, a feed of it, and unchanged clients that watch. Time of the gateway is vitest's; call `vi.useFakeTimers()` first. */
export class FeedWorld {
  readonly tracker: Tracker
  readonly tally = new Tally()
  readonly feeds: Feeds
  readonly failures: unknown[] = []
  readonly screens = new Map<number, Screen>()
  /** All that was listed, from the empty topic on. */
  readonly listings: Listing[] = [new Map()]
  readonly #clock: VirtualClock
  readonly #sample: number
  readonly #connections: Connection[] = []
  #joins = 0

  constructor(tracker: Tracker, clock: VirtualClock, options: Partial<GatewayOptions>) {
    this.tracker = tracker
    this.#clock = clock
    const all = resolved(options)
    this.#sample = all.interval.sample
    this.feeds = new Feeds(tracker, all, this.tally, (_, __, error) => this.failures.push(error))
    tracker.addEventListener('diff', ({ detail }) => {
      if (detail.topic === TOPIC) {
        this.listings.push(listingOf(tracker))
      }
    })
  }

  get listing(): Listing {
    return listingOf(this.tracker)
  }

  async run(ops: readonly Op[]): Promise<void> {
    for (const op of ops) {
      await this.#do(op)
    }
  }

  /** Everybody reads, and all windows end. */
  async quiesce(): Promise<void> {
    for (const screen of this.screens.values()) {
      this.#resume(screen)
    }
    for (let i = 0; i < 12; i++) {
      this.feeds.tick()
      await pass(100)
    }
  }

  async #do(op: Op): Promise<void> {
    switch (op.type) {
      case 'batch':
        this.tracker.batch(() => {
          for (const each of op.ops) {
            this.#change(each)
          }
        })
        break
      case 'clock':
        await this.#passForTracker(op.ms)
        break
      case 'window':
        await pass(op.ms)
        break
      case 'turn':
        await microtasks()
        break
      case 'tick':
        this.feeds.tick()
        break
      case 'enter':
      case 'leave':
      case 'behind':
      case 'resume':
        this.#watch(op.type, op.screen)
        break
      default:
        this.#change(op)
    }
  }

  async #passForTracker(ms: number): Promise<void> {
    const endMs = this.#clock.nowMs + ms
    while (this.#clock.step(endMs)) {
      await Promise.resolve()
    }
  }

  #watch(type: 'enter' | 'leave' | 'behind' | 'resume', index: number): void {
    const screen = this.screens.get(index)
    if (type === 'enter' && screen === undefined) {
      const entered = new Screen(String(++this.#joins), this.listings, this.#sample)
      this.screens.set(index, entered)
      this.feeds.enter(TOPIC, 'list', entered)
    } else if (type === 'leave' && screen !== undefined) {
      this.screens.delete(index)
      this.feeds.leave(TOPIC, 'list', screen)
    } else if (type === 'behind' && screen !== undefined) {
      screen.takes = false
    } else if (type === 'resume' && screen !== undefined) {
      this.#resume(screen)
    }
  }

  /** As a client does whose socket has read. */
  #resume(screen: Screen): void {
    if (!screen.takes) {
      screen.takes = true
      this.feeds.resume(TOPIC, 'list', screen)
    }
  }

  #change(op: Op): void {
    if (op.type === 'connect') {
      this.#connections.push(this.tracker.connect(`user${op.user}`, { session: `session${op.session}` }))
      return
    }
    const open = this.#connections.filter(connection => connection.open)
    const connection = 'who' in op ? open[op.who % open.length] : undefined
    if (connection === undefined || !('who' in op)) {
      return
    }
    if (op.type === 'close' || op.type === 'lost') {
      connection[op.type]()
    } else if (op.type === 'untrack') {
      connection.untrack(TOPIC, { key: `key${op.key}` })
    } else if (op.type === 'show') {
      show(connection, `key${op.key}`, op.n)
    }
  }
}

function show(connection: Connection, key: string, n: number): void {
  try {
    connection.track(TOPIC, { n }, { key })
  } catch (error) {
    if ((error as Error).name !== 'AlreadyTrackedError') {
      throw error
    }
    connection.update(TOPIC, { n }, { key })
  }
}

export async function startFeedWorld(options: Partial<GatewayOptions> = {}): Promise<FeedWorld> {
  const clock = new VirtualClock()
  const { environment } = new VirtualProcess({ clock, random: createRandom(1), wallClockMs: Date.UTC(2026, 0, 1) })
  const tracker = createTracker({ graceMs: 200, environment })
  await tracker.start()
  await tracker.ready
  return new FeedWorld(tracker, clock, options)
}

/** Time passes in the gateway. */
export async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms)
  await microtasks()
}

const listingOf = (tracker: Tracker): Listing =>
  new Map([...tracker.list(TOPIC)].map(([key, presences]) => [key, presences.map(({ ref }) => ref)]))
