import fc from 'fast-check'
import { type Budget, type DeltaInterval, type ReplicaRef, sameRef } from '../../../src/crdt/index.ts'
import { demand } from './invariants.ts'
import type { MakeMap, MapLimits } from './map-like.ts'
import { type Process, World } from './world.ts'

/** One step of a history: what happens, and four numbers that say to whom, each taken modulo what there is. */
export type Command = readonly [kind: Kind, a: number, b: number, c: number, d: number]

export interface History {
  readonly processes: number
  /** How many of them make events. */
  readonly owners: number
  readonly limits: MapLimits
  readonly commands: readonly Command[]
  /** Of the order of the pulls at the end. */
  readonly seed: number
}

export interface HistoryOptions {
  readonly commandsMax?: number
  readonly parkLimits?: readonly number[]
  /** Without 'corrupt' and 'invalidate' no record is ever under repair. */
  readonly repairs?: boolean
}

const BUDGETS: readonly (Budget | undefined)[] = [
  undefined,
  { adds: 1, marks: 1 },
  { adds: 2, marks: 1 },
  { adds: 1, marks: 3 },
  { adds: 4, marks: 2 }
]

/** Histories of 2 … 5 processes, with loss, duplication, reordering, third parties, slices, relays, drops and repairs. */
export function histories({ commandsMax = 100, parkLimits = [0, 1, 3, 4], repairs = true }: HistoryOptions = {}): fc.Arbitrary<History> {
  const kinds = Object.entries(ACTIONS).filter(([name]) => repairs || (name !== 'corrupt' && name !== 'invalidate'))
  const kind = fc.constantFrom(...kinds.flatMap(([name, [weight]]) => new Array<Kind>(weight).fill(name as Kind)))
  const number = fc.nat(255)
  return fc.record({
    processes: fc.integer({ min: 2, max: 5 }),
    owners: fc.constantFrom(1, 1, 2, 5),
    limits: fc.record({ logLimit: fc.constantFrom(1000, 0, 1, 2, 5, 9), parkLimit: fc.constantFrom(...parkLimits) }),
    commands: fc.array(fc.tuple(kind, number, number, number, number), { maxLength: commandsMax, size: 'max' }),
    seed: fc.nat()
  })
}

/** Runs a history, then pulls until all are equal, and delivers what is still in flight once more. */
export function runHistory(make: MakeMap, history: History, afterStep: (world: World) => void = () => {}): World {
  const world = new World(make, history.processes, history.limits)
  for (const command of history.commands) {
    step(world, command, history.owners)
    afterStep(world)
  }
  settle(world, history.seed)
  return world
}

interface Step {
  readonly world: World
  /** Who does it, or is asked to take it. */
  readonly process: Process
  readonly other: Process
  /** Who makes events. */
  readonly owner: Process
  readonly b: number
  readonly c: number
  readonly d: number
}

/** What may happen, behind how often it does. */
const ACTIONS = {
  add: [5, ({ world, owner }: Step) => world.add(owner)],
  update: [3, ({ world, owner, b, c }: Step) => world.update(owner, dotOf(owner, b), c)],
  linger: [1, ({ world, owner, b, c }: Step) => world.mark(owner, dotOf(owner, b), 1, c)],
  close: [1, ({ world, owner, b, c }: Step) => world.mark(owner, dotOf(owner, b), 2, c)],
  remove: [3, ({ world, owner, b, c }: Step) => world.mark(owner, dotOf(owner, b), 3, c)],
  push: [5, push],
  pull: [6, pull],
  transfer: [3, transfer],
  compose: [3, compose],
  deliver: [12, deliver],
  lose: [1, ({ world, b }: Step) => world.flight.splice(b % Math.max(1, world.flight.length), 1)],
  drop: [1, (step: Step) => forget(step, of => step.d % 3 === 0 && step.world.drop(step.process, of))],
  corrupt: [1, (step: Step) => forget(step, of => step.world.corrupt(step.process, of, 1 + (step.d % 3)))],
  invalidate: [2, (step: Step) => forget(step, of => step.d % 3 === 0 && step.world.invalidate(step.process, of))],
  restart: [1, ({ world, process, d }: Step) => d % 4 === 0 && world.restart(process)],
  reincarnate: [1, ({ world, process, d }: Step) => d % 4 === 0 && world.reincarnate(process)]
} as const satisfies Record<string, readonly [weight: number, run: (step: Step) => unknown]>
type Kind = keyof typeof ACTIONS

function step(world: World, [kind, a, b, c, d]: Command, owners: number): void {
  const process = pick(world.processes, a)!
  const other = pick(
    world.processes.filter(one => one !== process),
    b
  )!
  const owner = pick(world.processes.slice(0, owners), a)!
  const [, run] = ACTIONS[kind]
  run({ world, process, other, owner, b, c, d })
}

/** A dot that is held; rarely, when there is none, one that is not. */
function dotOf({ map }: Process, index: number): number {
  return (
    pick(
      Array.from(map.entries(map.self), entry => entry.counter),
      index
    ) ?? index
  )
}

