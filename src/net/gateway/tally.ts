/** Why a newcomer is turned away. */
export type Refusal =
  | 'origin'
  | 'version'
  | 'draining'
  | 'sockets'
  | 'socketsPerAddress'
  | 'socketsPerUser'
  | 'unauthenticated'
  | 'hook'
  | 'limit'

/** Why a socket was closed, in its close frame too. */
export type CloseReason =
  | 'gone'
  | 'rate'
  | 'slow'
  | 'malformed'
  | 'too large'
  | 'token expired'
  | 'kicked'
  | 'taken over'
  | 'expired'
  | 'draining'
  | 'stopped'

/** Counts by name; what `gateway.stats()` and the metrics read. */
export class Tally {
  framesIn = 0
  framesOut = 0
  bytesOut = 0
  malformed = 0
  /** Diffs encoded, and windows that had something to tell: equal, whatever the number of watchers. */
  diffEncodes = 0
  diffFlushes = 0
  diffsSent = 0
  snapshotEncodes = 0
  snapshotsSent = 0
  countsSent = 0
  /** Snapshots for sockets that had been too slow. */
  resyncs = 0
  /** Times that a socket was read more slowly. */
  throttled = 0
  joins = 0
  joinsRefused = 0
  authorizeAsked = 0
  authorizeCached = 0
  revoked = 0
  hookFailures = 0
  twins = 0
  readonly refused = new Map<Refusal, number>()
  readonly closed = new Map<CloseReason, number>()

  refuse(reason: Refusal): void {
    this.refused.set(reason, (this.refused.get(reason) ?? 0) + 1)
  }

  close(reason: CloseReason): void {
    this.closed.set(reason, (this.closed.get(reason) ?? 0) + 1)
  }
}
