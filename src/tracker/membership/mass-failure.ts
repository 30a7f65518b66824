import type { Member } from './member.ts'

export interface MassFailureOptions {
  /** Losses whose silences began within so long of each other may have one cause. */
  readonly windowMs: number
  /** Leaves are held at most so long. */
  readonly holdMs: number
}

/**
 * The mass-failure valve. When more than half of the cluster falls silent together, it is likelier that this replica was cut off
 * than that all of them died: their leaves are held.
 *
 * INV-35: only losses in silence count (a goodbye or a refused dial is none), and only among three or more; it never delays goodbyes, retirement or the
 * end of our own connections. [After Kubernetes' zone disruption, and Lifeguard]
 */
export class MassFailureValve {
  readonly #options: MassFailureOptions
  #untilMs = Number.NEGATIVE_INFINITY
  #isolated = false

  constructor(options: MassFailureOptions) {
    this.#options = options
  }

  get isolated(): boolean {
    return this.#isolated
  }

  /** Whether the leaves of this lost member wait. */
  holds(member: Member): boolean {
    return this.#isolated && isSilentLoss(member)
  }

  /** Looks at all members. @returns whether `isolated` has changed */
  update(members: Iterable<Member>, nowMs: number): boolean {
    const lost: Member[] = []
    let alive = 1
    for (const member of members) {
      if (isSilentLoss(member)) {
        lost.push(member)
      } else if (member.status !== 'down') {
        alive++
      }
    }
    if (!this.#isolated) {
      this.#isolated = this.#largestGroup(lost) > alive
      this.#untilMs = nowMs + this.#options.holdMs
      return this.#isolated
    }
    const heardAgain = alive > lost.length
    if (!heardAgain && nowMs < this.#untilMs) {
      return false
    }
    this.#isolated = false
    for (const member of lost) {
      member.released = true
    }
    return true
  }

  /** This process stood still. */
  shift(byMs: number): void {
    this.#untilMs += byMs
  }

  /** The most losses whose silences began within one window. */
  #largestGroup(lost: readonly Member[]): number {
    const begins = lost.map(member => member.lastSignMs).sort((a, b) => a - b)
    let largest = 0
    let first = 0
    for (let i = 0; i < begins.length; i++) {
      while ((begins[i] as number) - (begins[first] as number) > this.#options.windowMs) {
        first++
      }
      largest = Math.max(largest, i - first + 1)
    }
    return largest
  }
}

/** Judged down for its silence alone, and still listed. */
function isSilentLoss(member: Member): boolean {
  return member.status === 'down' && !member.left && !member.refused && !member.hidden && !member.released
}
