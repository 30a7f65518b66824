/** Durations as people write them: `250ms`, `90s`, `5m`, `1h30m`. The unit is always said, so that nobody mistakes 90 for 90 ms. */

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

/** For people: the largest unit that keeps the number short. `formatDuration(90_000)` is `1m 30s`. */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms)) {
    return '–'
  }
  if (ms < 0) {
    return `-${formatDuration(-ms)}`
  }
  if (ms < 1) {
    return ms === 0 ? '0ms' : `${ms.toPrecision(2)}ms`
  }
  if (ms < 1_000) {
    return `${ms < 10 ? trim(ms.toFixed(1)) : Math.round(ms)}ms`
  }
  if (ms < 60_000) {
    return `${trim((Math.floor(ms / 100) / 10).toFixed(1))}s`
  }
  const seconds = Math.floor(ms / 1_000)
  const parts: [number, string][] = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3_600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'm'],
    [seconds % 60, 's']
  ]
  const first = parts.findIndex(([amount]) => amount > 0)
  return parts
    .slice(first, first + 2)
    .filter(([amount]) => amount > 0)
    .map(([amount, unit]) => `${amount}${unit}`)
    .join(' ')
}

const trim = (text: string): string => text.replace(/\.0+$/, '')

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
