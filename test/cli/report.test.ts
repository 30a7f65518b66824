import { describe, expect, test } from 'vitest'
import { formatMs, histogramChart, lineChart } from '../../src/cli/sim/charts.ts'
import { LatencyHistogram } from '../../src/cli/sim/latency.ts'
import type { SimReport } from '../../src/cli/sim/report.ts'
import { renderPage } from '../../src/cli/sim/report-page.ts'

const report = (more: Partial<SimReport> = {}): SimReport => ({
  ok: true,
  startedAt: '2026-01-01T00:00:00.000Z',
  version: '1.2.3',
  node: 'v26',
  settings: { replicas: 3, trace: '<b>evil</b> & co', traceEvents: 10, speed: 2, seed: 1, faults: ['kill'], graceMs: 15_000 },
  checks: [
    { name: 'no ghost', ok: true, looked: 5, failures: 0, examples: [] },
    { name: 'no loss', ok: false, looked: 9, failures: 2, examples: ['a lists <script>'] },
    { name: 'folds', ok: true, looked: 0, failures: 0, examples: [] }
  ],
  numbers: {
    droveSeconds: 10,
    settledSeconds: 2,
    operationsPerSecond: [
      [0, 5],
      [1, 7]
    ],
    wireBytes: 1_000,
    isolatedTimes: 0,
    replicas: [{ listed: [[1, 5]], rssMb: [[1, 100]], rssMaxMb: 100, loopP99MaxMs: 12, cpuShare: 0.1, stats: {} }],
    operations: 12,
    operationsPerSecondMean: 6,
    bytesPerOperationAndPeer: 41.6,
    stalls: 0,
    stalledSeconds: 0,
    surprises: {}
  },
  measures: {
    joins: new LatencyHistogram().summary(),
    joinsUnderFaults: new LatencyHistogram().summary(),
    leaves: new LatencyHistogram().summary(),
    convergence: new LatencyHistogram().summary(),
    detections: [],
    falseSuspicions: ['a suspected b'],
    falseLeaves: []
  },
  detection: [{ kind: 'kill', pairs: 2, unnoticed: 1, unknownMedianMs: 300, unknownMaxMs: 400, downMedianMs: null, downMaxMs: null }],
  faults: [{ label: 'kill b', kind: 'kill', fromSeconds: 2, toSeconds: 4 }],
  ...more
})

describe('LatencyHistogram', () => {
  test('percentiles within a thousandth, buckets that add up and hold what lies in them', () => {
    const histogram = new LatencyHistogram()
    const values = Array.from({ length: 1_000 }, (_, index) => (index + 1) / 10)
    for (const value of values) {
      histogram.record(value)
    }
    const { count, p50Ms, p99Ms, maxMs, buckets } = histogram.summary()
    expect(count).toBe(1_000)
    expect(Math.abs(p50Ms - 50)).toBeLessThan(0.1)
    expect(Math.abs(p99Ms - 99)).toBeLessThan(0.15)
    expect(Math.abs(maxMs - 100)).toBeLessThan(0.15)
    let before = 0
    let total = 0
    for (const bucket of buckets) {
      const inside = values.filter(value => value > before && value <= bucket.toMs).length
      expect(Math.abs(bucket.count - inside)).toBeLessThanOrEqual(1)
      total += bucket.count
      before = bucket.toMs
    }
    expect(total).toBe(1_000)
  })

  test('nothing recorded: zeros and no buckets; negative and huge values do not break it', () => {
    const histogram = new LatencyHistogram()
    expect(histogram.summary()).toEqual({ count: 0, p50Ms: 0, p90Ms: 0, p99Ms: 0, maxMs: 0, buckets: [] })
    histogram.record(-1)
    histogram.record(1e12)
    expect(histogram.summary().count).toBe(2)
  })
})

describe('charts', () => {
  test('a histogram has a bar for each bucket, a curve a point for each point; all within the picture', () => {
    const histogram = new LatencyHistogram()
    for (const ms of [1, 2, 2, 3, 50]) {
      histogram.record(ms)
    }
    const summary = histogram.summary()
    const bars = histogramChart('Joins', summary)
    expect(bars.match(/class="bar"/g)).toHaveLength(summary.buckets.length)
    const curve = lineChart(
      'Listed',
      '',
      [
        {
          name: 'a',
          points: [
            [0, 1],
            [5, 3],
            [10, 2]
          ]
        }
      ],
      10,
      [{ label: 'kill b', kind: 'kill', fromSeconds: 2, toSeconds: 999 }]
    )
    expect(curve.match(/[ML]\d/g)).toHaveLength(3)
    for (const [, name, value] of `${bars}${curve}`.matchAll(/ (x|y|width|height)="(-?[\d.]+)"/g)) {
      expect([name, Number(value) >= 0 && Number(value) <= 720]).toEqual([name, true])
    }
    expect(bars + curve).not.toMatch(/NaN|Infinity|undefined/)
  })

  test('formatMs', () => {
    expect([0.5, 4.25, 150.4, 9_999, 12_345].map(formatMs)).toEqual(['0.50 ms', '4.3 ms', '150 ms', '9999 ms', '12.3 s'])
  })
})

describe('report page', () => {
  test('says what failed, escapes what it was given, and fetches nothing', () => {
    const page = renderPage(report({ ok: false }))
    expect(page).toMatch(/a check failed/)
    expect(page).toContain('a lists &#60;script&#62;')
    expect(page).toContain('&#60;b&#62;evil&#60;/b&#62; &#38; co')
    expect(page).toMatch(/no loss <i>2 of 9 failed/)
    expect(page).toMatch(/folds <i>never looked at/)
    expect(page).not.toMatch(/<script|(src|href)=|https?:|@import|url\(|NaN|undefined|Infinity/)
  })

  test('tags are balanced', () => {
    const page = renderPage(report())
    for (const tag of [
      'main',
      'section',
      'figure',
      'table',
      'tr',
      'td',
      'ul',
      'li',
      'div',
      'svg',
      'p',
      'h1',
      'h2',
      'h3',
      'span',
      'figcaption'
    ]) {
      const opened = page.match(new RegExp(`<${tag}[ >]`, 'g'))?.length ?? 0
      expect([tag, page.match(new RegExp(`</${tag}>`, 'g'))?.length ?? 0]).toEqual([tag, opened])
    }
  })
})
