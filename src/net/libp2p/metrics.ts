import type { Metrics } from '@libp2p/interface'
import type { Tracker } from '../../tracker/types.ts'
import type { MaxGauge } from './gauges.ts'
import { MESSAGE_TYPES } from './traffic.ts'
import type { Libp2pTransport } from './transport.ts'

export interface MetricSources {
  readonly tracker: Tracker
  readonly transport: Libp2pTransport
  readonly lateMs: MaxGauge
  readonly taskMs: MaxGauge
}

type Values = Record<string, number>

export interface MetricSpec {
  readonly name: string
  readonly help: string
  /** Without one it is a single number. */
  readonly label?: string
  readonly kind: 'gauge' | 'counter'
  read(sources: MetricSources): number | Values
}

/** What is reported. docs/operations.md lists them; a test compares. */
export const METRICS: readonly MetricSpec[] = [
  gauge('rollcall_entries', 'entries held, of all replicas', ({ tracker }) => stat(tracker, 'entries')),
  gauge('rollcall_topics', 'topics with entries', ({ tracker }) => stat(tracker, 'topics')),
  gauge('rollcall_users', 'users online, cluster-wide', ({ tracker }) => stat(tracker, 'users')),
  gauge('rollcall_connections', 'open connections of this replica', ({ tracker }) => stat(tracker, 'connections')),
  group('rollcall_tracker', 'every number of tracker.stats()', 'stat', 'gauge', ({ tracker }) => ({ ...tracker.stats() })),

  group('rollcall_replicas', 'replicas by status, this one included', 'status', 'gauge', ({ tracker }) => statuses(tracker)),
  group('rollcall_replica_lag_ms', 'how long events of a replica are known of and missing', 'replica', 'gauge', ({ tracker }) =>
    perReplica(tracker, replica => replica.lagMs)
  ),
  group('rollcall_replica_lag_dots', 'events that a replica announced on its own link and that are missing', 'replica', 'gauge', sources =>
    perReplica(sources.tracker, replica => Math.max(0, sources.transport.announcedHead(replica.id, replica.incarnation) - replica.head))
  ),
  group('rollcall_replica_phi', 'suspicion level of a replica', 'replica', 'gauge', ({ tracker }) =>
    perReplica(tracker, replica => replica.phi)
  ),

  group(
    'rollcall_suspicions_total',
    'suspicions raised, and those after which the replica was up again',
    'kind',
    'counter',
    ({ tracker }) => ({
      raised: stat(tracker, 'suspicions'),
      false: stat(tracker, 'falseSuspicions')
    })
  ),
  counter('rollcall_hash_mismatches_total', 'equal heads with unequal state hashes; repaired from the owner', ({ tracker }) =>
    stat(tracker, 'diverged')
  ),
  counter('rollcall_diffs_total', 'diffs told to listeners and watchers', ({ tracker }) => stat(tracker, 'diffs')),

  group('rollcall_messages_sent_total', 'messages sent, by type', 'type', 'counter', ({ transport }) =>
    byType(transport, 'sent', 'messages')
  ),
  group('rollcall_messages_received_total', 'messages received, by type', 'type', 'counter', ({ transport }) =>
    byType(transport, 'received', 'messages')
  ),
  group('rollcall_bytes_sent_total', 'bytes of messages sent, by type', 'type', 'counter', ({ transport }) =>
    byType(transport, 'sent', 'bytes')
  ),
  group('rollcall_bytes_received_total', 'bytes of messages received, by type', 'type', 'counter', ({ transport }) =>
    byType(transport, 'received', 'bytes')
  ),
  gauge('rollcall_waiting_bytes', 'bytes that wait for slow peers', ({ transport }) => transport.sizes.waitingBytes),

  gauge('rollcall_links', 'links that are up', ({ transport }) => transport.sizes.links),
  gauge('rollcall_members', 'members remembered, linked or not', ({ transport }) => transport.sizes.members),
  group('rollcall_link_events_total', 'links opened and lost', 'event', 'counter', ({ transport }) => ({
    opened: transport.traffic.linksOpened,
    lost: transport.traffic.linksLost
  })),
  group('rollcall_dials_total', 'dials begun, and those that failed', 'event', 'counter', ({ transport }) => ({
    begun: transport.traffic.dials,
    failed: transport.traffic.dialsFailed
  })),
  group(
    'rollcall_rejected_total',
    'what was turned away: streams of strangers, frames that are no message',
    'what',
    'counter',
    ({ transport }) => ({
      streams: transport.traffic.refused,
      frames: transport.traffic.invalid
    })
  ),

  gauge('rollcall_event_loop_lag_ms', 'how late a timer ran at most, since the last scrape', ({ lateMs }) => lateMs.take()),
  gauge('rollcall_task_ms', 'how long a timer task (sweep, flush, judgement) took at most, since the last scrape', ({ taskMs }) =>
    taskMs.take()
  )
]

