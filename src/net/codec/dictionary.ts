import { InvalidFrameError } from './invalid-frame-error.ts'

/**
 * Texts of a frame by first use. A reference is 0 for a text that is new, which is then the next one in the block of texts,
 * or its distance from the newest: 1 is the newest, 2 the one before. Runs of new texts and of one text cost nothing.
 */
export class DictionaryWriter {
  readonly #positions = new Map<string, number>()
  /** The new texts, in order. */
  readonly fresh: string[] = []

  constructor(known: readonly string[] = []) {
    for (const text of known) {
      this.#positions.set(text, this.#positions.size)
    }
  }

  reference(text: string): number {
    const position = this.#positions.get(text)
    if (position !== undefined) {
      return this.#positions.size - position
    }
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

/** How many rows of a column have this value: the number of new texts. */
export function countOf(values: Float64Array, wanted: number): number {
  let count = 0
  for (let i = 0; i < values.length; i++) {
    if (values[i] === wanted) {
      count++
    }
  }
  return count
}
