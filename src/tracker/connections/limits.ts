import { LimitError } from '../errors.ts'
import type { ResolvedOptions } from '../options.ts'

/** @throws LimitError when there are `count` of what `limits[name]` bounds, so that one more would be too many. */
export function checkLimit(limits: ResolvedOptions['limits'], name: keyof ResolvedOptions['limits'], count: number): void {
  if (count >= limits[name]) {
    throw new LimitError(name, limits[name])
  }
}
