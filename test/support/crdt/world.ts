import { type Budget, type DeltaInterval, type EntryContent, type ReplicaRef, refKey, sameRef } from '../../../src/crdt/index.ts'
import { content, ref } from './builders.ts'
import { demand } from './invariants.ts'
import type { MakeMap, MapLike, MapLimits } from './map-like.ts'
import { entryText, intervalText, show } from './notation.ts'
import { OwnerModel } from './owner-model.ts'
import { Witness } from './witness.ts'

export interface Process {
  readonly index: number
  map: MapLike
  /** Witnesses of the records held here, by ref key. */
  readonly witnesses: Map<string, Witness>
}

export interface InFlight {
  readonly to: Process
  readonly interval: DeltaInterval
}

/**
 * A tiny network of maps, each the owner of one record: what is sent stays in flight until somebody delivers or loses
 * it, to whomever they like. Everything served and everything merged is held against the owners' models.
 */
export class World {
  readonly processes: Process[]
  readonly models = new Map<string, OwnerModel>()
  readonly flight: InFlight[] = []
  /** Counts of what happened, for the tests that print them. */
  readonly counts = { events: 0, served: 0, slices: 0, merges: 0, refused: 0, drops: 0, repairs: 0, relayAnswers: 0 }
  readonly #make: MakeMap
  readonly #limits: MapLimits
  readonly #seen = new Map<string, string>()
  #contents = 0

