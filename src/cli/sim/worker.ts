/**
 * The process of one simulated replica. Started by `worker-handle.ts` with its `WorkerStart` as JSON, driven over IPC; ends when its
 * parent is gone.
 */

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { messageOf } from '../errors.ts'
import { openReplica } from '../open-replica.ts'
import type { ReplicaHandle } from '../replica.ts'
import { sharedNowMs } from './shared-clock.ts'
import { StallWatch } from './stall-watch.ts'
import { WorkerClients } from './worker-clients.ts'
import type { FromWorker, ToWorker, WorkerEvents, WorkerNumbers, WorkerStart } from './worker-protocol.ts'
import { WorkerView } from './worker-view.ts'

const REPORT_EVERY_MS = 50

const tell = (message: FromWorker): void => {
  if (process.connected) {
    process.send?.(message)
  }
}

// Ctrl-C reaches the whole process group; the parent decides when and how its workers end.
process.on('SIGINT', () => undefined)
process.on('SIGTERM', () => undefined)
process.on('disconnect', () => process.exit(0))

try {
  await run(JSON.parse(process.argv[2] ?? '{}') as WorkerStart)
} catch (error) {
  tell({ type: 'failed', message: messageOf(error) })
  process.disconnect?.()
  process.exitCode = 1
}

async function run(start: WorkerStart): Promise<void> {
  const replica = await openReplica({
    cluster: start.cluster,
    listen: [`/ip4/127.0.0.1/tcp/${start.port}`],
    peers: start.peers,
    hideAddresses: true,
    identity: start.identity,
    allow: [],
    swarmKey: undefined,
    mdns: false,
    options: start.options
  })
  const { tracker } = replica
  const view = new WorkerView(tracker)
  const clients = new WorkerClients(tracker, start.clientHeartbeatMs)
  const stalls = new StallWatch()
  const loop = monitorEventLoopDelay({ resolution: 10 })
  loop.enable()
  const reports = setInterval(() => report(view, clients, stalls), REPORT_EVERY_MS)
  process.on('message', (message: ToWorker) => {
    if (message.type === 'ops') {
      clients.add(message.ops)
    } else if (message.type === 'snapshot') {
      // First, so that whoever judges the snapshot knows what this process suffered.
      report(view, clients, stalls)
      tell(view.snapshot(message.request))
    } else if (message.type === 'numbers') {
      tell(numbers(message.request, replica, view, clients, loop.percentile(99) / 1e6))
      loop.reset()
    } else {
      clearInterval(reports)
      clients.stop()
      report(view, clients, stalls)
      void replica.stop({ announce: message.announce }).finally(() => process.disconnect?.())
    }
  })
  tell({ type: 'started', id: tracker.id, atMs: sharedNowMs() })
  await tracker.ready
  tell({ type: 'ready', atMs: sharedNowMs(), partial: tracker.partial })
}

function numbers(request: number, { tracker }: ReplicaHandle, view: WorkerView, clients: WorkerClients, loopP99Ms: number): WorkerNumbers {
  const { rss, heapUsed } = process.memoryUsage()
  const { user, system } = process.cpuUsage()
  return {
    type: 'numbers',
    request,
    rssBytes: rss,
    heapBytes: heapUsed,
    cpuMs: (user + system) / 1_000,
    loopP99Ms,
    presences: view.presences,
    connections: clients.size,
    stats: tracker.stats()
  }
}

function report(view: WorkerView, clients: WorkerClients, stalls: StallWatch): void {
  const events: WorkerEvents = {
    type: 'events',
    ...take(clients, ['didSeqs', 'didAtMs', 'failures', 'ended']),
    ...take(view, ['topics', 'keys', 'kinds', 'sawAtMs', 'judged', 'isolated']),
    stalls: stalls.take()
  }
  const { type: _, ...columns } = events
  if (Object.values(columns).some(column => column.length > 0)) {
    tell(events)
  }
}

// Hands over the named arrays and leaves empty ones behind.
function take<T, K extends keyof T>(owner: T, names: readonly K[]): Pick<T, K> {
  const taken = {} as Pick<T, K>
  for (const name of names) {
    taken[name] = owner[name]
    owner[name] = [] as T[K]
  }
  return taken
}
