import { atLeast, atMost, type BenchOptions, type Row, row } from './harness.ts'
import type { ServerKind } from './support/gateway-protocol.ts'
import { type RunResult, type RunSize, runGateway } from './support/gateway-run.ts'

/*
 * Many watchers of one topic on one server, while others join it at a fixed rate. Beside the gateway: presence by hand over `ws`, which encodes each change for
 * each watcher and sends it (`loop`), and the same that encodes each change once (`loop, encoded once`), which one would write after a first look at a profile.
 *
 * What keeps it fair:
 * - The same clients for all: another process with a WebSocket of its own that does next to nothing per frame, and that asks for no answer it does not need.
 * - Joins are joins of clients: each comes over a socket of its own, opened before, which watches nothing. So each server parses, answers, keeps the list and
 *   tells the others. The gateway asks `authorize`, and keeps a session and a replicated entry, which the loops do not.
 * - All three ping their sockets every 15 s, none compresses, and all ran the same warm-up.
 * - Each repetition has fresh processes, and the three take turns. CPU is what the server's process used, user and system, from the first join of the measured
 *   part until the last watcher had the last one. A server that cannot keep up works for longer: so what is compared is CPU per join and watcher.
 * - The loops send one frame per join and watcher, the gateway one per window: that is the difference that coalescing makes, and it costs latency, which is
 *   shown. Latency is measured in the clients' process: from the join's being sent until the last watcher has it, waiting for the clients' own turn included.
 */

export const name = 'gateway'
export const description =
  '2,000 watchers of one topic and 100 joins/s: frames, CPU, latency and memory of the gateway, beside a loop over ws'

const KINDS: readonly ServerKind[] = ['gateway', 'loop', 'loop-once']
const LABELS: Record<ServerKind, string> = { gateway: 'gateway', loop: 'loop', 'loop-once': 'loop, encoded once' }

export async function run({ quick }: BenchOptions): Promise<Row[]> {
  const size: RunSize = quick
    ? { watchers: 200, joinsPerSecond: 100, warmUpSeconds: 1, seconds: 2 }
    : { watchers: 2_000, joinsPerSecond: 100, warmUpSeconds: 3, seconds: 8 }
  const results: Record<ServerKind, RunResult[]> = { gateway: [], loop: [], 'loop-once': [] }
  for (let round = 0; round < (quick ? 1 : 3); round++) {
    for (const kind of KINDS) {
      results[kind].push(await runGateway(kind, size))
    }
  }
  return [
    ...KINDS.flatMap(kind => fanOutRows(LABELS[kind], results[kind], size.watchers)),
    ...encodeRows(results.gateway, size.watchers),
    ...ratioRows(results, quick),
    ...memoryRows('gateway', results.gateway, size.watchers),
    ...memoryRows('loop', [...results.loop, ...results['loop-once']], size.watchers)
  ]
}

function fanOutRows(label: string, results: readonly RunResult[], watchers: number): Row[] {
  const each = (name: string, unit: string, amount: (result: RunResult) => number): Row =>
    row(`${label}: ${name}`, unit, results.map(amount))
  const perSecond = (name: string, unit: string, amount: (result: RunResult) => number): Row =>
    each(name, unit, result => (amount(result) / watchers / result.fanOut.elapsedMs) * 1_000)
  return [
    perSecond('frames per watcher', '/s', ({ fanOut }) => fanOut.frames),
    perSecond('bytes per watcher', 'B/s', ({ fanOut }) => fanOut.bytes),
    perSecond('CPU per watcher and second', 'µs', ({ cpuMs }) => cpuMs * 1_000),
    each('CPU per join and watcher', 'µs', result => microsPerJoin(result) / watchers),
    each('join → last watcher, p50', 'ms', ({ fanOut }) => fanOut.p50Ms),
    each('join → last watcher, p99', 'ms', ({ fanOut }) => fanOut.p99Ms),
    atMost(
      each('joins that a watcher missed', '', ({ fanOut }) => fanOut.missing),
      0
    )
  ]
}

/** Counted at both ends: what the gateway encoded, and what the clients read. */
function encodeRows(results: readonly RunResult[], watchers: number): Row[] {
  const perBatch = results.map(({ encodes, batches }) => encodes / batches)
  const perEncode = results.map(({ fanOut, encodes }) => fanOut.frames / encodes)
  return [
    atMost(row('gateway: encodes per batch', '', perBatch), 1),
    atLeast(row('gateway: frames read by clients, per encode', '', perEncode), watchers)
  ]
}

/** With few watchers the joins themselves are most of the work: no bar then. */
function ratioRows(results: Record<ServerKind, readonly RunResult[]>, quick: boolean): Row[] {
  const ratios = (other: ServerKind): number[] =>
    results[other].map((result, round) => microsPerJoin(result) / microsPerJoin(results.gateway[round] as RunResult))
  const loop = row('CPU per join and watcher, loop ÷ gateway', '×', ratios('loop'))
  return [quick ? loop : atLeast(loop, 3), row('CPU per join and watcher, loop encoded once ÷ gateway', '×', ratios('loop-once'))]
}

const microsPerJoin = ({ cpuMs, fanOut }: RunResult): number => (cpuMs * 1_000) / fanOut.joins

function memoryRows(label: string, results: readonly RunResult[], sockets: number): Row[] {
  const perSocket = (from: 'empty' | 'open', to: 'open' | 'watching', what: 'rssBytes' | 'heldBytes'): number[] =>
    results.map(({ memory }) => (memory[to][what] - memory[from][what]) / sockets)
  return [
    row(`${label}: memory of an idle socket, heap`, 'B', perSocket('empty', 'open', 'heldBytes')),
    row(`${label}: memory of an idle socket, resident`, 'B', perSocket('empty', 'open', 'rssBytes')),
    row(`${label}: and of its watching a topic, heap`, 'B', perSocket('open', 'watching', 'heldBytes')),
    row(`${label}: and of its watching a topic, resident`, 'B', perSocket('open', 'watching', 'rssBytes'))
  ]
}
