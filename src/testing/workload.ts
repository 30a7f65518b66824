import type { Random } from '../tracker/environment.ts'

/**
 * What a client does at a time. As data, so that a run can be shrunk: an operation that makes no sense when its time comes is skipped.
 *
 * `connect` to a replica (a second time: it moves there, and the old socket dies unnoticed); `track`, `update`, `untrack` a topic; `leave` all topics;
 * `swap` topics in one batch; `close`; `lose` the socket, which its replica notices; `vanish`, which nobody notices; `kick` the user.
 */
export interface WorkloadOp {
  readonly atMs: number
  /** An index into the clients. */
  readonly client: number
  readonly kind: OpKind
  /** Taken modulo the number of topics. */
  readonly topic: number
  /** Taken modulo the number of replicas. */
  readonly replica: number
}

export const OP_KINDS = ['connect', 'track', 'update', 'untrack', 'leave', 'swap', 'close', 'lose', 'vanish', 'kick'] as const
export type OpKind = (typeof OP_KINDS)[number]

export type Workload = readonly WorkloadOp[]

/** How often each kind comes, relative to the others. */
export type OpWeights = Readonly<Partial<Record<OpKind, number>>>

export interface WorkloadShape {
  readonly durationMs: number
  readonly clients: number
  readonly operations: number
  readonly weights?: OpWeights
}

export const DEFAULT_WEIGHTS: Readonly<Record<OpKind, number>> = {
  connect: 26,
  track: 24,
  update: 16,
  untrack: 6,
  leave: 2,
  swap: 4,
  close: 6,
  lose: 8,
  vanish: 4,
  kick: 1
}

/** Operations at random times, in order. Each client begins with connecting and tracking. */
export function randomWorkload(random: Random, { durationMs, clients, operations, weights = DEFAULT_WEIGHTS }: WorkloadShape): Workload {
  const ops: WorkloadOp[] = []
  const add = (atMs: number, client: number, kind: OpKind): void => {
    ops.push({ atMs, client, kind, topic: random.below(1_000), replica: random.below(1_000) })
  }
  for (let client = 0; client < clients; client++) {
    const atMs = random.below(Math.ceil(durationMs / 4))
    add(atMs, client, 'connect')
    add(atMs + random.below(500), client, 'track')
  }
  for (let index = 0; index < operations; index++) {
    add(random.below(durationMs), random.below(clients), pick(random, weights))
  }
  return ops.sort((a, b) => a.atMs - b.atMs)
}

function pick(random: Random, weights: OpWeights): OpKind {
  const total = OP_KINDS.reduce((sum, kind) => sum + (weights[kind] ?? 0), 0)
  let left = random.nextFloat() * total
  for (const kind of OP_KINDS) {
    left -= weights[kind] ?? 0
    if (left < 0) {
      return kind
    }
  }
  return 'track'
}
