import type { Budget, DeltaInterval } from '../../../src/crdt/index.ts'
import { demand } from './invariants.ts'
import type { MakeMap, MapLike, MapLimits } from './map-like.ts'
import { show, showRecord, showResult } from './notation.ts'
import { type Process, World } from './world.ts'

/**
 * A schedule by hand: an owner, its receivers, and who gets what. Every merge is held against the owner's events, what
 * is served is not, so that a map with a rule taken out shows what comes of it. What the schedule itself says of a step
 * (`expect`) is asked of whole maps only.
 */
export class Schedule {
  readonly world: World
  readonly owner: Process
  readonly r: Process
  readonly x: Process
  readonly y: Process
  readonly #whole: boolean

  constructor(make: MakeMap, limits: MapLimits, whole: boolean) {
    this.world = new World(make, 4, limits)
    const [owner, r, x, y] = this.world.processes as [Process, Process, Process, Process]
    this.owner = owner
    this.r = r
    this.x = x
    this.y = y
    this.#whole = whole
  }

  /** So many events, each of which adds. */
  add(times = 1): void {
    for (let i = 0; i < times; i++) {
      this.world.add(this.owner)
    }
  }

  update(counter: number): void {
    this.world.update(this.owner, counter, 7)
  }

  mark(counter: number, state: 1 | 2 | 3): void {
    this.world.mark(this.owner, counter, state, 7)
  }

  remove(counter: number): void {
    this.mark(counter, 3)
  }

  /** What `server` answers to the request of `receiver`. */
  cut(server: Process, receiver: Process, budget?: Budget): DeltaInterval | undefined {
    return server.map.serve(receiver.map.request(this.owner.map.self), budget)
  }

  /** What `server` sends to one whom it believes to stand at `head`. */
  push(server: Process, head: number, budget?: Budget): DeltaInterval | undefined {
    return server.map.serve({ replica: this.owner.map.self, shard: 0, head, cursor: null }, budget)
  }

  /** What the owner's events are between two points, as if it had been composed from what was cut in time. */
  plain(from: number, to: number): DeltaInterval {
    return this.world.model(this.owner.map.self).interval(from, to)
  }

  /** Merges, and says what came of it: the outcome and the difference; with `expected`, it must be that. */
  give(receiver: Process, interval: DeltaInterval | undefined, expected?: string): void {
    if (interval !== undefined) {
      const result = showResult(this.world.merge(receiver, interval))
      this.expect(result, expected ?? result)
    }
  }

  /** `cut`, then `give`: what was cut must be `message`. */
  pull(receiver: Process, server: Process, message: string, budget?: Budget): void {
    const interval = this.cut(server, receiver, budget)
    this.expect(show(interval), message)
    this.give(receiver, interval)
  }

  holds(process: Process, expected: string): void {
    this.expect(showRecord(process.map, this.owner.map), expected)
  }

  expect(actual: string, expected: string): void {
    demand(!this.#whole || actual === expected, 'the schedule', () => `${actual}, but it says ${expected}`)
  }

  /** Everyone pulls from the owner in the smallest frames, and is complete at its head in the end. */
  settle(): void {
    const { head } = this.owner.map.record(this.owner.map.self)!
    for (const process of [this.r, this.x, this.y]) {
      for (let pulls = 0; !isAt(process.map, this.owner.map, head); pulls++) {
        demand(pulls < 4 * head + 4, 'all converge', () => showRecord(process.map, this.owner.map))
        this.give(process, this.cut(this.owner, process, { adds: 1, marks: 1 }))
      }
    }
  }
}

function isAt(map: MapLike, owner: MapLike, head: number): boolean {
  const record = map.record(owner.self)
  return record?.complete === true && record.head === head
}
