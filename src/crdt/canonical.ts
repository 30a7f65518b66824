import { InvalidMetaError } from './errors.ts'

/** Objects and arrays inside one another, the outermost included. */
export const MAX_META_DEPTH = 8

/**
 * The canonical JSON text of a plain value: equal values have equal texts. Keys are sorted by UTF-16 code units, −0 is 0,
 * properties that are undefined are left out, nothing is escaped that need not be.
 *
 * Names such as `__proto__` are ordinary.
 *
 * @param name what a message calls the value; default `meta`
 * @throws InvalidMetaError for anything that JSON would lose or change: functions, symbols, bigints, undefined in arrays, NaN and
 * infinities, instances of classes (Date, Map, …), cycles, more than 8 levels, lone surrogates
 */
export function canonicalize(value: unknown, name = 'meta'): string {
  return write(value, name, [])
}

function write(value: unknown, path: string, ancestors: object[]): string {
  switch (typeof value) {
    case 'string':
      return writeText(value, path)
    case 'boolean':
      return value ? 'true' : 'false'
    case 'number':
      if (!Number.isFinite(value)) {
        throw new InvalidMetaError(path, value, 'a finite number')
      }
      return String(value + 0)
    case 'object':
      return value === null ? 'null' : writeNested(value, path, ancestors)
    default:
      throw new InvalidMetaError(path, value, 'a plain value: object, array, string, finite number, boolean or null')
  }
}

function writeText(text: string, path: string): string {
  if (!text.isWellFormed()) {
    throw new InvalidMetaError(path, text, 'text without lone surrogates')
  }
  return JSON.stringify(text)
}

function writeNested(value: object, path: string, ancestors: object[]): string {
  if (ancestors.includes(value)) {
    throw new InvalidMetaError(path, value, 'a value that does not contain itself')
  }
  if (ancestors.length === MAX_META_DEPTH) {
    throw new InvalidMetaError(path, value, `at most ${MAX_META_DEPTH} levels of objects and arrays`)
  }
  ancestors.push(value)
  const text = Array.isArray(value) ? writeArray(value, path, ancestors) : writeObject(value, path, ancestors)
  ancestors.pop()
  return text
}

function writeArray(values: readonly unknown[], path: string, ancestors: object[]): string {
  const parts: string[] = []
  for (let i = 0; i < values.length; i++) {
    parts.push(write(values[i], `${path}[${i}]`, ancestors))
  }
  return `[${parts.join(',')}]`
}

function writeObject(value: object, path: string, ancestors: object[]): string {
  if (!isPlain(value)) {
    throw new InvalidMetaError(path, value, 'a plain object, not the instance of a class')
  }
  if (Object.getOwnPropertySymbols(value).length > 0) {
    throw new InvalidMetaError(path, value, 'an object whose keys are strings')
  }
  const parts: string[] = []
  for (const key of Object.keys(value).sort()) {
    const item: unknown = (value as Record<string, unknown>)[key]
    if (item !== undefined) {
      parts.push(`${writeText(key, path)}:${write(item, `${path}.${key}`, ancestors)}`)
    }
  }
  return `{${parts.join(',')}}`
}

/** Its prototype is a root: `Object.prototype`, also that of another realm, or none at all. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}
