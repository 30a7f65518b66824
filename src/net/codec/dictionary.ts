import { InvalidFrameError } from './invalid-frame-error.ts'
import { spendText, type TextBudget, type TextSpec } from './text-budget.ts'

/**
 * Texts of a frame by first use. A reference is 0 for a text that is new, which is then the next one in the block of texts,
 * or its distance from the newest: 1 is the newest, 2 the one before. Runs of new texts and of one text cost nothing.
 */
export class DictionaryWriter {
  readonly #positions = new Map<string, number>()
  readonly spec: TextSpec
  readonly #budget: TextBudget
  /** The new texts, in order. */
  readonly fresh: string[] = []

  constructor(spec: TextSpec, budget: TextBudget, known: readonly string[] = []) {
    this.spec = spec
    this.#budget = budget
    for (const text of known) {
      this.#positions.set(text, this.#positions.size)
    }
  }

  /** @throws InvalidFrameError for what is no text of the block, or past the budget */
  reference(text: string): number {
    const position = this.#positions.get(text)
    if (position !== undefined) {
      return this.#positions.size - position
    }
    spendText(text, this.spec, this.#budget)
    this.#positions.set(text, this.#positions.size)
    this.fresh.push(text)
    return 0
  }
}

export class DictionaryReader {
  readonly #texts: string[]
  readonly #fresh: readonly string[]
  #taken = 0

  /** `fresh` has as many texts as the references have zeros. */
  constructor(fresh: readonly string[], known: readonly string[] = []) {
    this.#texts = [...known]
    this.#fresh = fresh
  }

  /** @throws InvalidFrameError for a distance to before the first text */
  resolve(reference: number, field: string): string {
    const text = reference === 0 ? this.#fresh[this.#taken++] : this.#texts[this.#texts.length - reference]
    if (text === undefined) {
      throw new InvalidFrameError(field, reference, `at most ${this.#texts.length}, the texts so far`)
    }
    if (reference === 0) {
      this.#texts.push(text)
    }
    return text
  }
}
