/** What the cluster side counts, for metrics and tests. Messages and bytes are the transport's to count. */
const NAMES = [
  /** Pulls sent, and requests in them. */
  'pulls',
  'requests',
  /** Frames that answered a pull or a greeting, full states begun, slices sent. */
  'answers',
  'fullStates',
  'slices',
  /** Frames with new events, sent unasked. */
  'pushes',
  /** Intervals that were merged; said nothing new; did not fit. */
  'merged',
  'duplicates',
  'gaps',
  /** Intervals and messages that were not taken, and why. */
  'staleRejected',
  'unknownRejected',
  'unannounced',
  'unrequestedSlices',
  'ownIntervals',
  'invalid',
  'notAdmitted',
  'introductionsRefused',
  'tooFarAhead',
  /** Transfers whose source made no progress, and was replaced. */
  'stalls',
  'digests',
  'diverged',
  'quarantined',
  'relayConflicts',
  'reincarnations',
  'duplicateReplicas',
  'suspicions',
  'falseSuspicions',
  'downs',
  'falseDowns',
  'retired',
  'byes',
  'isolations',
  'evictions'
] as const

export type CounterName = (typeof NAMES)[number]

/** Numbers that only grow. */
export class Counters {
  readonly #values = new Map<CounterName, number>(NAMES.map(name => [name, 0]))

  add(name: CounterName, by = 1): void {
    this.#values.set(name, (this.#values.get(name) ?? 0) + by)
  }

  get(name: CounterName): number {
    return this.#values.get(name) ?? 0
  }

  toRecord(): Record<CounterName, number> {
    return Object.fromEntries(this.#values) as Record<CounterName, number>
  }
}
