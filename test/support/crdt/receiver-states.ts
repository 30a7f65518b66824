import { createEntry, type DeltaInterval, type Entry, type MergeResult, type PullRequest } from '../../../src/crdt/index.ts'
import { content, interval, ref } from './builders.ts'
import { checkRecord, demand, same, Violation } from './invariants.ts'
import type { MakeMap, MapLike, MapLimits } from './map-like.ts'
import { entryText, intervalText, show, showEntry, showResult } from './notation.ts'
import { applyOp, type OwnerOp } from './owner-histories.ts'
import type { OwnerModel } from './owner-model.ts'

interface ReceiverState {
  /** Never merged into again. */
  readonly map: MapLike
  /** The messages that lead here, by number. */
  readonly path: readonly number[]
  /** Those that were refused, in order, and may still be parked: their number alone would not say which. */
  readonly refused: readonly number[]
  /** Under repair: the highest head that any repair since began at. Else 0. */
  readonly repairFrom: number
  readonly next: Map<number, number>
}

/** Stands among the messages for: the next event comes as a lie, a false hash is noticed, and a repair begins. */
export const REPAIR = -1

/** All states that a receiver of one owner's messages is found in, by number; 0 knows nothing. */
export class Receivers {
  readonly model: OwnerModel
  readonly #make: MakeMap
  readonly #limits: MapLimits
  readonly #owners: readonly MapLike[]
  readonly #states: ReceiverState[] = []
  readonly #numbers = new Map<string, number>()
  readonly #messages: DeltaInterval[] = []
  readonly #hashes = new Map<string, string>()
  readonly #messageNumbers = new Map<string, number>()

  constructor(make: MakeMap, limits: MapLimits, model: OwnerModel, ops: readonly OwnerOp[]) {
    this.#make = make
    this.#limits = limits
    this.model = model
    this.#owners = Array.from({ length: ops.length + 1 }, (_, events) => {
      const owner = make(ref('O'), limits)
      for (const [index, op] of ops.slice(0, events).entries()) {
        applyOp(owner, op, index + 1)
      }
      return owner
    })
    this.#enter({ map: this.#replay([]), path: [], refused: [], repairFrom: 0, next: new Map() })
  }

  get count(): number {
    return this.#states.length
  }

  /** The owner after its first `events` events. */
  owner(events: number): MapLike {
    return this.#owners[events]!
  }

  map(state: number): MapLike {
    return this.#states[state]!.map
  }

  request(state: number): PullRequest {
    return this.map(state).request(ref('O'))
  }

  /** The number of a message, by which it is delivered. */
  number(interval: DeltaInterval): number {
    const text = intervalText(interval)
    const number = this.#messageNumbers.get(text) ?? this.#messages.push(interval) - 1
    this.#messageNumbers.set(text, number)
    return number
  }

  get messageCount(): number {
    return this.#messages.length
  }

  message(number: number): DeltaInterval {
    return this.#messages[number]!
  }

  /** All that can be seen of what a map holds of the owner. */
  describe(map: MapLike): string {
    return describeRecord(map)
  }

  /** The state after one more message. */
  deliver(state: number, message: number): number {
    const before = this.#states[state]!
    let after = before.next.get(message)
    if (after === undefined) {
      const path = [...before.path, message]
      try {
        after = this.#merge(before, message, path)
      } catch (error) {
        const trace = path.map(number => (number === REPAIR ? 'repair' : show(this.#messages[number]))).join(', ')
        throw error instanceof Violation ? new Violation(`${error.message}\nmessages: ${trace}`) : error
      }
      before.next.set(message, after)
    }
    return after
  }

  #merge(before: ReceiverState, message: number, path: readonly number[]): number {
    const map = this.#replay(before.path)
    if (message === REPAIR) {
      const repairFrom = Math.max(before.repairFrom, this.#repair(map))
      return this.#enter({ map, path, refused: [], repairFrom, next: new Map() })
    }
    const interval = this.#messages[message]!
    const result = map.merge(interval)
    checkStep(before.map, map, result, interval)
    checkRecord(map, this.model, isRepairing(map))
    const refused = result.outcome === 'gap' ? refuse(before, map, message) : before.refused
    const { head = 0, parked = 0 } = map.record(ref('O')) ?? {}
    const waiting = parked === 0 ? [] : refused.filter(number => this.#messages[number]!.asOf > head)
    demand(head >= before.repairFrom || isRepairing(map), 'a repair never ends below where it began', () => `${head}`)
    const repairFrom = isRepairing(map) ? before.repairFrom : 0
    return this.#enter({ map, path, refused: waiting, repairFrom, next: new Map() })
  }

  /** Returns the head at which the repair begins. */
  #repair(map: MapLike): number {
    const { head = 0, complete = false } = map.record(ref('O')) ?? {}
    if (complete && head < this.model.head) {
      const counter = head + 1
      map.merge(interval(head, counter, { adds: [createEntry(content(1000 + counter), counter)] }))
    }
    const { head: from = 0 } = map.record(ref('O')) ?? {}
    map.invalidate(ref('O'))
    return from
  }

  #enter(state: ReceiverState): number {
    const key = keyOf(state)
    const known = this.#numbers.get(key)
    if (known !== undefined) {
      return known
    }
    const number = this.#states.push(state) - 1
    this.#numbers.set(key, number)
    this.#checkHash(state.map)
    this.#checkFinishes(state)
    return number
  }

  /** Equal heads have equal hashes, and unequal entries have not. */
  #checkHash(map: MapLike): void {
    const record = map.record(ref('O'))
    if (record?.complete !== true) {
      return
    }
    const hash = `${record.hash.high} ${record.hash.low}`
    const entries = Array.from(map.entries(ref('O')), entryText).join()
    for (const [key, value] of [[`head ${record.head}`, hash] as const, [`hash ${hash}`, entries] as const]) {
      const other = this.#hashes.get(key) ?? value
      demand(other === value, 'a hash is that of the entries', () => `${key}: ${value} and ${other}`)
      this.#hashes.set(key, other)
    }
  }

  /** Whatever state it is in, pulls in the smallest frames from the owner complete it: there is no livelock. */
  #checkFinishes(state: ReceiverState): void {
    const map = this.#replay(state.path)
    const owner = this.#owners.at(-1)!
    const { head } = this.model
    for (let pulls = 0; head > 0 && !(map.record(ref('O'))?.complete === true && map.record(ref('O'))?.head === head); pulls++) {
      const interval = owner.serve(map.request(ref('O')), { adds: 1, marks: 1 })
      demand(interval !== undefined && pulls < 2 * head + 4, 'pulls complete', () => `asks ${JSON.stringify(map.request(ref('O')))}`)
      map.merge(interval)
      checkRecord(map, this.model, isRepairing(map))
    }
  }

  #replay(path: readonly number[]): MapLike {
    const map = this.#make(ref('R'), this.#limits)
    for (const number of path) {
      if (number === REPAIR) {
        this.#repair(map)
      } else {
        map.merge(this.#messages[number]!)
      }
    }
    return map
  }
}

