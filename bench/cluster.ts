import { setTimeout } from 'node:timers/promises'
import { LatencyHistogram } from '../src/cli/sim/latency.ts'
import { sharedNowMs } from '../src/cli/sim/shared-clock.ts'
import type { Op } from '../src/cli/sim/worker-protocol.ts'
import { atMost, type BenchOptions, type Row, row } from './harness.ts'
import { ClusterRun } from './support/cluster-run.ts'

export const name = 'cluster'
export const description =
  'three replicas as processes over TCP on this machine, default options: join latency, detection, a newcomer, idle bytes'

const REPLICAS = 3

export async function run({ quick }: BenchOptions): Promise<Row[]> {
  return [
    ...(await joinLatency(quick ? 3_000 : 20_000, 1_000)),
    ...(await detection('kill', quick ? 1 : 5)),
    ...(await detection('blackhole', quick ? 1 : 4)),
    ...(await newcomer(quick ? 10_000 : 100_000, quick ? 1 : 3)),
    ...(await idle(quick ? 1_000 : 10_000, quick ? 5_000 : 30_000))
  ]
}

/** Joins and leaves in turn, spread evenly over time and replicas. */
async function joinLatency(forMs: number, changesPerSecond: number): Promise<Row[]> {
  const cluster = new ClusterRun({ replicas: REPLICAS, direct: true })
  try {
    await cluster.start()
    const users = 300
    for (let replica = 0; replica < REPLICAS; replica++) {
      const ops = Array.from({ length: users }, (_, user) => cluster.op(0, 'connect', `user:${replica}:${user}`))
      cluster.run(replica, ops)
    }
    await setTimeout(2_000)
    const tracks = await drive(cluster, forMs, changesPerSecond, users)
    await setTimeout(1_000)
    return latencyRows(cluster, tracks, changesPerSecond)
  } finally {
    await cluster.fleet.stop()
  }
}

interface Track {
  readonly place: string
  readonly seq: number
}

async function drive(cluster: ClusterRun, forMs: number, changesPerSecond: number, users: number): Promise<Track[]> {
  const tracks: Track[] = []
  const startMs = sharedNowMs() + 200
  const total = Math.round((forMs / 1_000) * changesPerSecond)
  const stepMs = 1_000 / changesPerSecond
  for (let change = 0; change < total; ) {
    const batches: Op[][] = Array.from({ length: REPLICAS }, () => [])
    // A tenth of a second ahead, so that no process waits for the next message.
    while (change < total && startMs + change * stepMs < sharedNowMs() + 100) {
      const replica = change % REPLICAS
      const turn = Math.floor(change / REPLICAS)
      const user = `user:${replica}:${turn % users}`
      const topic = `room:${turn % 20}`
      const isJoin = Math.floor(turn / users) % 2 === 0
      const op = cluster.op(startMs + change * stepMs, isJoin ? 'track' : 'untrack', user, topic)
      batches[replica]?.push(op)
      if (isJoin) {
        tracks.push({ place: `${topic} ${user}`, seq: op.seq })
      }
      change++
    }
    for (const [replica, ops] of batches.entries()) {
      cluster.run(replica, ops)
    }
    await setTimeout(20)
  }
  return tracks
}

function latencyRows(cluster: ClusterRun, tracks: readonly Track[], changesPerSecond: number): Row[] {
  const startsMs = new Map<string, number[]>()
  for (const { place, seq } of tracks) {
    const atMs = cluster.doneMs.get(seq)
    if (atMs !== undefined) {
      startsMs.set(place, [...(startsMs.get(place) ?? []), atMs])
    }
  }
  const histogram = new LatencyHistogram()
  for (const { place, atMs } of cluster.joins) {
    const start = startsMs.get(place)?.findLast(candidate => candidate <= atMs)
    if (start !== undefined) {
      histogram.record(atMs - start)
    }
  }
  const label = `join → seen elsewhere, ${changesPerSecond} changes/s`
  const seen = histogram.count / (tracks.length * (REPLICAS - 1))
  return [
    atMost(row(`${label}, p50`, 'ms', [histogram.percentileMs(50)]), 5),
    atMost(row(`${label}, p99`, 'ms', [histogram.percentileMs(99)]), 50),
    row(`${label}, seen`, '%', [seen * 100])
  ]
}

