/** Whether a socket reads what it is sent. INV-94: above the limit nothing is sent to it until it has read half of that. */
export class Backlog {
  readonly #maxBytes: number
  #sinceMs: number | null = null

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get isBehind(): boolean {
    return this.#sinceMs !== null
  }

  takes(bufferedBytes: number): boolean {
    if (this.#sinceMs === null && bufferedBytes > this.#maxBytes) {
      this.#sinceMs = performance.now()
    }
    return this.#sinceMs === null
  }

  /** True when it was behind, and has read. */
  hasRead(bufferedBytes: number): boolean {
    if (this.takes(bufferedBytes) || bufferedBytes > this.#maxBytes / 2) {
      return false
    }
    this.#sinceMs = null
    return true
  }

  /** For how long it has been behind, in ms; 0 when it is not. */
  behindMs(nowMs: number): number {
    return this.#sinceMs === null ? 0 : nowMs - this.#sinceMs
  }
}
