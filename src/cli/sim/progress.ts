import { SingleBar } from 'cli-progress'

const LINE_EVERY_MS = 5_000

/** A bar on a terminal, a line now and then elsewhere; always on standard error. */
export class Progress {
  readonly #bar: SingleBar | undefined
  #lastLineMs = 0
  #lastPhase = ''

  constructor(stream: NodeJS.WriteStream = process.stderr) {
    if (stream.isTTY) {
      this.#bar = new SingleBar({
        format: '{phase} {bar} {percentage}% {details}',
        stream,
        hideCursor: true,
        clearOnComplete: true,
        barsize: 24,
        linewrap: false,
        // The command ends by itself on a signal, after its processes.
        gracefulExit: false
      })
      this.#bar.start(100, 0, { phase: 'starting', details: '' })
    }
  }

  show(phase: string, done: number, details: string): void {
    if (this.#bar !== undefined) {
      this.#bar.update(Math.round(done * 100), { phase: phase.padEnd(8), details })
      return
    }
    const nowMs = performance.now()
    if (phase !== this.#lastPhase || nowMs - this.#lastLineMs >= LINE_EVERY_MS) {
      this.#lastPhase = phase
      this.#lastLineMs = nowMs
      console.error(`${phase} ${Math.round(done * 100)} %: ${details}`)
    }
  }

  stop(): void {
    this.#bar?.stop()
  }
}
