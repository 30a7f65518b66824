import { InvalidOptionsError } from './errors.ts'

/** Reads one object of options: unknown names are refused, each value checked. */
export class OptionReader {
  readonly #prefix: string
  readonly #options: Record<string, unknown>

  constructor(prefix: string, options: object, known: readonly string[]) {
    if (typeof options !== 'object' || options === null) {
      throw new InvalidOptionsError(`${prefix === '' ? 'options' : prefix.slice(0, -1)} is ${String(options)}, allowed is an object`)
    }
    this.#prefix = prefix
    this.#options = options as Record<string, unknown>
    for (const name of Object.keys(options)) {
      if (!known.includes(name)) {
        throw new InvalidOptionsError(`unknown option ${prefix}${name}; known are ${known.join(', ')}`)
      }
    }
  }

  duration(name: string, fallback: number, min: number): number {
    return this.integer(name, fallback, min, 2 ** 31)
  }

  integer(name: string, fallback: number, min: number, max: number): number {
    const value = this.#options[name] ?? fallback
    if (!Number.isSafeInteger(value) || (value as number) < min || (value as number) > max) {
      throw this.#bad(name, value, `an integer from ${min} to ${max}`)
    }
    return value as number
  }

  number(name: string, fallback: number, min: number, max: number): number {
    const value = this.#options[name] ?? fallback
    if (typeof value !== 'number' || !(value >= min && value <= max)) {
      throw this.#bad(name, value, `a number from ${min} to ${max}`)
    }
    return value
  }

  text(name: string, fallback: string, min: number, max: number): string {
    const value = this.#options[name] ?? fallback
    if (typeof value !== 'string' || value.length < min || value.length > max || !value.isWellFormed()) {
      throw this.#bad(name, value, `a string of ${min} to ${max} characters`)
    }
    return value
  }

  flag(name: string, fallback: boolean): boolean {
    const value = this.#options[name] ?? fallback
    if (typeof value !== 'boolean') {
      throw this.#bad(name, value, 'true or false')
    }
    return value
  }

  #bad(name: string, value: unknown, allowed: string): InvalidOptionsError {
    const shown = typeof value === 'string' ? JSON.stringify(value) : String(value)
    return new InvalidOptionsError(`${this.#prefix}${name} is ${shown}, allowed is ${allowed}`)
  }
}
