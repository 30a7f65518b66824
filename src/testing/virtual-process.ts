import type { Cancel, Environment, Random } from '../tracker/environment.ts'
import type { VirtualClock } from './virtual-clock.ts'

export interface VirtualProcessOptions {
  readonly clock: VirtualClock
  readonly random: Random
  /** What the wall clock shows at the start, in ms since 1970. */
  readonly wallClockMs: number
  /** Called after each task of this process: invariants are checked here. */
  readonly onRan?: () => void
}

/** A timer that came due while the process stood still. */
interface Overdue {
  readonly run: () => void
  cancelled: boolean
}

/**
 * One operating system process under virtual time: two clocks, timers, an input queue. It can stand still (a long garbage collection,
 * SIGSTOP, a sleeping laptop), go on, and die.
 *
 * A process that goes on runs its overdue timers first and reads its input afterwards, as Node's event loop does. Whoever judges
 * peers in a timer must therefore notice that it is late.
 */
export class VirtualProcess {
  /** What the code inside sees of the world. */
  readonly environment: Environment
  readonly #clock: VirtualClock
  readonly #onRan: () => void
  readonly #monotonicOffsetMs: number
  #wallOffsetMs: number
  #state: 'running' | 'paused' | 'dead' = 'running'
  #overdue: Overdue[] = []
  #input: (() => void)[] = []
  #timers = 0

  constructor({ clock, random, wallClockMs, onRan = () => {} }: VirtualProcessOptions) {
    this.#clock = clock
    this.#onRan = onRan
    this.#monotonicOffsetMs = random.fork('monotonic').below(1_000_000_000)
    this.#wallOffsetMs = wallClockMs - clock.nowMs
    this.environment = {
      monotonicMs: () => this.monotonicMs(),
      wallClockMs: () => this.wallClockMs(),
      random: random.fork('environment'),
      schedule: (delayMs, task) => this.schedule(delayMs, task)
    }
  }

  get state(): 'running' | 'paused' | 'dead' {
    return this.#state
  }

  /** Timers that are set, overdue ones included. */
  get timers(): number {
    return this.#timers
  }

  /** Grows also while the process stands still, from an origin that differs from process to process. */
  monotonicMs(): number {
    return this.#clock.nowMs + this.#monotonicOffsetMs
  }

  wallClockMs(): number {
    return Math.floor(this.#clock.nowMs + this.#wallOffsetMs)
  }

  /** The wall clock jumps: forwards, or back with a negative number. */
  shiftWallClock(byMs: number): void {
    this.#wallOffsetMs += byMs
  }

  schedule(delayMs: number, task: () => void): Cancel {
    if (this.#state === 'dead') {
      return () => {}
    }
    this.#timers++
    const timer: Overdue = {
      cancelled: false,
      run: () => {
        if (!timer.cancelled) {
          timer.cancelled = true
          this.#timers--
          this.#run(task)
        }
      }
    }
    const cancelWaiting = this.#clock.after(delayMs, () => this.#due(timer))
    return () => {
      if (!timer.cancelled && this.#state !== 'dead') {
        timer.cancelled = true
        this.#timers--
        cancelWaiting()
      }
    }
  }

  /** Input from outside (a frame, a request): handled now, or when the process goes on; lost when it is dead. */
  input(task: () => void): void {
    if (this.#state === 'running' && this.#input.length === 0) {
      this.#run(task)
    } else if (this.#state !== 'dead') {
      this.#input.push(task)
    }
  }

  pause(): void {
    if (this.#state === 'running') {
      this.#state = 'paused'
    }
  }

  resume(): void {
    if (this.#state !== 'paused') {
      return
    }
    this.#state = 'running'
    const overdue = this.#overdue
    this.#overdue = []
    for (const timer of overdue) {
      this.#clock.after(0, () => this.#due(timer))
    }
    this.#readLater()
  }

  /** SIGKILL: nothing of it ever runs again. */
  kill(): void {
    this.#state = 'dead'
    this.#overdue = []
    this.#input = []
    this.#timers = 0
  }

  #due(timer: Overdue): void {
    if (this.#state === 'running') {
      timer.run()
    } else if (this.#state === 'paused' && !timer.cancelled) {
      this.#overdue.push(timer)
    }
  }

  /** Reads what is queued, one by one. What arrives meanwhile goes behind it: a stream does not overtake itself. */
  #readLater(): void {
    if (this.#input.length > 0) {
      this.#clock.after(0, () => {
        if (this.#state === 'running' && this.#input.length > 0) {
          const task = this.#input[0] as () => void
          this.#run(task)
          this.#input.shift()
          this.#readLater()
        }
      })
    }
  }

  #run(task: () => void): void {
    task()
    this.#onRan()
  }
}
