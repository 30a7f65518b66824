import { OrMap } from '../../../src/crdt/index.ts'
import { ref } from './builders.ts'
import { makeOrMap } from './make-map.ts'
import type { MapLimits } from './map-like.ts'
import { showResult } from './notation.ts'
import { type Process, World } from './world.ts'

/** A network of real maps, each answer and merge held against the owners' events. */
export function network(processes: number, limits: MapLimits = {}): { world: World; all: Process[] } {
  const world = new World(makeOrMap, processes, limits)
  return { world, all: world.processes }
}

export function join(world: World, process: Process, times: number): void {
  for (let i = 0; i < times; i++) {
    world.add(process)
  }
}

/** Removes the oldest entries of a process. */
export function leave(world: World, process: Process, times: number): void {
  const dots = Array.from(process.map.entries(process.map.self), entry => entry.counter)
  for (const dot of dots.slice(0, times)) {
    world.mark(process, dot, 3, 7)
  }
}

export function orMap(id: string, limits: MapLimits = {}, incarnation = 1): OrMap {
  return new OrMap({ self: ref(id, incarnation), ...limits })
}

/** All that `from` has for `to` of one record, at once. */
export function sync(to: OrMap, from: OrMap, of = from.self): string {
  const answer = from.serve(to.request(of))
  return answer === undefined ? 'nothing' : showResult(to.merge(answer))
}
