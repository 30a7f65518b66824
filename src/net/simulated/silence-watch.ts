import type { Environment } from '../../tracker/environment.ts'

export interface SilenceWatchOptions {
  readonly environment: Environment
  readonly timeoutMs: number
  /** Since when acknowledgements cannot come; undefined when they can. */
  silentSinceMs(): number | undefined
  /** Called once. */
  onTimeout(): void
}

/** As TCP: who sends, and hears no acknowledgement for `timeoutMs`, gives the link up. */
export class SilenceWatch {
  readonly #options: SilenceWatchOptions
  #watching = false
  #ended = false

  constructor(options: SilenceWatchOptions) {
    this.#options = options
  }

  /** Something was sent. */
  sent(): void {
    const sinceMs = this.#options.silentSinceMs()
    if (this.#watching || this.#ended || sinceMs === undefined) {
      return
    }
    this.#watching = true
    this.#options.environment.schedule(this.#options.timeoutMs, () => {
      this.#watching = false
      if (sinceMs !== this.#options.silentSinceMs()) {
        this.sent()
      } else if (!this.#ended) {
        this.#ended = true
        this.#options.onTimeout()
      }
    })
  }

  /** The link is closed. */
  end(): void {
    this.#ended = true
  }
}
