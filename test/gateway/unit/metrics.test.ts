import type { Metrics } from '@libp2p/interface'
import { describe, expect, it } from 'vitest'
import { registerGatewayMetrics } from '../../../src/net/gateway/metrics.ts'
import { Tally } from '../../../src/net/gateway/tally.ts'

type Values = Record<string, number>

/** Sums up what counters are told, and keeps how gauges are read. */
function fakeMetrics() {
  const counters: Record<string, Values> = {}
  const gauges: Record<string, () => Values> = {}
  const metrics = {
    registerMetricGroup: (name: string, { calculate }: { calculate: () => Values }) => {
      gauges[name] = calculate
    },
    registerCounterGroup: (name: string) => {
      const sums: Values = {}
      counters[name] = sums
      return {
        increment: (values: Values) => {
          for (const [label, value] of Object.entries(values)) {
            sums[label] = (sums[label] ?? 0) + value
          }
        }
      }
    }
  } as unknown as Metrics
  return { metrics, counters, gauges }
}

describe('metrics of a gateway', () => {
  it('counters follow the counts, each time by what has come since', () => {
    const { metrics, counters } = fakeMetrics()
    const tally = new Tally()
    const update = registerGatewayMetrics(metrics, tally, () => ({}))
    tally.framesIn = 3
    tally.refuse('origin')
    update()
    tally.framesIn = 10
    tally.diffEncodes = 1
    tally.refuse('origin')
    tally.refuse('sockets')
    tally.close('slow')
    update()
    update()
    expect(counters).toEqual({
      rollcall_gateway_events_total: { framesIn: 10, diffEncodes: 1 },
      rollcall_gateway_refused_total: { origin: 2, sockets: 1 },
      rollcall_gateway_closed_total: { slow: 1 }
    })
  })

  it('gauges are read when they are scraped', () => {
    const { metrics, gauges } = fakeMetrics()
    let sockets = 1
    registerGatewayMetrics(metrics, new Tally(), () => ({ sockets, behind: 0, joins: 7 }))
    sockets = 5
    expect(gauges.rollcall_gateway?.()).toMatchObject({ sockets: 5, behind: 0, watchers: 0 })
    expect(gauges.rollcall_gateway?.()).not.toHaveProperty('joins')
  })
})
