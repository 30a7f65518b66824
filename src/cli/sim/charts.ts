import type { LatencySummary } from './latency.ts'
import type { Point } from './run-log.ts'

/** Charts as inline SVG: no script, no font, nothing fetched. Colours come from the page's style sheet. */

const WIDTH = 720
const HEIGHT = 200
const LEFT = 56
const BOTTOM = 28
const TOP = 10
const PLOT_WIDTH = WIDTH - LEFT - 12
const PLOT_HEIGHT = HEIGHT - TOP - BOTTOM

/** One curve. */
export interface Series {
  readonly name: string
  readonly points: readonly Point[]
}

/** Spans of time drawn behind the curves, such as faults. */
export interface Band {
  readonly label: string
  readonly kind: string
  readonly fromSeconds: number
  readonly toSeconds: number
}

/** For text and attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, char => `&#${char.charCodeAt(0)};`)
}

/** Curves over the seconds of the run. */
export function lineChart(title: string, unit: string, series: readonly Series[], seconds: number, bands: readonly Band[] = []): string {
  const top = niceCeiling(Math.max(1, ...series.flatMap(({ points }) => points.map(([, value]) => value))))
  const x = (at: number): number => LEFT + (Math.min(at, seconds) / Math.max(1, seconds)) * PLOT_WIDTH
  const y = (value: number): number => TOP + PLOT_HEIGHT * (1 - value / top)
  const drawn = series.map(({ points }, index) => {
    const path = points.map(([at, value], i) => `${i === 0 ? 'M' : 'L'}${x(at).toFixed(1)} ${y(value).toFixed(1)}`).join('')
    return `<path class="line s${index % 6}" d="${path}"/>`
  })
  const legend =
    series.length > 1 ? series.map(({ name }, index) => `<span class="key s${index % 6}">${escapeHtml(name)}</span>`).join(' ') : ''
  const marks = bands.map(band => drawBand(band, x(band.fromSeconds), x(band.toSeconds)))
  return figure(title, svg([...marks, ...yAxis(top, unit), ...secondsAxis(seconds), ...drawn]), legend)
}

/** A histogram whose buckets grow by a constant factor. */
export function histogramChart(title: string, { buckets, p50Ms, p99Ms, count }: LatencySummary): string {
  if (count === 0) {
    return figure(title, '<p class="none">nothing was measured</p>')
  }
  const top = niceCeiling(Math.max(...buckets.map(bucket => bucket.count)))
  const width = PLOT_WIDTH / buckets.length
  const bars = buckets.map((bucket, index) => {
    const height = (bucket.count / top) * PLOT_HEIGHT
    const label = `up to ${formatMs(bucket.toMs)}: ${bucket.count}`
    return `<rect class="bar" x="${(LEFT + index * width).toFixed(1)}" y="${(TOP + PLOT_HEIGHT - height).toFixed(1)}" width="${Math.max(1, width - 2).toFixed(1)}" height="${height.toFixed(1)}"><title>${label}</title></rect>`
  })
  const every = Math.ceil(buckets.length / 9)
  const labels = buckets.flatMap((bucket, index) => (index % every === 0 ? [tick(LEFT + (index + 1) * width, formatMs(bucket.toMs))] : []))
  const caption = `p50 ${formatMs(p50Ms)}, p99 ${formatMs(p99Ms)}, ${count} samples`
  return figure(title, svg([...yAxis(top, ''), ...bars, ...labels]), caption)
}

/** `0.50 ms`, `12.3 s`. */
export function formatMs(ms: number): string {
  return ms < 1
    ? `${ms.toFixed(2)} ms`
    : ms < 100
      ? `${ms.toFixed(1)} ms`
      : ms < 10_000
        ? `${Math.round(ms)} ms`
        : `${(ms / 1_000).toFixed(1)} s`
}

function drawBand({ label, kind }: Band, from: number, to: number): string {
  const width = Math.max(1.5, to - from)
  return `<rect class="band ${escapeHtml(kind)}" x="${from.toFixed(1)}" y="${TOP}" width="${width.toFixed(1)}" height="${PLOT_HEIGHT}"><title>${escapeHtml(label)}</title></rect>`
}

function yAxis(top: number, unit: string): string[] {
  return [0, 0.5, 1].map(share => {
    const at = TOP + PLOT_HEIGHT * (1 - share)
    const label = `${compact(top * share)}${share === 1 && unit !== '' ? ` ${unit}` : ''}`
    return `<line class="grid" x1="${LEFT}" x2="${WIDTH - 12}" y1="${at}" y2="${at}"/><text class="y" x="${LEFT - 6}" y="${at + 4}">${label}</text>`
  })
}

function secondsAxis(seconds: number): string[] {
  const step = niceCeiling(Math.max(1, seconds / 8))
  const labels: string[] = []
  for (let at = 0; at <= seconds; at += step) {
    labels.push(tick(LEFT + (at / Math.max(1, seconds)) * PLOT_WIDTH, `${at} s`))
  }
  return labels
}

const tick = (x: number, label: string): string => `<text class="x" x="${x.toFixed(1)}" y="${HEIGHT - 8}">${label}</text>`
const svg = (parts: readonly string[]): string => `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img">${parts.join('')}</svg>`
const figure = (title: string, body: string, caption = ''): string =>
  `<figure><h3>${escapeHtml(title)}</h3>${body}${caption === '' ? '' : `<figcaption>${caption}</figcaption>`}</figure>`

const compact = (value: number): string =>
  value >= 1e6 ? `${+(value / 1e6).toPrecision(3)}M` : value >= 1e4 ? `${+(value / 1e3).toPrecision(3)}k` : String(+value.toPrecision(3))

/** The next of 1, 2, 5 × 10ⁿ. */
function niceCeiling(value: number): number {
  const size = 10 ** Math.floor(Math.log10(value))
  const factor = [1, 2, 5, 10].find(step => step * size >= value) ?? 10
  return factor * size
}
