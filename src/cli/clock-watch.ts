/** The wall clock, and whether somebody moved it. */
export interface ClockReading {
  readonly wallMs: number
  /** By how much the wall clock has moved against the monotonic one since the start: steps and slewing by NTP. */
  readonly steppedMs: number
}

/** Tells whether somebody moved the wall clock while the process ran. It decides nothing in Rollcall; people read times by it. */
export class ClockWatch {
  readonly #offsetMs: number
  readonly #wall: () => number
  readonly #mono: () => number

  constructor(wall: () => number = Date.now, mono: () => number = () => performance.now()) {
    this.#wall = wall
    this.#mono = mono
    this.#offsetMs = wall() - mono()
  }

  read(): ClockReading {
    const wallMs = this.#wall()
    return { wallMs, steppedMs: Math.round(wallMs - this.#mono() - this.#offsetMs) }
  }
}
