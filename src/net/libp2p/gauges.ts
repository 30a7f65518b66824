import type { Cancel, Environment } from '../../tracker/environment.ts'

/** The largest value since it was last read. */
export class MaxGauge {
  #max = 0

  observe(value: number): void {
    if (value > this.#max) {
      this.#max = value
    }
  }

  take(): number {
    const max = this.#max
    this.#max = 0
    return max
  }
}

/**
 * The environment, with what is scheduled timed: how late it ran says how busy the event loop is, how long it ran what sweeps, flushes and
 * judgements cost.
 */
export function timedEnvironment(environment: Environment, lateMs: MaxGauge, taskMs: MaxGauge): Environment {
  return {
    monotonicMs: () => environment.monotonicMs(),
    wallClockMs: () => environment.wallClockMs(),
    random: environment.random,
    schedule(delayMs: number, task: () => void): Cancel {
      const dueMs = environment.monotonicMs() + delayMs
      return environment.schedule(delayMs, () => {
        const startMs = environment.monotonicMs()
        lateMs.observe(startMs - dueMs)
        try {
          task()
        } finally {
          taskMs.observe(environment.monotonicMs() - startMs)
        }
      })
    }
  }
}
