/**
 * What truly happened, as the simulation did it: who was put where and when, and what was broken when. The oracle reads this and
 * nothing else. Times are of the shared monotonic clock, in ms; what has not happened yet is Infinity.
 */

/** One session present in one topic on one replica. */
export interface Span {
  readonly replica: number
  /** When the client was told to come … */
  readonly fromMs: number
  /** … and when its replica had done it. Infinity while that is not reported. */
  heldMs: number
  /** When the client was told to go, or its replica died … */
  endMs: number
  /** … and when its replica had done it. */
  endedMs: number
  /** `left`: cleanly. `lost`: its socket died. `died`: its replica did. */
  how: 'open' | 'left' | 'lost' | 'died'
}

/** Something was broken that may delay what replicas know of each other. */
export interface Disturbance {
  readonly label: string
  readonly fromMs: number
  /** When it was mended; Infinity until then. */
  untilMs: number
  /** The replica that begins again with nothing; −1 for none. */
  readonly restarts: number
  /** Whether it touches what `observer` knows of `replica`. */
  touches(observer: number, replica: number): boolean
}

/** The name of a place: a user in a topic. */
export const placeOf = (topic: string, user: string): string => `${topic}\u0000${user}`

/** The facts of one run. */
export class Ledger {
  /** By place (topic and user), oldest first. */
  readonly spans = new Map<string, Span[]>()
  readonly disturbances: Disturbance[] = []
  /** How often a process stood still though nobody stopped it, and how long in all. */
  stallCount = 0
  stallMs = 0

  open(place: string, replica: number, fromMs: number): Span {
    const span: Span = {
      replica,
      fromMs,
      heldMs: Number.POSITIVE_INFINITY,
      endMs: Number.POSITIVE_INFINITY,
      endedMs: Number.POSITIVE_INFINITY,
      how: 'open'
    }
    const known = this.spans.get(place)
    if (known === undefined) {
      this.spans.set(place, [span])
    } else {
      known.push(span)
    }
    return span
  }

  /** A process died, was stopped or paused. Mended by setting `untilMs`. */
  disturbReplica(label: string, replica: number, fromMs: number, restarts = false): Disturbance {
    return this.#add(label, fromMs, restarts ? replica : -1, (a, b) => a === replica || b === replica)
  }

  /** Links between two groups are broken. */
  disturbLinks(label: string, groups: readonly [readonly number[], readonly number[]], fromMs: number): Disturbance {
    const [left, right] = groups
    return this.#add(label, fromMs, -1, (a, b) => (left.includes(a) && right.includes(b)) || (left.includes(b) && right.includes(a)))
  }

  /** A process stood still for a while that is over; −1: the one that carries all links, which touches every pair. */
  stalled(replica: number, fromMs: number, untilMs: number): void {
    this.#add('stall', fromMs, -1, (a, b) => replica === -1 || a === replica || b === replica).untilMs = untilMs
    this.stallCount++
    this.stallMs += untilMs - fromMs
  }

  /** The latest end of what touched the pair and began before `beforeMs` and ended after `afterMs`; −Infinity when nothing did. */
  lastDisturbedMs(observer: number, replica: number, afterMs: number, beforeMs: number): number {
    let latest = Number.NEGATIVE_INFINITY
    for (const disturbance of this.disturbances) {
      if (disturbance.fromMs < beforeMs && disturbance.untilMs > afterMs && disturbance.touches(observer, replica)) {
        latest = Math.max(latest, disturbance.untilMs)
      }
    }
    return latest
  }

  /**
   * The disturbances of any of these pairs that lead up to `atMs` without a break of `recoveryMs`, and when the first of them began;
   * `atMs` itself when there is none.
   */
  troubleBefore(
    pairs: readonly (readonly [number, number])[],
    atMs: number,
    recoveryMs: number
  ): { fromMs: number; troubles: Disturbance[] } {
    const left = new Set(this.disturbances.filter(({ touches }) => pairs.some(([a, b]) => touches(a, b))))
    const troubles: Disturbance[] = []
    let fromMs = atMs
    for (let grew = true; grew; ) {
      grew = false
      for (const disturbance of left) {
        if (disturbance.fromMs < atMs && disturbance.untilMs + recoveryMs > fromMs) {
          left.delete(disturbance)
          troubles.push(disturbance)
          fromMs = Math.min(fromMs, disturbance.fromMs)
          grew = true
        }
      }
    }
    return { fromMs, troubles }
  }

  /** What is known of a place, for those who look into a failed check. Seconds since `startMs`. */
  explain(place: string, startMs: number, name: (replica: number) => string): string {
    const seconds = (ms: number): string => (Number.isFinite(ms) ? ((ms - startMs) / 1_000).toFixed(2) : '…')
    const spans = (this.spans.get(place) ?? []).slice(-4)
    const told = spans.map(
      ({ replica, fromMs, heldMs, endMs, endedMs, how }) =>
        `on ${name(replica)} ${seconds(fromMs)}/${seconds(heldMs)} to ${seconds(endMs)}/${seconds(endedMs)} ${how}`
    )
    return told.length === 0 ? 'never there' : told.join('; ')
  }

  /** Forgets spans and stalls that ended before `beforeMs`, so that a year of them costs no more than a minute. */
  compact(beforeMs: number): void {
    const kept = this.disturbances.filter(disturbance => disturbance.untilMs > beforeMs || disturbance.label !== 'stall')
    this.disturbances.splice(0, this.disturbances.length, ...kept)
    for (const [place, spans] of this.spans) {
      const kept = spans.filter(span => span.endedMs > beforeMs)
      if (kept.length === 0) {
        this.spans.delete(place)
      } else if (kept.length < spans.length) {
        this.spans.set(place, kept)
      }
    }
  }

  #add(label: string, fromMs: number, restarts: number, touches: Disturbance['touches']): Disturbance {
    const disturbance: Disturbance = { label, fromMs, untilMs: Number.POSITIVE_INFINITY, restarts, touches }
    this.disturbances.push(disturbance)
    return disturbance
  }
}
