import { existsSync, readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import type { TraceEvent } from '../../src/testing/index.ts'

const FILE = new URL('../../../shared/data/irc-presence-2018.csv.gz', import.meta.url)

/** Whether the recorded year is there: it is no part of the repository. */
export const hasIrcTrace: boolean = existsSync(FILE)

/** The recorded year, ascending by time. */
export function readIrcTrace(): TraceEvent[] {
  const [, ...lines] = gunzipSync(readFileSync(FILE)).toString('utf8').trim().split('\n')
  return lines.map(line => {
    const [ms, topic, user, event] = line.split(',') as [string, string, string, string]
    return { ms: Number(ms), topic, user, event: event === 'join' ? 'join' : 'leave' }
  })
}

/** `count` events around the minute in which most people left: a netsplit, as it was. */
export function aroundTheNetsplit(events: readonly TraceEvent[], count: number): TraceEvent[] {
  let best = 0
  let most = 0
  let from = 0
  let leaves = 0
  for (let to = 0; to < events.length; to++) {
    leaves += Number(events[to]?.event === 'leave')
    while ((events[to] as TraceEvent).ms - (events[from] as TraceEvent).ms > 60_000) {
      leaves -= Number(events[from++]?.event === 'leave')
    }
    if (leaves > most) {
      most = leaves
      best = to
    }
  }
  return events.slice(Math.max(0, best - count / 2), best + count / 2)
}
