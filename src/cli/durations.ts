/** Durations as people write them: `250ms`, `90s`, `5m`, `1h30m`. The unit is always said, so that nobody mistakes 90 for 90 ms. */

export { formatDuration } from '../net/format-duration.ts'

const UNITS_MS: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000]
])

/** Completes "allowed: …". */
export const DURATION_ALLOWED = 'a duration with its unit, such as 250ms, 90s, 5m, 1h30m or 1d'

/** Milliseconds, or undefined when the text is no duration. `0` needs no unit. */
export function parseDuration(text: string): number | undefined {
  if (text === '0') {
    return 0
  }
  if (!/^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(text)) {
    return undefined
  }
  let totalMs = 0
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)) {
    totalMs += Number(amount) * (UNITS_MS.get(unit as string) as number)
  }
  return Number.isFinite(totalMs) ? totalMs : undefined
}

/** As one writes it on the command line; parses back to the same number of milliseconds. */
export function writeDuration(ms: number): string {
  if (ms === 0) {
    return '0'
  }
  for (const unit of ['d', 'h', 'm', 's']) {
    const size = UNITS_MS.get(unit) as number
    if (ms % size === 0) {
      return `${ms / size}${unit}`
    }
  }
  return `${ms}ms`
}
