import type { Disturbance, Ledger, Span } from './ledger.ts'

/** What Rollcall promises, as numbers. In ms. */
export interface Bounds {
  /** From a change at its owner until every undisturbed replica lists it. */
  readonly propagationMs: number
  /** From the end of a disturbance until replicas know all of each other again. */
  readonly recoveryMs: number
  /** From a replica's silence until it is judged down. */
  readonly detectionMs: number
  /** How long a lost client, or the clients of a dead replica, are held. */
  readonly graceMs: number
}

/** Whether a replica has to list a presence now, may, or must not. */
export type Verdict = 'must' | 'may' | 'never'

/**
 * Says what each replica should list, from the ledger alone: it knows no replica, no CRDT and no message. Where something was broken it
 * allows what the promise allows: a presence may be missing while its owner cannot be heard, and may be held for detection and grace.
 */
export class Oracle {
  readonly #ledger: Ledger
  readonly #bounds: Bounds

  constructor(ledger: Ledger, bounds: Bounds) {
    this.#ledger = ledger
    this.#bounds = bounds
  }

  verdict(place: string, observer: number, atMs: number): Verdict {
    const spans = this.#ledger.spans.get(place) ?? []
    let may = false
    for (const [index, span] of spans.entries()) {
      if (this.#must(spans, index, observer, atMs)) {
        return 'must'
      }
      may ||= span.fromMs <= atMs && atMs <= this.#goneByMs(span, observer)
    }
    return may ? 'may' : 'never'
  }

  /** When everything is mended and settled, exactly these are listed, everywhere: place → number of the replica that holds it. */
  expected(): Map<string, number> {
    const expected = new Map<string, number>()
    for (const [place, spans] of this.#ledger.spans) {
      const open = spans.findLast(span => span.how === 'open')
      if (open !== undefined) {
        expected.set(place, open.replica)
      }
    }
    return expected
  }

  #must(spans: readonly Span[], index: number, observer: number, atMs: number): boolean {
    const { propagationMs, recoveryMs } = this.#bounds
    const span = spans[index] as Span
    if (span.heldMs + propagationMs > atMs || this.#heldUntilMs(spans, index) <= atMs) {
      return false
    }
    // Where the session was before counts too: late news of how it ended there hides it until its client is heard again.
    const places = [...new Set(spans.map(({ replica }) => replica))]
    const pairs = places.flatMap((place): [number, number][] => [
      [observer, place],
      [span.replica, place]
    ])
    const { fromMs, troubles } = this.#ledger.troubleBefore(pairs, atMs, recoveryMs)
    return troubles.length === 0 || this.#survives(spans, index, observer, atMs, fromMs, troubles)
  }

  // What was known before the trouble stays listed, though as unknown, for as long as the grace: a replica must be down for that long to be hidden.
  #survives(
    spans: readonly Span[],
    index: number,
    observer: number,
    atMs: number,
    fromMs: number,
    troubles: readonly Disturbance[]
  ): boolean {
    const { propagationMs, graceMs } = this.#bounds
    const knownMs = fromMs - propagationMs
    const span = spans[index] as Span
    const isKnown = span.heldMs <= knownMs && spans.slice(0, index).every(before => before.endedMs <= knownMs)
    const isReplaced = spans.slice(index + 1).some(after => after.how !== 'open')
    return isKnown && !isReplaced && atMs < fromMs + graceMs - 1_000 && troubles.every(({ restarts }) => restarts !== observer)
  }

  // A lost client, or one whose replica died, is held for the grace, unless it came back and left for good. One second for the pulse of the tracker.
  #heldUntilMs(spans: readonly Span[], index: number): number {
    const { propagationMs, graceMs } = this.#bounds
    const span = spans[index] as Span
    const next = spans[index + 1]
    if (span.how === 'open') {
      return Number.POSITIVE_INFINITY
    }
    // Who comes and is lost before it was known how he left elsewhere may stay hidden by that: his client is not heard again.
    const isShown =
      span.endMs >= span.heldMs + propagationMs ||
      spans.slice(0, index).every(before => before.replica === span.replica || before.endedMs + propagationMs <= span.heldMs)
    const isHeld = span.how !== 'left' && isShown && (next === undefined || next.how === 'open')
    return isHeld ? span.endMs + graceMs - 1_000 : span.endMs
  }

  // Each disturbance that begins before it is gone delays it; and what began within that delay delays it further.
  #goneByMs(span: Span, observer: number): number {
    const { propagationMs, recoveryMs, detectionMs, graceMs } = this.#bounds
    const held = span.how === 'left' ? 0 : graceMs + (span.how === 'died' ? detectionMs : 0)
    let goneByMs = span.endedMs + propagationMs + held
    for (;;) {
      const disturbedMs = this.#ledger.lastDisturbedMs(observer, span.replica, span.fromMs, goneByMs)
      const delayedMs = disturbedMs + recoveryMs + detectionMs + graceMs
      if (!(delayedMs > goneByMs)) {
        return goneByMs
      }
      goneByMs = delayedMs
    }
  }
}
