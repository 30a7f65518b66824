import type { Check } from './checks.ts'
import type { FaultRecord } from './fault-driver.ts'
import type { FaultKind } from './faults.ts'
import { LatencyHistogram, type LatencySummary } from './latency.ts'
import { type Ledger, placeOf, type Span } from './ledger.ts'
import type { Oracle } from './oracle.ts'
import { SAW_JOIN, type WorkerEvents } from './worker-protocol.ts'

/** How one replica noticed that another was gone. */
export interface Detection {
  readonly fault: string
  readonly kind: FaultKind
  readonly observer: number
  readonly replica: number
  /** From the fault until the replica's presences were unknown there; null when they never were. */
  readonly unknownMs: number | null
  /** Until it was judged down; null when it never was. */
  readonly downMs: number | null
}

/** What was measured in a run. */
export interface MeasuresSummary {
  /** From `track` at the owner until another replica shows it, while nothing was broken between the two. */
  readonly joins: LatencySummary
  /** All others: something was broken, or the same session had left another replica a moment before. */
  readonly joinsUnderFaults: LatencySummary
  readonly leaves: LatencySummary
  /** From `track` until the last of the running replicas shows it. */
  readonly convergence: LatencySummary
  readonly detections: readonly Detection[]
  readonly falseSuspicions: readonly string[]
  /** Leaves shown of somebody who was there all the time. */
  readonly falseLeaves: readonly string[]
}

interface Saw {
  readonly observer: number
  readonly place: string
  readonly kind: number
  readonly atMs: number
}

/** Reports come every 50 ms from each process: by then both sides of a change are known, or one of them is dead. */
const SETTLE_MS = 1_000
/** A suspicion so soon after a disturbance belongs to it. */
const BLAME_MS = 10_000
const HOP_MS = 1_000

/** Matches what replicas saw with the ledger: latencies, detection times, and what should not have been seen. */
export class Measures {
  readonly #ledger: Ledger
  readonly #oracle: Oracle
  readonly #name: (replica: number) => string
  readonly #joins = new LatencyHistogram()
  readonly #joinsUnderFaults = new LatencyHistogram()
  readonly #leaves = new LatencyHistogram()
  readonly #convergence = new LatencyHistogram()
  readonly #joinsSeen = new WeakMap<Span, Set<number>>()
  readonly #leavesSeen = new WeakMap<Span, Set<number>>()
  readonly #judged: { readonly observer: number; readonly replica: number; readonly status: string; readonly atMs: number }[] = []
  readonly #falseSuspicions: string[] = []
  readonly #falseLeaves: string[] = []
  #saw: Saw[] = []
  #leaveCount = 0

  constructor(ledger: Ledger, oracle: Oracle, name: (replica: number) => string) {
    this.#ledger = ledger
    this.#oracle = oracle
    this.#name = name
  }

