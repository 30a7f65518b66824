import type { Environment, Random } from '../../tracker/environment.ts'
import type { MessageType } from '../../tracker/messages.ts'
import type { ResolvedConditions } from './conditions.ts'
import type { Frame } from './frame.ts'
import { drawLatency, medianLatency } from './latency.ts'

/** Which frames are held back by hand. */
export type HoldFilter = (type: MessageType) => boolean

/** The least time after which TCP sends a lost segment again. */
const RETRANSMIT_MS = 200

/** One direction between two addresses: delays, loses, doubles and shuffles frames; can be cut, and be operated by hand. */
export class Wire {
  readonly #environment: Environment
  readonly #random: Random
  readonly #held: Frame[] = []
  #conditions: ResolvedConditions
  #cutSinceMs: number | undefined
  #hold: HoldFilter | null = null
  readonly #stalled: (() => void)[] = []
  #freeAtMs = 0

  constructor(environment: Environment, random: Random, conditions: ResolvedConditions) {
    this.#environment = environment
    this.#random = random
    this.#conditions = conditions
  }

  get cut(): boolean {
    return this.#cutSinceMs !== undefined
  }

  /** The environment's monotonic time of the cut. */
  get cutSinceMs(): number | undefined {
    return this.#cutSinceMs
  }

  get held(): readonly Frame[] {
    return this.#held
  }

  get holding(): boolean {
    return this.#hold !== null
  }

  get conditions(): ResolvedConditions {
    return this.#conditions
  }

  setConditions(conditions: ResolvedConditions): void {
    this.#conditions = conditions
  }

  /** Nothing arrives any more, not even what is on its way. The ends do not know: they send on, and wait. */
  setCut(cut: boolean): void {
    if (cut) {
      this.#cutSinceMs ??= this.#environment.monotonicMs()
      return
    }
    this.#cutSinceMs = undefined
    for (const arrive of this.#stalled.splice(0)) {
      this.control(arrive)
    }
  }

  /** From now on matching frames wait for `release`; null ends it, and lets those that were held go, in order. */
  setHold(filter: HoldFilter | null): void {
    this.#hold = filter
    if (filter === null) {
      const delayMs = drawLatency(this.#conditions.latencyMs, this.#random)
      for (const frame of this.#held.splice(0)) {
        this.#later(delayMs, () => frame.arriveByHand())
      }
    }
  }

  /** @throws RangeError when none is held under that index */
  heldFrame(index: number): Frame {
    const frame = this.#held[index]
    if (frame === undefined) {
      throw new RangeError(`no frame ${index} is held, only ${this.#held.length}`)
    }
    return frame
  }

  /** The same, and takes it out of the queue. */
  takeHeld(index: number): Frame {
    const frame = this.heldFrame(index)
    this.#held.splice(index, 1)
    return frame
  }

  /** What is typical, one way. */
  get typicalMs(): number {
    return medianLatency(this.#conditions.latencyMs)
  }

  /** Opening and closing of links: late like frames, and stopped by a cut, but never lost. */
  control(arrive: () => void): void {
    this.#later(drawLatency(this.#conditions.latencyMs, this.#random), arrive)
  }

  frame(frame: Frame): void {
    if (this.#hold?.(frame.type) === true) {
      frame.leaveOrder()
      this.#held.push(frame)
      return
    }
    const delayMs = this.#transmissionMs(frame) + drawLatency(this.#conditions.latencyMs, this.#random)
    const { lossRate, lossMode, duplicateRate } = this.#conditions
    if (lossRate > 0 && lossMode !== 'retransmit' && this.#random.nextFloat() < lossRate) {
      frame.leaveOrder()
      frame.settle()
      if (lossMode === 'break') {
        this.#later(delayMs + 2 * RETRANSMIT_MS, () => frame.breakLink())
      }
      return
    }
    this.#carry(frame, delayMs + this.#retransmissionsMs())
    if (duplicateRate > 0 && this.#random.nextFloat() < duplicateRate) {
      const copyMs = drawLatency(this.#conditions.latencyMs, this.#random) + this.#random.below(100)
      this.#later(delayMs + copyMs, () => frame.arriveAgain())
    }
  }

  #carry(frame: Frame, delayMs: number): void {
    if (this.#conditions.reorder) {
      frame.leaveOrder()
      this.#later(delayMs + this.#random.nextFloat() * this.#conditions.reorderWindowMs, () => frame.arrive())
    } else {
      this.#later(delayMs, () => frame.arriveInOrder())
    }
  }

  #transmissionMs(frame: Frame): number {
    const { bytesPerSecond } = this.#conditions
    if (bytesPerSecond === Number.POSITIVE_INFINITY) {
      return 0
    }
    const ownMs = (frame.size / bytesPerSecond) * 1_000
    if (frame.isBeat) {
      return ownMs
    }
    const nowMs = this.#environment.monotonicMs()
    this.#freeAtMs = Math.max(this.#freeAtMs, nowMs) + ownMs
    return this.#freeAtMs - nowMs
  }

  #retransmissionsMs(): number {
    const { lossRate, lossMode } = this.#conditions
    let delayMs = 0
    if (lossMode === 'retransmit' && lossRate > 0) {
      for (let timeoutMs = RETRANSMIT_MS + 2 * this.typicalMs; timeoutMs < 10_000 && this.#random.nextFloat() < lossRate; timeoutMs *= 2) {
        delayMs += timeoutMs
      }
    }
    return delayMs
  }

  #later(delayMs: number, arrive: () => void): void {
    this.#environment.schedule(delayMs, () => {
      if (this.cut) {
        this.#stalled.push(arrive)
      } else {
        arrive()
      }
    })
  }
}
