import type { DeltaInterval, Entry, MergeResult } from '../../../src/crdt/index.ts'
import { checkRecord, demand, same } from './invariants.ts'
import { Knowledge } from './knowledge.ts'
import type { MapLike } from './map-like.ts'
import { show, showEntry, showResult } from './notation.ts'
import type { OwnerModel } from './owner-model.ts'

/**
 * Watches one record at one process, and compares it with the owner's events after every merge:
 * - the record is what `checkRecord` says;
 * - folding the merges' results gives exactly the entries held;
 * - a removed dot never returns, nor does one come that was known to be gone; a state, a head, a horizon, a cursor never moves back.
 */
export class Witness {
  readonly #map: MapLike
  readonly #model: OwnerModel
  readonly #folded = new Map<number, Entry>()
  readonly #dead = new Set<number>()
  #knowledge: Knowledge | undefined
  #wasComplete = false
  #wasParked = 0
  #point: Point = pointOf(undefined)
  #lied = false
  #isRepairing = false
  #headBeforeRepair = 0

  /** @param isExact nothing is ever parked, so that what is applied is known, and with it the state of every dot */
  constructor(map: MapLike, model: OwnerModel, isExact = false) {
    this.#map = map
    this.#model = model
    this.#knowledge = isExact ? new Knowledge(model) : undefined
  }

  /** A lie was merged: it is folded like any other result. From here until a repair is over, the record is not compared with the owner. */
  believed(result: MergeResult): void {
    this.#lied = true
    this.#knowledge = undefined
    this.#fold(result, () => showResult(result))
    this.#point = this.#pointNow()
  }

  invalidated(): void {
    this.#knowledge = undefined
    this.#lied = true
    this.#isRepairing = true
    this.#dead.clear()
    this.#headBeforeRepair = Math.max(this.#headBeforeRepair, this.#point.head)
    this.#wasComplete = false
    this.#point = this.#pointNow()
    this.#checkFold()
  }

