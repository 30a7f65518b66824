import { canonicalize, MAX_META_DEPTH } from '../../crdt/canonical.ts'
import { InvalidFrameError } from './invalid-frame-error.ts'

/** The meta of those who set none: it is known to every frame. */
export const NO_META = '{}'

/**
 * Refuses a text that is not what `canonicalize` makes of an object: two texts of one meta would give two hashes for one
 * content. The depth is bounded there before it recurses; JSON.parse does not recurse.
 *
 * @throws InvalidFrameError
 */
export function checkMeta(meta: string): void {
  if (meta.charCodeAt(0) !== NO_META.charCodeAt(0) || canonical(meta) !== meta) {
    throw new InvalidFrameError('adds.meta', meta, `the canonical JSON text of an object of at most ${MAX_META_DEPTH} levels`)
  }
}

function canonical(meta: string): string | undefined {
  try {
    return canonicalize(JSON.parse(meta))
  } catch {
    return undefined
  }
}