/** The time that each received delta took to be taken in, in ms; registered beside `METRICS`. */
export const MERGE_HISTOGRAM = 'rollcall_merge_ms'

/**
 * Registers everything with the node's metrics. Gauges are read when they are scraped. Counters are brought up to date by the function
 * that is returned, once a second: implementations differ in whether a calculated counter is a total or what is to be added.
 *
 * With `@libp2p/prometheus-metrics` all nodes of a process share one table: run one replica per process to tell them apart.
 */
export function registerMetrics(metrics: Metrics, sources: MetricSources): () => void {
  const merge = metrics.registerHistogram(MERGE_HISTOGRAM, {
    help: 'time to take in one received delta, in ms',
    buckets: [0.1, 0.3, 1, 3, 10, 30, 100]
  })
  sources.transport.onDelta = ms => merge.observe(ms)
  const updates = METRICS.map(spec =>
    spec.kind === 'gauge' ? registerGauge(metrics, spec, sources) : registerCounter(metrics, spec, sources)
  )
  return () => {
    for (const update of updates) {
      update()
    }
  }
}

function registerGauge(metrics: Metrics, { name, help, label, read }: MetricSpec, sources: MetricSources): () => void {
  const calculate = (): never => read(sources) as never
  if (label === undefined) {
    metrics.registerMetric(name, { help, calculate })
  } else {
    metrics.registerMetricGroup(name, { help, label, calculate })
  }
  return () => {}
}

function registerCounter(metrics: Metrics, { name, help, label, read }: MetricSpec, sources: MetricSources): () => void {
  const told = new Map<string, number>()
  const news = (key: string, total: number): number => {
    const more = total - (told.get(key) ?? 0)
    told.set(key, total)
    return Math.max(0, more)
  }
  if (label === undefined) {
    const counter = metrics.registerCounter(name, { help })
    return () => counter.increment(news('', read(sources) as number))
  }
  const group = metrics.registerCounterGroup(name, { help, label })
  return () => {
    const totals = Object.entries(read(sources)).map(([key, total]) => [key, news(key, total)] as const)
    group.increment(Object.fromEntries(totals))
  }
}

function gauge(name: string, help: string, read: (sources: MetricSources) => number): MetricSpec {
  return { name, help, kind: 'gauge', read }
}

function counter(name: string, help: string, read: (sources: MetricSources) => number): MetricSpec {
  return { name, help, kind: 'counter', read }
}

function group(name: string, help: string, label: string, kind: 'gauge' | 'counter', read: (sources: MetricSources) => Values): MetricSpec {
  return { name, help, label, kind, read }
}

const stat = (tracker: Tracker, name: string): number => tracker.stats()[name] ?? 0

function statuses(tracker: Tracker): Values {
  const counts: Values = { up: 0, suspect: 0, down: 0 }
  for (const { status } of tracker.replicas()) {
    counts[status] = (counts[status] ?? 0) + 1
  }
  return counts
}

function perReplica(tracker: Tracker, read: (replica: ReturnType<Tracker['replicas']>[number]) => number): Values {
  return Object.fromEntries(tracker.replicas().map(replica => [replica.id, read(replica)]))
}

function byType(transport: Libp2pTransport, direction: 'sent' | 'received', what: 'messages' | 'bytes'): Values {
  return Object.fromEntries(MESSAGE_TYPES.map(type => [type, transport.traffic[direction][type][what]]))
}