  constructor(make: MakeMap, processes: number, limits: MapLimits = {}) {
    this.#make = make
    this.#limits = limits
    this.processes = Array.from({ length: processes }, (_, index) => {
      const self = ref(String.fromCharCode(65 + index))
      return { index, map: this.#start(self), witnesses: new Map() }
    })
  }

  model(of: ReplicaRef): OwnerModel {
    return this.models.get(refKey(of))!
  }

  /** The replica refs of all lives so far. */
  refs(): ReplicaRef[] {
    return Array.from(this.models.values(), model => model.ref)
  }

  /** An entry like no other, or with the content given. */
  add({ map }: Process, made: EntryContent = content(this.#contents++)): void {
    const entry = map.add(made)
    this.model(map.self).add(made)
    this.counts.events++
    demand(entry.counter === this.model(map.self).head && entry.state === 0, 'an add takes the next dot', () => entryText(entry))
    this.#checkOwn(map)
  }

  update({ map }: Process, counter: number, reason: number): void {
    const made = content(this.#contents++)
    const entry = map.update(counter, made, reason)
    const isEvent = this.model(map.self).update(counter, made, reason)
    this.counts.events += isEvent ? 1 : 0
    demand((entry !== undefined) === isEvent, 'an update is an event when its dot is held', () => `dot ${counter}`)
    this.#checkOwn(map)
  }

  mark({ map }: Process, counter: number, state: 1 | 2 | 3, reason: number): void {
    const model = this.model(map.self)
    const stateBefore = model.stateAt(counter, model.head)
    const before = map.mark(counter, state, reason)
    const isEvent = model.mark(counter, state, reason)
    this.counts.events += isEvent ? 1 : 0
    demand(before?.state === (isEvent ? stateBefore : undefined), 'a mark is an event when it moves the dot on', () => `dot ${counter}`)
    this.#checkOwn(map)
  }

  /** The process starts again under the next incarnation; nothing is left of what it knew. */
  restart(process: Process): void {
    const { id, incarnation } = process.map.self
    process.map = this.#start(ref(id, incarnation + 1))
    process.witnesses.clear()
  }

  /** The process goes on under the next incarnation, with all its entries under new dots. */
  reincarnate(process: Process): void {
    const old = this.model(process.map.self)
    const next = new OwnerModel(ref(old.ref.id, old.ref.incarnation + 1))
    const held = old.held(old.head, old.head)
    for (const entry of held) {
      next.add(entry, entry.state)
    }
    this.models.set(refKey(next.ref), next)
    const moved = process.map.reincarnate(next.ref)
    demand(process.map.record(old.ref) === undefined, 'the old record is dropped', () => refKey(old.ref))
    const text = moved.map(({ before, after }) => entryText(before) + entryText(after)).join()
    const due = held.map((entry, index) => entryText(entry) + entryText(next.entryAt(index + 1, entry.state))).join()
    demand(text === due, 'reincarnation tells every entry before and after', () => text)
    this.#checkOwn(process.map)
  }

  /** `server` answers one who stands where `request` says, and the answer is what the owner's events say. */
  serve(server: Process, request: Parameters<MapLike['serve']>[0], budget?: Budget): DeltaInterval | undefined {
    const answer = server.map.serve(request, budget)
    if (answer === undefined) {
      return undefined
    }
    const { from, to, since, asOf, replica } = answer
    const detail = (): string => `${show(answer)} to ${JSON.stringify(request)} from ${server.map.self.id}`
    demand(sameRef(replica, request.replica) && asOf <= this.model(replica).head, 'only what is known is served', detail)
    demand(asOf > since || to > from, 'an empty interval is never served', detail)
    const due = this.model(replica).interval(from, to, since, asOf)
    demand(intervalText(answer) === intervalText(due), 'what is served is minimal and whole', () => `${detail()}, should be ${show(due)}`)
    demand(answer.adds.length <= (budget?.adds ?? 1e9) && answer.marks.length <= (budget?.marks ?? 1e9), 'the budget is kept', detail)
    const record = server.map.record(replica)!
    demand(record.complete && record.head > request.head && asOf <= record.head, 'only complete records serve, up to their head', detail)
    const point = JSON.stringify(['answer', refKey(replica), record.head, from, since, budget])
    this.#demandOne(point, intervalText(answer), 'equal heads and points give equal answers')
    this.counts.relayAnswers += sameRef(server.map.self, replica) ? 0 : 1
    this.counts.served++
    this.counts.slices += to < asOf ? 1 : 0
    return answer
  }

  merge(process: Process, interval: DeltaInterval): ReturnType<MapLike['merge']> {
    const isOwn = sameRef(interval.replica, process.map.self)
    const result = process.map.merge(interval)
    this.counts.merges++
    this.counts.refused += result.outcome === 'gap' ? 1 : 0
    demand(isOwn === (result.outcome === 'own'), 'nobody merges about itself', () => show(interval))
    if (!isOwn) {
      this.witness(process, interval.replica).merged(interval, result)
      const parked = process.map.record(interval.replica)?.parked ?? 0
      demand(parked <= (this.#limits.parkLimit ?? 4), 'parking is bounded', () => `${parked} are parked`)
      if (process.map.record(interval.replica)?.complete === true) {
        this.#checkState(process.map, interval.replica)
      }
    }
    return result
  }

  drop(process: Process, of: ReplicaRef): void {
    const held = process.map.record(of)?.count ?? 0
    demand(process.map.drop(of) === held, 'drop returns the number of its entries', () => `${held}`)
    demand(process.map.record(of) === undefined, 'nothing is left of a dropped record', () => refKey(of))
    process.witnesses.delete(refKey(of))
    this.counts.drops++
  }

  /** The record takes a lie about its owner's next event, a false hash is noticed, and a repair begins. */
  corrupt(process: Process, of: ReplicaRef, lies: number): void {
    const record = process.map.record(of)
    const head = record?.head ?? 0
    if (record?.complete !== true || head + lies > this.model(of).head) {
      return
    }
    const forged = new OwnerModel(of)
    for (let event = 1; event <= head + lies; event++) {
      forged.add(content(1_000_000 + event))
    }
    const last = Array.from(process.map.entries(of)).at(-1)?.counter
    const marks = last === undefined ? [] : [{ event: head + lies, counter: last, state: 3 as const, reason: 99 }]
    const lie = forged.interval(head, head + lies)
    const result = process.map.merge({ ...lie, adds: lie.adds.slice(0, lies - marks.length), marks })
    demand(result.outcome === 'applied', 'a well-formed lie is believed', () => show(lie))
    this.witness(process, of).believed(result)
    this.invalidate(process, of)
  }

  invalidate(process: Process, of: ReplicaRef): void {
    if (process.map.invalidate(of)) {
      this.witness(process, of).invalidated()
      const { head, known, horizon, cursor, parked } = process.map.record(of)!
      demand(
        head + known + horizon + parked === 0 && cursor === null,
        'a repair starts from nothing',
        () => `${head} ${known} ${horizon} ${parked}`
      )
      this.counts.repairs++
    }
  }

  witness(process: Process, of: ReplicaRef): Witness {
    const key = refKey(of)
    const witness = process.witnesses.get(key) ?? new Witness(process.map, this.model(of), this.#limits.parkLimit === 0)
    process.witnesses.set(key, witness)
    return witness
  }

  #start(self: ReplicaRef): MapLike {
    this.models.set(refKey(self), new OwnerModel(self))
    return this.#make(self, this.#limits)
  }

  /** Costs a walk over its entries, so only the owner's own map is held against the model after each event. */
  #checkOwn(map: MapLike): void {
    const { head } = this.model(map.self)
    const record = map.record(map.self)!
    const detail = (): string => `own record ${JSON.stringify(record)}, events ${head}`
    demand(record.complete && record.head === head && record.known === head && record.horizon === head, 'the owner knows all', detail)
    const held = Array.from(map.entries(map.self), entryText).join()
    demand(held === this.model(map.self).held(head, head).map(entryText).join(), 'the owner holds L(head, head)', () => held)
    this.#checkState(map, map.self)
  }

  /** That the entries at equal heads are equal, the witnesses see to. */
  #checkState(map: MapLike, of: ReplicaRef): void {
    const { head, hash } = map.record(of)!
    const state = Array.from(map.entries(of), entryText).join()
    const text = `${hash.high} ${hash.low}`
    this.#demandOne(`hash of ${refKey(of)} at ${head}`, text, 'equal heads give equal hashes')
    this.#demandOne(`state of ${refKey(of)} with hash ${text}`, state, 'equal hashes mean equal entries')
  }

  #demandOne(key: string, value: string, rule: string): void {
    const other = this.#seen.get(key) ?? value
    demand(other === value, rule, () => `${key}: ${value} and ${other}`)
    this.#seen.set(key, other)
  }
}