/** From the fault until both others show the replica's presences as unknown; one sample for each observer. */
async function detection(kind: 'kill' | 'blackhole', rounds: number): Promise<Row[]> {
  const cluster = new ClusterRun({ replicas: REPLICAS, direct: kind === 'kill' })
  const samples: number[] = []
  try {
    await cluster.start()
    for (let round = 0; round < rounds; round++) {
      const victim = round % REPLICAS
      const others = [0, 1, 2].filter(replica => replica !== victim)
      await populate(cluster, victim, 20, 1, `round:${round}`)
      await setTimeout(3_000)
      const faultMs = sharedNowMs()
      if (kind === 'kill') {
        await cluster.fleet.killReplica(victim)
      } else {
        await cluster.fleet.setLinks([[victim], others], 'blackhole')
      }
      for (const observer of others) {
        const found = () =>
          cluster.judged.find(j => j.observer === observer && j.replica === victim && j.status === 'unknown' && j.atMs >= faultMs)
        await cluster.until(`replica ${observer} notices`, () => found() !== undefined)
        samples.push((found()?.atMs ?? Number.NaN) - faultMs)
      }
      await repair(cluster, kind, victim, others)
    }
  } finally {
    await cluster.fleet.stop()
  }
  const label = kind === 'kill' ? 'SIGKILL → presences unknown' : 'black hole → presences unknown'
  const worst = row(`${label}, slowest`, 'ms', [Math.max(...samples)])
  return [row(`${label}, median`, 'ms', samples), atMost(worst, kind === 'kill' ? 1_000 : 6_000)]
}

async function repair(cluster: ClusterRun, kind: 'kill' | 'blackhole', victim: number, others: readonly number[]): Promise<void> {
  const healedMs = sharedNowMs()
  if (kind === 'kill') {
    await cluster.startLater(victim)
  } else {
    await cluster.fleet.setLinks([[victim], others], 'open')
  }
  await cluster.until('all know each other again', () =>
    others.every(observer =>
      cluster.judged.some(j => j.observer === observer && j.replica === victim && j.status === 'up' && j.atMs >= healedMs)
    )
  )
}

/** Two replicas hold all entries; from the start of the third one's node until it lists the last of them. */
async function newcomer(entries: number, rounds: number): Promise<Row[]> {
  const cluster = new ClusterRun({ replicas: REPLICAS, running: REPLICAS - 1, direct: true })
  const samples: number[] = []
  try {
    await cluster.start()
    const users = entries / 10 / 2
    await populate(cluster, 0, users, 10, 'left')
    await populate(cluster, 1, users, 10, 'right')
    await cluster.untilListed([0, 1], entries)
    for (let round = 0; round < rounds; round++) {
      cluster.joins.length = 0
      await cluster.startLater(2)
      await cluster.untilListed([2], entries)
      await cluster.until('the newcomer has reported', () => cluster.joins.filter(join => join.observer === 2).length === entries)
      const ups = cluster.judged.filter(j => j.observer === 2 && j.status === 'up').slice(-2)
      const lastMs = cluster.joins.reduce((last, join) => (join.observer === 2 ? Math.max(last, join.atMs) : last), 0)
      samples.push(lastMs - Math.min(...ups.map(j => j.atMs)))
      await cluster.fleet.killReplica(2)
      await setTimeout(2_000)
    }
  } finally {
    await cluster.fleet.stop()
  }
  return [atMost(row(`newcomer lists ${entries} entries, from its first peer on`, 'ms', samples), 2_000)]
}

/** Nobody comes or goes: what passes each of the links, both ways, encryption included. */
async function idle(users: number, forMs: number): Promise<Row[]> {
  const cluster = new ClusterRun({ replicas: REPLICAS, direct: false })
  try {
    await cluster.start()
    for (let replica = 0; replica < REPLICAS; replica++) {
      await populate(cluster, replica, Math.round(users / REPLICAS), 1, `replica:${replica}`)
    }
    await cluster.untilListed([0, 1, 2], Math.round(users / REPLICAS) * REPLICAS)
    await setTimeout(5_000)
    const links: [number, number][] = [
      [0, 1],
      [0, 2],
      [1, 2]
    ]
    const before = links.map(([a, b]) => cluster.fleet.linkBytes(a, b))
    await setTimeout(forMs)
    const rates = links.map(([a, b], index) => (cluster.fleet.linkBytes(a, b) - (before[index] as number)) / (forMs / 1_000))
    return [atMost(row(`${users} idle users, per link`, 'B/s', rates), 1_000)]
  } finally {
    await cluster.fleet.stop()
  }
}

/** Connects `users` clients, each in `topics` topics. Resolves when all is done. */
async function populate(cluster: ClusterRun, replica: number, users: number, topics: number, label: string): Promise<void> {
  let last = 0
  for (let first = 0; first < users; first += 500) {
    const ops: Op[] = []
    for (let index = first; index < Math.min(users, first + 500); index++) {
      const user = `${label}:${index}`
      ops.push(cluster.op(0, 'connect', user))
      for (let topic = 0; topic < topics; topic++) {
        ops.push(cluster.op(0, 'track', user, `topic:${(index * topics + topic) % 1_000}`))
      }
    }
    last = ops.at(-1)?.seq ?? last
    cluster.run(replica, ops)
  }
  await cluster.until('clients are connected', () => cluster.doneMs.has(last))
}
