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
