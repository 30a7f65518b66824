import { createRandom } from '../../src/tracker/environment.ts'

/** One and the same work for each design: who connects, and in which order what happens to the connections. */
export interface Workload {
  readonly count: number
  /** The user of each connection, a string of its own each, as if read off a socket. */
  readonly names: readonly string[]
  /** An id for each connection of 20 characters, for designs that are given ids. */
  readonly ids: readonly string[]
  /** All connections, in random order. */
  readonly order: Uint32Array
}

/** Takes one sample of what is measured under a name. */
export type Add = (name: string, value: number) => void

/** A design under measurement: each call does one operation on all connections, in a loop of its own. */
export interface Fleet {
  /** In order of the workload, spread over SPREAD_MS from `nowMs` on. */
  connectAll(nowMs: number): void
  /** In random order, spread likewise, each by what a caller would hold on to; returns how many were alive. */
  heartbeatAll(nowMs: number): number
  /** The same by the texts of ids that were just read. */
  heartbeatTexts(texts: readonly string[], nowMs: number): number
  /** The ids of all connections as fresh strings, in random order. */
  freshTexts(): string[]
  /** In random order. The last connection of a user makes him one who is offline. */
  disconnectAll(): void
  /** Ends what has expired, likewise. Returns how many ended. */
  expire(nowMs: number): number
  /** Forgets all who are offline. Returns how many. */
  forgetUsers(): number
}

export const TTL_MS = 30_000
/** Connections are opened, and heard of, over so long a time: deadlines differ. */
export const SPREAD_MS = 10_000

export function createWorkload(count: number, users: number, seed: string): Workload {
  const random = createRandom(seed)
  const order = new Uint32Array(count).map((_, index) => index)
  for (let i = count - 1; i > 0; i--) {
    const j = random.below(i + 1)
    const kept = order[i] as number
    order[i] = order[j] as number
    order[j] = kept
  }
  return {
    count,
    names: Array.from({ length: count }, () => fresh(`user-${random.below(users)}`)),
    ids: Array.from({ length: count }, () =>
      fresh(random.nextUint32().toString(36).padStart(10, 'x') + random.nextUint32().toString(36).padStart(10, 'y'))
    ),
    order
  }
}

/** The same text as a string that nothing has hashed yet. */
export function fresh(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1')
}
