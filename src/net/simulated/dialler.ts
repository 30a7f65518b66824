import type { Cancel, Random } from '../../tracker/environment.ts'

/** Where a transport lives, as a host and port would say: not the id that it proves. */
export type Address = string

/** How redials are spaced. */
export interface RedialOptions {
  /** After the first failure; doubles with each further one. Default 100 ms. */
  readonly initialMs: number
  /** Default 1,000 ms. */
  readonly maxMs: number
  /** A link that lasted so long was a success. Default 5,000 ms. */
  readonly resetAfterMs: number
}

interface Target {
  failures: number
  wait: Cancel | undefined
}

export interface DiallerOptions {
  readonly redial: RedialOptions
  readonly random: Random
  schedule(delayMs: number, task: () => void): Cancel
  /** Tries once; ends in `linked` or `failed`. */
  dial(address: Address): void
}

/** Keeps on dialling every address that has no link: doubling waits, each cut to a random 50 to 100 per cent of itself. */
export class Dialler {
  readonly #options: DiallerOptions
  readonly #targets = new Map<Address, Target>()
  #stopped = false

  constructor(options: DiallerOptions) {
    this.#options = options
  }

  /** Begins with `address`, after at most `withinMs`. */
  watch(address: Address, withinMs: number): void {
    if (!this.#stopped && !this.#targets.has(address)) {
      const target: Target = { failures: 0, wait: undefined }
      this.#targets.set(address, target)
      this.#dialIn(address, target, this.#options.random.nextFloat() * withinMs)
    }
  }

  linked(address: Address): void {
    const target = this.#targets.get(address)
    target?.wait?.()
    if (target !== undefined) {
      target.wait = undefined
    }
  }

  /** The link to `address` is gone after `lastedMs`. */
  lost(address: Address, lastedMs: number): void {
    const target = this.#targets.get(address)
    if (target !== undefined && lastedMs >= this.#options.redial.resetAfterMs) {
      target.failures = 0
    }
    this.failed(address)
  }

  failed(address: Address): void {
    const target = this.#targets.get(address)
    if (target !== undefined && target.wait === undefined) {
      const { initialMs, maxMs } = this.#options.redial
      const waitMs = Math.min(maxMs, initialMs * 2 ** Math.min(target.failures++, 30))
      this.#dialIn(address, target, waitMs * (0.5 + this.#options.random.nextFloat() / 2))
    }
  }

  stop(): void {
    this.#stopped = true
    for (const target of this.#targets.values()) {
      target.wait?.()
    }
    this.#targets.clear()
  }

  #dialIn(address: Address, target: Target, delayMs: number): void {
    target.wait = this.#options.schedule(delayMs, () => {
      target.wait = undefined
      this.#options.dial(address)
    })
  }
}
