import type { CounterGroup, Metrics } from '@libp2p/interface'
import type { Tally } from './tally.ts'
import type { GatewayStats } from './types.ts'

const GAUGES = ['sockets', 'channels', 'behind', 'bufferedBytes', 'feeds', 'sampledFeeds', 'watchers'] as const

/** Names of the metrics; docs/gateway.md lists them, a test compares. */
export const GATEWAY_METRICS = {
  state: 'rollcall_gateway',
  events: 'rollcall_gateway_events_total',
  refused: 'rollcall_gateway_refused_total',
  closed: 'rollcall_gateway_closed_total'
} as const

type Values = Record<string, number>

/**
 * Registers with a node's metrics. Gauges are read when they are scraped; the function that is returned brings the counters up to date, and is to be called
 * from time to time.
 */
export function registerGatewayMetrics(metrics: Metrics, tally: Tally, stats: () => GatewayStats): () => void {
  metrics.registerMetricGroup(GATEWAY_METRICS.state, {
    label: 'what',
    help: 'sockets, channels and watchers; sockets that are too slow, and the bytes that wait for sockets',
    calculate: () => {
      const now = stats()
      return Object.fromEntries(GAUGES.map(name => [name, now[name] ?? 0]))
    }
  })
  const updates = [
    growing(
      metrics.registerCounterGroup(GATEWAY_METRICS.events, { label: 'event', help: 'frames, bytes, encodes, joins, answers of hooks' }),
      () => {
        const { refused: _refused, closed: _closed, ...counts } = tally
        return counts
      }
    ),
    growing(metrics.registerCounterGroup(GATEWAY_METRICS.refused, { label: 'reason', help: 'newcomers turned away' }), () =>
      Object.fromEntries(tally.refused)
    ),
    growing(metrics.registerCounterGroup(GATEWAY_METRICS.closed, { label: 'reason', help: 'sockets that ended' }), () =>
      Object.fromEntries(tally.closed)
    )
  ]
  return () => {
    for (const update of updates) {
      update()
    }
  }
}

/** Adds what has come since it was last called. */
function growing(counter: CounterGroup, read: () => Values): () => void {
  let before: Values = {}
  return () => {
    const now = read()
    const grown = Object.entries(now)
      .map(([name, value]): [string, number] => [name, value - (before[name] ?? 0)])
      .filter(([, more]) => more > 0)
    before = now
    if (grown.length > 0) {
      counter.increment(Object.fromEntries(grown))
    }
  }
}
