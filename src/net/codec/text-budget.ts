import { checkText } from './byte-writer.ts'
import { InvalidFrameError } from './invalid-frame-error.ts'

/** What the texts of a block are, and how long each may be in UTF-8. */
export interface TextSpec {
  readonly field: string
  readonly minBytes: number
  readonly maxBytes: number
}

/** What a frame may still say in texts: sharing must not turn 64 KiB into gigabytes. */
export class TextBudget {
  readonly #max: number
  #spent = 0

  constructor(max: number) {
    this.#max = max
  }

  /** @throws InvalidFrameError when it is used up */
  spend(bytes: number, field: string): void {
    this.#spent += bytes
    if (this.#spent > this.#max) {
      throw new InvalidFrameError(field, `${this.#spent} bytes of text`, `at most ${this.#max} in a frame`)
    }
  }
}

/** Checks a text that is about to be written. @throws InvalidFrameError */
export function spendText(text: string, { field, minBytes, maxBytes }: TextSpec, budget: TextBudget): void {
  budget.spend(checkText(text, field, minBytes, maxBytes), field)
}
