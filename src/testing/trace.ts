/** How many of its last events are kept per replica, to be printed with a failure. */
const KEPT = 20

/** A line of a trace longer than this is cut. */
const WIDTH = 400

interface Line {
  readonly atMs: number
  /** Renders the event, when somebody reads it. */
  readonly text: () => string
}

/** What happened, as a hash of everything and the last few events of each replica. */
export class Trace {
  #high = 0x811c9dc5
  #low = 0x9e3779b9
  readonly #last = new Map<string, Line[]>()

  /** Every byte of `parts` counts, and their order. */
  mix(...parts: readonly (string | number | Uint8Array)[]): void {
    for (const part of parts) {
      if (typeof part === 'number') {
        // Virtual time has fractions: a millionth of a millisecond must still count.
        this.#mixText(String(part))
      } else if (typeof part === 'string') {
        this.#mixText(part)
      } else {
        for (let i = 0; i < part.length; i++) {
          this.#mixUnit(part[i] as number)
        }
      }
      this.#mixUnit(0x1_00)
    }
  }

  remember(replica: string, atMs: number, text: () => string): void {
    let lines = this.#last.get(replica)
    if (lines === undefined) {
      lines = []
      this.#last.set(replica, lines)
    }
    lines.push({ atMs, text })
    if (lines.length > KEPT) {
      lines.shift()
    }
  }

  /** 16 hexadecimal digits. */
  get hash(): string {
    return [this.#high, this.#low].map(lane => (lane >>> 0).toString(16).padStart(8, '0')).join('')
  }

  /** The last events of each replica, one per line. */
  print(): string {
    return [...this.#last]
      .map(([replica, lines]) =>
        [`  ${replica}:`, ...lines.map(({ atMs, text }) => `    ${atMs.toFixed(1)} ${text().slice(0, WIDTH)}`)].join('\n')
      )
      .join('\n')
  }

  #mixText(text: string): void {
    for (let i = 0; i < text.length; i++) {
      this.#mixUnit(text.charCodeAt(i))
    }
  }

  #mixUnit(unit: number): void {
    this.#high = Math.imul(this.#high ^ unit, 0x01000193)
    this.#low = Math.imul((this.#low << 5) ^ (this.#low >>> 27) ^ unit, 0x85ebca6b)
  }
}