function forget({ world, process, c }: Step, run: (of: ReplicaRef) => unknown): void {
  const of = pick(
    world.refs().filter(one => !sameRef(one, process.map.self) && process.map.record(one) !== undefined),
    c
  )
  if (of !== undefined) {
    run(of)
  }
}

/** Sends from a point that the sender believes the receiver to have: often right, sometimes one or two behind or ahead. */
function push({ world, process: from, other: to, c, d }: Step): void {
  const of = known(world, from, to, c)
  if (of !== undefined) {
    const believed = (to.map.record(of)?.head ?? 0) + [0, 0, 0, 1, 2, -1][d % 6]!
    send(world, to, world.serve(from, { replica: of, shard: 0, head: Math.max(0, believed), cursor: null }, pick(BUDGETS, d >> 3)))
  }
}

/** A repair asks the owner, as no other is known to be right. */
function pull({ world, process: to, other: from, c, d }: Step): void {
  const of = known(world, from, to, c)
  const isRepairing = of !== undefined && to.map.record(of)?.repairing === true
  if (of !== undefined && (!isRepairing || sameRef(from.map.self, of))) {
    send(world, to, world.serve(from, to.map.request(of), pick(BUDGETS, d)))
  }
}

/** Some pulls in turn with frames of one size, the answer to the last of which stays in flight. */
function transfer(step: Step): void {
  const { world, process, d } = step
  for (let pulls = 0; pulls <= d % 4; pulls++) {
    const sent = world.flight.length
    pull(step)
    const message = pulls < d % 4 && world.flight.length > sent ? world.flight.pop() : undefined
    if (message !== undefined) {
      world.merge(process, message.interval)
    }
  }
}

/** Plain intervals of neighbours, kept and composed: they start and end anywhere up to the sender's head. */
function compose({ world, process: to, other: from, b, c, d }: Step): void {
  const of = known(world, from, to, c)
  const record = of === undefined ? undefined : from.map.record(of)
  if (of !== undefined && record?.complete === true) {
    const end = 1 + (b % record.head)
    const near = Math.min(end - 1, (to.map.record(of)?.head ?? 0) + (d % 3))
    const start = d % 2 === 0 ? near : d % end
    world.flight.push({ to, interval: world.model(of).interval(start, end) })
  }
}

function known(world: World, from: Process, to: Process, c: number): ReplicaRef | undefined {
  return pick(
    world.refs().filter(of => (from.map.record(of)?.head ?? 0) > 0 && !sameRef(of, to.map.self)),
    c
  )
}

function send(world: World, to: Process, interval: DeltaInterval | undefined): void {
  if (interval !== undefined) {
    world.flight.push({ to, interval })
  }
}

/** To its addressee, or to a third party; it may come again. */
function deliver({ world, other, b, c, d }: Step): void {
  const at = b % Math.max(1, world.flight.length)
  const message = world.flight[at]
  if (message === undefined) {
    return
  }
  if (d % 3 !== 0) {
    world.flight.splice(at, 1)
  }
  world.merge(c % 4 === 0 ? other : message.to, message.interval)
}

/** Every process pulls every living owner's record until it is complete at the owner's head; then what is in flight arrives once more. */
function settle(world: World, seed: number): void {
  let draws = seed
  const draw = (): number => {
    draws = (Math.imul(draws, 1_664_525) + 1_013_904_223) >>> 0
    return draws >>> 8
  }
  for (const owner of world.processes) {
    for (const process of world.processes) {
      if (process !== owner) {
        pullAll(world, process, owner, draw)
      }
    }
  }
  for (const { to, interval } of world.flight) {
    const late = world.merge(to, interval)
    const isOwn = world.processes.some(one => sameRef(one.map.self, interval.replica))
    demand(!isOwn || !late.advanced, 'what is delivered again changes nothing', () => late.outcome)
  }
}

/** From whoever has it with changing frames, or, every other time, from the owner with frames of one size, which must do. */
function pullAll(world: World, process: Process, owner: Process, draw: () => number): void {
  const of = owner.map.self
  const { head } = world.model(of)
  const fixed = draw() % 2 === 0 ? pick(BUDGETS, draw()) : null
  for (let pulls = 0; !isAt(process, of, head); pulls++) {
    demand(pulls < 20 * (head + 2), 'all converge', () => `${process.map.self.id} asks ${JSON.stringify(process.map.request(of))}`)
    const relay = pick(world.processes, draw())!
    const fromOwner = fixed !== null || pulls % 3 === 2 || relay === process || process.map.record(of)?.repairing === true
    const interval = world.serve(fromOwner ? owner : relay, process.map.request(of), fixed === null ? pick(BUDGETS, draw()) : fixed)
    if (interval !== undefined) {
      world.merge(process, interval)
    }
  }
}

function isAt({ map }: Process, of: ReplicaRef, head: number): boolean {
  const record = map.record(of)
  return head === 0 || (record?.complete === true && record.head === head)
}

function pick<T>(from: readonly T[], index: number): T | undefined {
  return from[index % Math.max(1, from.length)]
}