/** A message that is refused again and takes no place is there already, or found none before either. */
function refuse(before: ReceiverState, map: MapLike, message: number): readonly number[] {
  const isParkedAnew = map.record(ref('O'))?.parked !== before.map.record(ref('O'))?.parked
  const isKnown = before.refused.includes(message)
  return isKnown && !isParkedAnew ? before.refused : [...before.refused.filter(number => number !== message), message]
}

function isRepairing(map: MapLike): boolean {
  return map.record(ref('O'))?.repairing === true
}

/** What the result says is the difference; nothing returns, nothing goes back, but what a lie left behind. */
function checkStep(before: MapLike, after: MapLike, result: MergeResult, interval: DeltaInterval): void {
  const what = (): string => `${show(interval)} gave ${showResult(result)}`
  const folded = new Map(Array.from(before.entries(ref('O')), entry => [entry.counter, entry]))
  const { known = 0, head = 0, cursor = null, repairing = false } = before.record(ref('O')) ?? {}
  for (const entry of result.added) {
    demand(entry.counter > known, 'a removed dot never returns', what)
    folded.set(entry.counter, entry)
  }
  for (const { before: old, after: now } of result.changed) {
    demand(same(folded.get(old.counter)!, old) && (now.state > old.state || repairing), 'a state never moves back', what)
    folded.set(now.counter, now)
  }
  for (const { entry } of result.removed) {
    demand(folded.delete(entry.counter), 'what is removed was held', what)
  }
  const held = [...after.entries(ref('O'))]
  demand(isFold(folded, held), 'folding the results gives the entries', () => `${what()}, holds ${held.map(showEntry).join(' ')}`)
  const now = after.record(ref('O'))
  const isForward =
    cursor === null || !now?.cursor || now.cursor.asOf > cursor.asOf || (now.cursor.asOf === cursor.asOf && now.cursor.to >= cursor.to)
  demand(isForward || now.head > head, 'a cursor never goes back', what)
}

function isFold(folded: ReadonlyMap<number, Entry>, held: readonly Entry[]): boolean {
  return folded.size === held.length && held.every(entry => folded.has(entry.counter) && same(folded.get(entry.counter)!, entry))
}

/** Two states with one key behave alike from here on. */
function keyOf({ map, refused, repairFrom }: ReceiverState): string {
  return `${describeRecord(map)} ${repairFrom} ${refused.join()}`
}

function describeRecord(map: MapLike): string {
  const record = map.record(ref('O'))
  if (record === undefined) {
    return ''
  }
  const { head, horizon, known, floor, cursor, hash, parked, repairing } = record
  const entries = Array.from(map.entries(ref('O')), showEntry)
  return JSON.stringify([head, horizon, known, floor, cursor, hash, parked, repairing, entries, map.marksSince(ref('O'), floor)])
}
