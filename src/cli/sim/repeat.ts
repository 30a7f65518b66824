import { setTimeout } from 'node:timers/promises'

/** Something that is done again and again. */
export interface Repetition {
  /** No further round begins. */
  stop(): void
  /** Resolves when the last round is over; rejects when one failed. */
  readonly done: Promise<void>
}

/** Does `task` every so often, one at a time: a round that takes longer delays the next. */
export function repeat(everyMs: number, task: () => Promise<void>): Repetition {
  const stopped = new AbortController()
  const loop = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      await setTimeout(everyMs, undefined, { signal: stopped.signal }).catch(() => undefined)
      if (!stopped.signal.aborted) {
        await task()
      }
    }
  }
  return { stop: () => stopped.abort(), done: loop() }
}
