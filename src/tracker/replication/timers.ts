import type { Cancel, Environment } from '../environment.ts'

/** The timers of one owner: each task is a step of it; all of them end together, and none runs afterwards. */
export class Timers {
  readonly #environment: Environment
  readonly #step: (run: () => void) => void
  readonly #pending = new Set<Cancel>()
  #stopped = false

  constructor(environment: Environment, step: (run: () => void) => void) {
    this.#environment = environment
    this.#step = step
  }

  /** How many are set. */
  get size(): number {
    return this.#pending.size
  }

  /** Runs `task` once, `delayMs` from now. Does nothing once stopped. */
  schedule(delayMs: number, task: () => void): Cancel {
    if (this.#stopped) {
      return () => {}
    }
    const cancel = this.#environment.schedule(Math.max(0, delayMs), () => {
      this.#pending.delete(end)
      this.#step(task)
    })
    const end = (): void => {
      if (this.#pending.delete(end)) {
        cancel()
      }
    }
    this.#pending.add(end)
    return end
  }

  /** Runs `task` again and again, each time `periodMs` ± `jitter` (a fraction) later: replicas do not fall into step. */
  repeat(periodMs: number, jitter: number, task: () => void): void {
    const delayMs = periodMs * (1 + jitter * (2 * this.#environment.random.nextFloat() - 1))
    this.schedule(delayMs, () => {
      this.repeat(periodMs, jitter, task)
      task()
    })
  }

  stop(): void {
    this.#stopped = true
    for (const end of [...this.#pending]) {
      end()
    }
  }
}
