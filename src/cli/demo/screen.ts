const ENTER = '\u001b[?1049h\u001b[?25l'
const LEAVE = '\u001b[?25h\u001b[?1049l'
const HOME = '\u001b[H'
const CLEAR_LINE = '\u001b[K'
const CLEAR_BELOW = '\u001b[J'

/** A terminal drawn as a whole. The lines that were there before come back when it is closed. */
export class Screen {
  readonly #stream: NodeJS.WriteStream
  #open = false

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream
  }

  get width(): number {
    return Math.max(40, this.#stream.columns ?? 80)
  }

  get height(): number {
    return Math.max(10, this.#stream.rows ?? 24)
  }

  draw(lines: readonly string[]): void {
    const enter = this.#open ? '' : ENTER
    this.#open = true
    this.#stream.write(enter + HOME + lines.map(line => line + CLEAR_LINE).join('\n') + CLEAR_BELOW)
  }

  /** Safe to call twice. */
  close(): void {
    if (this.#open) {
      this.#open = false
      this.#stream.write(LEAVE)
    }
  }
}