  merged(interval: DeltaInterval, result: MergeResult): void {
    const what = (): string => `${show(interval)} gave ${showResult(result)}`
    const wasRepairing = this.#isRepairing
    this.#fold(result, what)
    this.#isRepairing = this.#map.record(this.#model.ref)?.repairing ?? false
    if (wasRepairing && !this.#isRepairing) {
      const { head } = this.#map.record(this.#model.ref)!
      demand(
        head >= this.#headBeforeRepair,
        'a repair never ends below where it began',
        () => `${head}, began at ${this.#headBeforeRepair}`
      )
      this.#headBeforeRepair = 0
      // The end of a repair takes away what it does not reach, true or not: that may come again.
      this.#dead.clear()
    }
    const point = this.#pointNow()
    demand(isForward(this.#point, point), 'head, horizon, known and cursor never go back', what)
    demand(result.advanced === isMoved(this.#point, point), 'advanced says whether head, cursor or horizon moved', what)
    const silent = result.added.length + result.changed.length + result.removed.length === 0
    demand(result.outcome === 'applied' || (silent && !result.advanced), 'only an applied interval changes anything', what)
    // Of what is not even kept nothing is known, and nothing is known to be missing.
    demand(result.complete === (this.#map.record(this.#model.ref)?.complete ?? true), 'complete is that of the record', what)
    if (result.outcome === 'applied' && !this.#lied) {
      this.#checkReasons(interval, result, what)
    }
    this.#point = point
    if (this.#knowledge !== undefined && result.outcome === 'applied') {
      this.#knowledge.learn(interval)
      const held = Array.from(this.#map.entries(this.#model.ref), showEntry).join(' ')
      const due = this.#knowledge.held().map(showEntry).join(' ')
      demand(held === due, 'a record holds the pointwise maximum of what it was told', () => `${what()}: holds ${held}, should hold ${due}`)
    }
    this.check()
  }

  check(): void {
    const record = this.#map.record(this.#model.ref)
    if (record === undefined) {
      return
    }
    this.#checkFold()
    this.#lied &&= !record.complete
    checkRecord(this.#map, this.#model, this.#lied)
    for (let dot = 1; dot <= record.known; dot++) {
      if (!this.#folded.has(dot)) {
        this.#dead.add(dot)
      }
    }
    this.#wasComplete = record.complete
    this.#wasParked = record.parked
  }

  #fold(result: MergeResult, what: () => string): void {
    const dots = [...result.added, ...result.changed.map(({ after }) => after), ...result.removed.map(({ entry }) => entry)].map(
      entry => entry.counter
    )
    demand(new Set(dots).size === dots.length, 'a result names a dot once', what)
    for (const entry of result.added) {
      demand(!this.#folded.has(entry.counter), 'what is added was not held', what)
      demand(!this.#dead.has(entry.counter), 'a removed dot never returns', what)
      this.#folded.set(entry.counter, entry)
    }
    for (const { before, after } of result.changed) {
      const held = this.#folded.get(before.counter)
      demand(before.counter === after.counter && held !== undefined && same(held, before), 'before is what was held', what)
      demand(after.state > before.state || this.#lied, 'a state never moves back', what)
      this.#folded.set(after.counter, after)
    }
    for (const { entry } of result.removed) {
      const held = this.#folded.get(entry.counter)
      demand(held !== undefined && same(held, entry), 'what is removed was held', what)
      this.#folded.delete(entry.counter)
      this.#dead.add(entry.counter)
    }
  }

  #checkReasons(interval: DeltaInterval, result: MergeResult, what: () => string): void {
    const isPlain = interval.since === interval.from && interval.to === interval.asOf
    const simple = this.#wasComplete && isPlain && this.#wasParked === 0
    for (const { entry, reason } of result.removed) {
      const told = this.#model.reasonOfRemoval(entry.counter)
      demand(told !== undefined && (reason === told || (reason === 0 && !simple)), 'a removal has the mark’s reason', what)
    }
    const touched = result.touched ?? result.added.length + result.changed.length + result.removed.length
    const bound = 2 * (interval.adds.length + interval.marks.length) + 1
    demand(!simple || touched <= bound, 'a plain interval touches what it names', what)
  }

  #checkFold(): void {
    const ref = this.#model.ref
    const entries = [...this.#map.entries(ref)]
    const detail = (): string => `held ${entries.map(showEntry).join()}, folded ${[...this.#folded.keys()].join()}`
    demand(entries.length === this.#folded.size, 'folding the results gives the entries', detail)
    demand(this.#map.record(ref)?.count === entries.length, 'count is the number of entries', detail)
    let last = 0
    for (const entry of entries) {
      demand(entry.counter > last, 'entries ascend by dot', detail)
      const held = this.#folded.get(entry.counter)
      demand(held !== undefined && same(held, entry), 'folding the results gives the entries', detail)
      last = entry.counter
    }
  }

  #pointNow(): Point {
    return pointOf(this.#map.record(this.#model.ref))
  }
}

type Point = Pick<NonNullable<ReturnType<MapLike['record']>>, 'head' | 'horizon' | 'known' | 'cursor'>

function pointOf(record: Point | undefined): Point {
  const { head = 0, horizon = 0, known = 0, cursor = null } = record ?? {}
  return { head, horizon, known, cursor: cursor === null ? null : { ...cursor } }
}

/** A cursor is let go when the head reaches it, and then may start lower; without a step of the head it never goes back. */
function isForward(a: Point, b: Point): boolean {
  const isCursorForward =
    a.cursor === null ||
    b.cursor === null ||
    b.cursor.asOf > a.cursor.asOf ||
    (b.cursor.asOf === a.cursor.asOf && b.cursor.to >= a.cursor.to)
  return b.head >= a.head && b.horizon >= a.horizon && b.known >= a.known && (isCursorForward || b.head > a.head)
}

function isMoved(a: Point, b: Point): boolean {
  return a.head !== b.head || a.horizon !== b.horizon || a.cursor?.to !== b.cursor?.to || a.cursor?.asOf !== b.cursor?.asOf
}
