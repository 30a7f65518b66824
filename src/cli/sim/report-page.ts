import { formatDuration } from '../durations.ts'
import { type Band, escapeHtml, formatMs, histogramChart, lineChart } from './charts.ts'
import type { CheckResult } from './checks.ts'
import { replicaName } from './fleet.ts'
import { PAGE_STYLE } from './page-style.ts'
import type { DetectionSummary, SimReport } from './report.ts'

/** The report as one HTML file that needs nothing else. */
export function renderPage(report: SimReport): string {
  const title = `Rollcall simulation: ${report.ok ? 'all checks passed' : 'a check failed'}`
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${PAGE_STYLE}</style>
<main>
<h1><span class="${report.ok ? 'ok' : 'bad'}">${report.ok ? '✓' : '✗'}</span> ${escapeHtml(title)}</h1>
<p class="lead">${lead(report)}</p>
<section class="tiles">${tiles(report)}</section>
<section><h2>Checks</h2>${report.checks.map(renderCheck).join('')}</section>
<section><h2>Latency</h2>
<p>From the call at the owning replica until another replica shows it, by one clock.</p>
${histogramChart('Joins, nothing broken between the two', report.measures.joins)}
${histogramChart('Leaves, nothing broken between the two', report.measures.leaves)}
${histogramChart('Until the last replica shows a join', report.measures.convergence)}
${histogramChart('Joins while something was broken, or of who had just left another replica', report.measures.joinsUnderFaults)}
</section>
<section><h2>Over time</h2>${curves(report)}</section>
<section><h2>Detection</h2>${detectionTable(report.detection)}${list('False suspicions', report.measures.falseSuspicions)}</section>
<section><h2>Faults</h2>${faultTable(report)}</section>
<section><h2>Replicas</h2>${replicaTable(report)}</section>
</main>
</html>
`
}

function lead({ settings, numbers, startedAt, version, node }: SimReport): string {
  return escapeHtml(
    `${settings.replicas} replicas, each its own process; ${settings.traceEvents} events of ${settings.trace} at ${+settings.speed.toPrecision(4)}× speed, ` +
      `driven for ${formatDuration(numbers.droveSeconds * 1_000)}, settled in ${formatDuration(numbers.settledSeconds * 1_000)}. ` +
      `Faults: ${settings.faults.join(', ') || 'none'}; seed ${settings.seed}; grace ${formatDuration(settings.graceMs)}. ${startedAt}, Rollcall ${version}, Node ${node}.`
  )
}

function tiles({ measures, numbers, faults }: SimReport): string {
  const rssMax = Math.max(...numbers.replicas.map(replica => replica.rssMaxMb))
  const all: [string, string][] = [
    ['join p50', formatMs(measures.joins.p50Ms)],
    ['join p99', formatMs(measures.joins.p99Ms)],
    ['converged p99', formatMs(measures.convergence.p99Ms)],
    ['operations', String(numbers.operations)],
    ['operations/s', numbers.operationsPerSecondMean.toFixed(0)],
    ['bytes per operation and peer', numbers.bytesPerOperationAndPeer.toFixed(0)],
    ['faults', String(faults.length)],
    ['stalls of the machine', `${numbers.stalls}, ${numbers.stalledSeconds.toFixed(1)} s`],
    ['false suspicions', String(measures.falseSuspicions.length)],
    ['memory of a replica, at most', `${rssMax.toFixed(0)} MB`]
  ]
  return all.map(([name, value]) => `<div><b>${escapeHtml(value)}</b><span>${escapeHtml(name)}</span></div>`).join('')
}

function renderCheck({ name, ok, looked, failures, examples }: CheckResult): string {
  const detail = looked === 0 ? 'never looked at' : ok ? `looked at ${looked} times` : `${failures} of ${looked} failed`
  const sign = looked === 0 ? '<span>–</span>' : ok ? '<span class="ok">✓</span>' : '<span class="bad">✗</span>'
  const shown = examples.map(example => `<li>${escapeHtml(example)}</li>`).join('')
  return `<div class="check">${sign} ${escapeHtml(name)} <i>${detail}</i>${shown && `<ul>${shown}</ul>`}</div>`
}

function curves({ numbers, faults }: SimReport): string {
  const seconds = numbers.droveSeconds
  const bands: Band[] = faults.map(fault => ({ ...fault }))
  const perReplica = (pick: 'listed' | 'rssMb') =>
    numbers.replicas.map((replica, index) => ({ name: replicaName(index), points: replica[pick] }))
  return [
    lineChart('Operations per second, and faults', '/s', [{ name: 'operations', points: numbers.operationsPerSecond }], seconds, bands),
    lineChart('Presences listed', '', perReplica('listed'), seconds, bands),
    lineChart('Memory', 'MB', perReplica('rssMb'), seconds)
  ].join('')
}

function detectionTable(detection: readonly DetectionSummary[]): string {
  if (detection.length === 0) {
    return '<p class="none">no faults</p>'
  }
  const cell = (ms: number | null): string => (ms === null ? '–' : formatMs(ms))
  return table(
    ['fault', 'pairs', 'not noticed', 'unknown after: median', 'at most', 'down after: median', 'at most'],
    detection.map(({ kind, pairs, unnoticed, unknownMedianMs, unknownMaxMs, downMedianMs, downMaxMs }) => [
      kind,
      String(pairs),
      String(unnoticed),
      cell(unknownMedianMs),
      cell(unknownMaxMs),
      cell(downMedianMs),
      cell(downMaxMs)
    ])
  )
}

function faultTable({ faults }: SimReport): string {
  return faults.length === 0
    ? '<p class="none">none</p>'
    : table(
        ['from', 'to', 'what'],
        faults.map(({ label, fromSeconds, toSeconds }) => [`${fromSeconds.toFixed(1)} s`, `${toSeconds.toFixed(1)} s`, label])
      )
}

function replicaTable({ numbers }: SimReport): string {
  return table(
    ['replica', 'memory at most', 'processor', 'event loop p99 at most'],
    numbers.replicas.map(({ rssMaxMb, cpuShare, loopP99MaxMs }, index) => [
      replicaName(index),
      `${rssMaxMb.toFixed(0)} MB`,
      `${(cpuShare * 100).toFixed(0)} %`,
      formatMs(loopP99MaxMs)
    ])
  )
}

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  `<table><tr>${head.map(name => `<th>${escapeHtml(name)}</th>`).join('')}</tr>${rows
    .map(row => `<tr>${row.map(value => `<td>${escapeHtml(value)}</td>`).join('')}</tr>`)
    .join('')}</table>`

const list = (title: string, items: readonly string[]): string =>
  items.length === 0 ? '' : `<h3>${escapeHtml(title)}</h3><ul>${items.map(item => `<li>${escapeHtml(item)}</li>`).join('')}</ul>`
