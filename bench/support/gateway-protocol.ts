/** Who serves: the gateway; a loop that encodes for each watcher; a loop that encodes once per join. */
export type ServerKind = 'gateway' | 'loop' | 'loop-once'

export const TOPIC = 'bench:room'
/** In the meta of the n-th join: seven digits, so that a client finds it without parsing. */
export const FIRST_JOIN = 1_000_000
/** How often both kinds of server ask their sockets whether they live. */
export const PING_INTERVAL_MS = 15_000

/** What a server's process has used since its start. */
export interface ServerUsage {
  readonly cpuMs: number
  /** Diffs that were encoded, and batches that were sent: of the gateway only. */
  readonly encodes: number
  readonly batches: number
}

/** After a collection of garbage. */
export interface ServerMemory {
  readonly rssBytes: number
  readonly heldBytes: number
}

/** What came of joins at a fixed rate. */
export interface FanOut {
  readonly joins: number
  /** From the first join until the last watcher had the last one. */
  readonly elapsedMs: number
  readonly frames: number
  /** On TCP, headers of WebSocket included. */
  readonly bytes: number
  /** From the join's being sent until the last watcher has it; of those that all watchers have. */
  readonly p50Ms: number
  readonly p99Ms: number
  /** Of a join to a watcher, that did not come in time. */
  readonly missing: number
}

export type ToServer = 'usage' | 'memory'
export type ToClients =
  | { readonly do: 'open'; readonly port: number; readonly watchers: number; readonly joiners: number }
  | { readonly do: 'watch' }
  | { readonly do: 'join'; readonly joins: number; readonly perSecond: number }
