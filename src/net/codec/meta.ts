import { MAX_META_DEPTH } from '../../crdt/canonical.ts'
import { InvalidFrameError } from './invalid-frame-error.ts'

/** The meta of those who set none: it is known to every frame. */
export const NO_META = '{}'

/**
 * Refuses a text that is not what `canonicalize` makes of an object: two texts of one meta would be two hashes of one content.
 *
 * @param meta well-formed text
 * @throws InvalidFrameError
 */
export function checkMeta(meta: string): void {
  if (!isCanonicalObject(meta)) {
    throw new InvalidFrameError('adds.meta', meta, `the canonical JSON text of an object of at most ${MAX_META_DEPTH} levels`)
  }
}

/** Same answer as to parse, canonicalize and compare, in one pass over the text and without building the value. */
function isCanonicalObject(text: string): boolean {
  const scanner = new CanonicalScanner(text)
  return scanner.takeObject(1) && scanner.atEnd
}

const QUOTE = 0x22
const COMMA = 0x2c
const MINUS = 0x2d
const COLON = 0x3a
const BRACKET = 0x5b
const BACKSLASH = 0x5c
const CLOSING_BRACKET = 0x5d
const BRACE = 0x7b
const CLOSING_BRACE = 0x7d
const SPACE = 0x20
const NUMBER = /-?[0-9.eE+-]+/y

/** Each `take` moves behind one item and returns whether it was canonical. The depth is checked before the recursion. */
class CanonicalScanner {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  get atEnd(): boolean {
    return this.#at === this.#text.length
  }

  takeObject(depth: number): boolean {
    if (depth > MAX_META_DEPTH || !this.#take(BRACE)) {
      return false
    }
    let previous: string | undefined
    while (!this.#take(CLOSING_BRACE)) {
      if (previous !== undefined && !this.#take(COMMA)) {
        return false
      }
      const key = this.#takeText()
      if (key === undefined || (previous !== undefined && previous >= key) || !this.#take(COLON) || !this.#takeValue(depth)) {
        return false
      }
      previous = key
    }
    return true
  }

  #takeArray(depth: number): boolean {
    if (depth > MAX_META_DEPTH || !this.#take(BRACKET)) {
      return false
    }
    for (let first = true; !this.#take(CLOSING_BRACKET); first = false) {
      if ((!first && !this.#take(COMMA)) || !this.#takeValue(depth)) {
        return false
      }
    }
    return true
  }

  #takeValue(depth: number): boolean {
    const code = this.#text.charCodeAt(this.#at)
    switch (code) {
      case QUOTE:
        return this.#takeText() !== undefined
      case BRACE:
        return this.takeObject(depth + 1)
      case BRACKET:
        return this.#takeArray(depth + 1)
      default:
        return code === MINUS || (code >= 0x30 && code <= 0x39) ? this.#takeNumber() : this.#takeWord()
    }
  }

  #take(code: number): boolean {
    const taken = this.#text.charCodeAt(this.#at) === code
    this.#at += taken ? 1 : 0
    return taken
  }

  /** What the text says, or undefined. */
  #takeText(): string | undefined {
    if (!this.#take(QUOTE)) {
      return undefined
    }
    const start = this.#at
    let escaped = false
    for (;;) {
      const code = this.#text.charCodeAt(this.#at++)
      if (code === QUOTE) {
        return escaped ? unescaped(this.#text.slice(start - 1, this.#at)) : this.#text.slice(start, this.#at - 1)
      }
      // Control characters must be escaped; past the end the code is NaN.
      if (!(code >= SPACE)) {
        return undefined
      }
      if (code === BACKSLASH) {
        escaped = true
        this.#at++
      }
    }
  }

  #takeNumber(): boolean {
    NUMBER.lastIndex = this.#at
    const digits = NUMBER.exec(this.#text)?.[0] ?? ''
    this.#at += digits.length
    return String(Number(digits)) === digits
  }

  #takeWord(): boolean {
    const word = ['true', 'false', 'null'].find(one => this.#text.startsWith(one, this.#at))
    this.#at += word?.length ?? 0
    return word !== undefined
  }
}

/** A quoted text with escapes, when it has those that it needs and no others. */
function unescaped(quoted: string): string | undefined {
  try {
    const text = JSON.parse(quoted) as string
    return text.isWellFormed() && JSON.stringify(text) === quoted ? text : undefined
  } catch {
    return undefined
  }
}
