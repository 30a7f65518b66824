import { createTracker, type Diff, type Tracker, type TrackerOptions, type WatchEvent } from '../../src/index.ts'
import { VirtualClock } from '../../src/testing/virtual-clock.ts'
import { VirtualProcess } from '../../src/testing/virtual-process.ts'
import { createRandom } from '../../src/tracker/environment.ts'

export interface Lone {
  readonly tracker: Tracker
  readonly process: VirtualProcess
  /** All diffs since the start. */
  readonly diffs: Diff[]
  /** `online user` and `offline user`, in order. */
  readonly transitions: string[]
  run(ms: number): Promise<void>
}

/** A started tracker without peers, under virtual time. */
export async function startLone(options: TrackerOptions = {}, seed = 1): Promise<Lone> {
  const clock = new VirtualClock()
  const process = new VirtualProcess({ clock, random: createRandom(seed), wallClockMs: Date.UTC(2026, 0, 1) })
  const tracker = createTracker({ ...options, environment: process.environment })
  const diffs: Diff[] = []
  const transitions: string[] = []
  tracker.addEventListener('diff', ({ detail }) => void diffs.push(detail))
  tracker.addEventListener('online', ({ detail }) => void transitions.push(`online ${detail.user}`))
  tracker.addEventListener('offline', ({ detail }) => void transitions.push(`offline ${detail.user}`))
  await tracker.start()
  await tracker.ready
  const run = async (ms: number): Promise<void> => {
    const endMs = clock.nowMs + ms
    while (clock.step(endMs)) {
      await Promise.resolve()
    }
    await new Promise(resolve => setImmediate(resolve))
  }
  return { tracker, process, diffs, transitions, run }
}

/** Calls of `next` that found no event: the next look goes on with them. */
const pending = new WeakMap<object, Promise<IteratorResult<unknown>>>()

/** The events that the iterator has ready, without waiting for more. */
export async function ready<T>(iterator: AsyncIterableIterator<T>): Promise<T[]> {
  const events: T[] = []
  for (;;) {
    const next = (pending.get(iterator) as Promise<IteratorResult<T>> | undefined) ?? iterator.next()
    pending.set(iterator, next)
    const result = await Promise.race([next, new Promise<undefined>(resolve => setImmediate(() => resolve(undefined)))])
    if (result === undefined) {
      return events
    }
    pending.delete(iterator)
    if (result.done) {
      return events
    }
    events.push(result.value)
  }
}

export const joins = (diff: Diff | WatchEvent | undefined): string[] =>
  diff !== undefined && 'joins' in diff ? diff.joins.map(presence => presence.key) : []