  /** What was seen of leaves, into a check. */
  reportLeaves(check: Check): void {
    check.passed(this.#leaveCount - this.#falseLeaves.length)
    for (const example of this.#falseLeaves) {
      check.failed(example)
    }
  }

  get joinP50Ms(): number {
    return this.#joins.percentileMs(50)
  }

  heard(observer: number, events: WorkerEvents, indexOf: (id: string) => number): void {
    for (const [index, topic] of events.topics.entries()) {
      this.#saw.push({
        observer,
        place: placeOf(topic, events.keys[index] as string),
        kind: events.kinds[index] as number,
        atMs: events.sawAtMs[index] as number
      })
    }
    for (const { id, status, atMs } of events.judged) {
      const replica = indexOf(id)
      this.#judged.push({ observer, replica, status, atMs })
      const blamed = this.#ledger.lastDisturbedMs(observer, replica, atMs - BLAME_MS, atMs)
      if (status === 'suspect' && blamed === Number.NEGATIVE_INFINITY) {
        this.#falseSuspicions.push(`${this.#name(observer)} suspected ${this.#name(replica)} though nothing was broken between them`)
      }
    }
  }

  /** Matches what is old enough. `running`: how many replicas could see a join. */
  settle(nowMs: number, running: number): void {
    const later: Saw[] = []
    for (const saw of this.#saw.sort((a, b) => a.atMs - b.atMs)) {
      if (saw.atMs + SETTLE_MS > nowMs) {
        later.push(saw)
      } else if (saw.kind === SAW_JOIN) {
        this.#matchJoin(saw, running)
      } else {
        this.#matchLeave(saw)
      }
    }
    this.#saw = later
  }

  summary(faults: readonly FaultRecord[], replicas: number): MeasuresSummary {
    return {
      joins: this.#joins.summary(),
      joinsUnderFaults: this.#joinsUnderFaults.summary(),
      leaves: this.#leaves.summary(),
      convergence: this.#convergence.summary(),
      detections: faults.flatMap(record => this.#detections(record, replicas)),
      falseSuspicions: this.#falseSuspicions,
      falseLeaves: this.#falseLeaves
    }
  }

  #matchJoin({ observer, place, atMs }: Saw, running: number): void {
    const span = this.#ledger.spans.get(place)?.findLast(candidate => candidate.heldMs <= atMs && candidate.replica !== observer)
    if (span === undefined || !once(this.#joinsSeen, span, observer)) {
      return
    }
    const latencyMs = atMs - span.heldMs
    const disturbed = this.#ledger.lastDisturbedMs(observer, span.replica, span.heldMs - BLAME_MS, atMs) > Number.NEGATIVE_INFINITY
    const histogram = disturbed || this.#isHop(place, span) ? this.#joinsUnderFaults : this.#joins
    histogram.record(latencyMs)
    if (this.#joinsSeen.get(span)?.size === running - 1) {
      this.#convergence.record(latencyMs)
    }
  }

  // Who left elsewhere a moment ago may be shown only when his client is heard again: see hand-over in docs/algorithm.md.
  #isHop(place: string, span: Span): boolean {
    const spans = this.#ledger.spans.get(place) ?? []
    const before = spans[spans.indexOf(span) - 1]
    return before !== undefined && before.replica !== span.replica && before.endedMs > span.heldMs - HOP_MS
  }

  #matchLeave({ observer, place, atMs }: Saw): void {
    this.#leaveCount++
    if (this.#oracle.verdict(place, observer, atMs) === 'must') {
      this.#falseLeaves.push(`${place.replace('\u0000', ': ')} was shown as leaving on ${this.#name(observer)}, and was there`)
    }
    const span = this.#ledger.spans.get(place)?.findLast(candidate => candidate.endedMs <= atMs && candidate.replica !== observer)
    if (span === undefined || span.how !== 'left' || !once(this.#leavesSeen, span, observer)) {
      return
    }
    if (this.#ledger.lastDisturbedMs(observer, span.replica, span.endedMs - BLAME_MS, atMs) === Number.NEGATIVE_INFINITY) {
      this.#leaves.record(atMs - span.endedMs)
    }
  }

  #detections({ fault, label, beganMs, endedMs }: FaultRecord, replicas: number): Detection[] {
    const pairs = 'replica' in fault ? othersOf(fault.replica, replicas) : crossPairs(fault.groups)
    return pairs.map(([observer, replica]) => {
      const first = (status: string): number | null => {
        const found = this.#judged.find(
          judged =>
            judged.observer === observer &&
            judged.replica === replica &&
            judged.status === status &&
            judged.atMs >= beganMs &&
            judged.atMs <= endedMs
        )
        return found === undefined ? null : found.atMs - beganMs
      }
      return { fault: label, kind: fault.kind, observer, replica, unknownMs: first('unknown'), downMs: first('down') }
    })
  }
}

function once(seen: WeakMap<Span, Set<number>>, span: Span, observer: number): boolean {
  const by = seen.get(span)
  if (by === undefined) {
    seen.set(span, new Set([observer]))
    return true
  }
  const isNew = !by.has(observer)
  by.add(observer)
  return isNew
}

const othersOf = (replica: number, replicas: number): [number, number][] =>
  Array.from({ length: replicas }, (_, observer): [number, number] => [observer, replica]).filter(([observer]) => observer !== replica)

const crossPairs = ([left, right]: readonly [readonly number[], readonly number[]]): [number, number][] =>
  left.flatMap(a =>
    right.flatMap((b): [number, number][] => [
      [a, b],
      [b, a]
    ])
  )
