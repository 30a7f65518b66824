import { type Budget, type DeltaInterval, type MergeResult, type ReplicaRef, sameRef } from '../../../src/crdt/index.ts'
import { demand } from './invariants.ts'
import type { MapLike } from './map-like.ts'
import { show } from './notation.ts'
import type { Process, World } from './world.ts'

/** More than any test needs. */
const FRAMES_MAX = 1_000

/** Pulls until nobody has anything for anybody; every answer and every merge is checked. Returns what was sent. */
export function quiesce(world: World, among: readonly Process[] = world.processes, budget?: Budget): DeltaInterval[] {
  const sent: DeltaInterval[] = []
  for (let isQuiet = false; !isQuiet; ) {
    const before = sent.length
    for (const to of among) {
      for (const from of among) {
        sent.push(...pullFrom(world, to, from, budget))
      }
    }
    isQuiet = sent.length === before
    demand(sent.length < 100_000, 'all converge', () => `${sent.length} messages`)
  }
  return sent
}

/** Merges, frame by frame, all that an owner has for one who asks; each frame is given out after it was merged. */
export function* transfer(to: MapLike, owner: MapLike, budget: Budget): Generator<{ answer: DeltaInterval; result: MergeResult }> {
  for (let frames = 1; ; frames++) {
    const answer = owner.serve(to.request(owner.self), budget)
    if (answer === undefined) {
      return
    }
    demand(frames <= FRAMES_MAX, 'a transfer ends', () => show(answer))
    yield { answer, result: to.merge(answer) }
  }
}

/** One exchange: `to` asks `from` for every record of which `from` knows more, until it has it. */
export function pullFrom(world: World, to: Process, from: Process, budget?: Budget): DeltaInterval[] {
  const sent: DeltaInterval[] = []
  for (const of of to === from ? [] : refsAt(world, from)) {
    while (!sameRef(of, to.map.self) && isAhead(from, to, of)) {
      const interval = world.serve(from, to.map.request(of), budget)
      if (interval === undefined) {
        break
      }
      sent.push(interval)
      demand(sent.length <= FRAMES_MAX, 'a transfer ends', () => show(interval))
      const { advanced } = world.merge(to, interval)
      demand(advanced, 'an answer brings its asker forward', () => JSON.stringify(to.map.request(of)))
    }
  }
  return sent
}

/** The topics, keys and metas that a process lists, over all owners; sorted. */
export function list(world: World, process: Process): string[] {
  return refsAt(world, process)
    .flatMap(of => Array.from(process.map.entries(of), ({ topic, key, meta }) => `${topic} ${key} ${meta}`))
    .sort()
}

function refsAt(world: World, process: Process): ReplicaRef[] {
  return world.refs().filter(of => process.map.record(of) !== undefined)
}

function isAhead(from: Process, to: Process, of: ReplicaRef): boolean {
  const [theirs, ours] = [from.map.record(of), to.map.record(of)]
  return theirs !== undefined && (theirs.head > (ours?.head ?? 0) || (ours?.complete === false && theirs.head >= ours.horizon))
}
