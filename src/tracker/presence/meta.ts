import { canonicalize } from '../../crdt/index.ts'
import { InvalidMetaError, MetaTooBigError } from '../errors.ts'
import { utf8Bytes } from '../names.ts'
import type { Meta } from '../types.ts'

const CACHE_SIZE = 1_024
const EMPTY: Meta = Object.freeze({})

/**
 * A meta as the map keeps it: canonical JSON text.
 *
 * @throws InvalidMetaError when it is no plain object of plain values; MetaTooBigError above `maxBytes`.
 */
export function encodeMeta(meta: unknown, maxBytes: number): string {
  if (meta === undefined) {
    return '{}'
  }
  if (typeof meta !== 'object' || meta === null || Array.isArray(meta)) {
    throw new InvalidMetaError(
      `meta is ${meta === null ? 'null' : Array.isArray(meta) ? 'an array' : typeof meta}, allowed is a plain object`
    )
  }
  let text: string
  try {
    text = canonicalize(meta)
  } catch (error) {
    throw new InvalidMetaError(`meta: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
  const bytes = utf8Bytes(text, maxBytes)
  if (bytes > maxBytes) {
    throw new MetaTooBigError(utf8Bytes(text, Infinity), maxBytes)
  }
  return text
}

/** Turns texts back into frozen objects, the same object for the same recent text: most metas of a fleet are few. */
export class MetaDecoder {
  readonly #cache = new Map<string, Meta>()

  decode(text: string): Meta {
    if (text === '{}') {
      return EMPTY
    }
    const known = this.#cache.get(text)
    if (known !== undefined) {
      return known
    }
    const meta = deepFreeze(JSON.parse(text)) as Meta
    if (this.#cache.size >= CACHE_SIZE) {
      this.#cache.delete(this.#cache.keys().next().value as string)
    }
    this.#cache.set(text, meta)
    return meta
  }
}

/** The names whose values differ, sorted. */
export function changedNames(before: Meta, after: Meta): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names]
    .filter(name => !Object.hasOwn(before, name) || !Object.hasOwn(after, name) || !sameValue(before[name], after[name]))
    .sort()
}

const sameValue = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a) === JSON.stringify(b)

function deepFreeze(value: unknown): unknown {
  if (typeof value === 'object' && value !== null) {
    Object.values(value).forEach(deepFreeze)
    Object.freeze(value)
  }
  return value
}
