import type { DeltaInterval } from '../../src/crdt/index.ts'
import type { Connection } from '../../src/index.ts'
import type { Random, SimReplica, Simulation } from '../../src/testing/index.ts'
import { listed } from './sim.ts'

/** An interval that was read. */
export interface Read {
  readonly from: string
  readonly to: string
  readonly atMs: number
  readonly interval: DeltaInterval
}

/** Every interval that is read from now on. */
export function readIntervals(sim: Simulation): Read[] {
  const read: Read[] = []
  sim.observe({
    delivered: (from, to, message) => {
      if (message.type === 'delta') {
        read.push(...message.intervals.map(interval => ({ from, to, atMs: sim.nowMs, interval })))
      }
    }
  })
  return read
}

/** What `at` says of `id` from now on, as `up`, `suspect`, `down`, `permdown`, `duplicate`. */
export function verdicts(at: SimReplica, id: string): string[] {
  const said: string[] = []
  for (const name of ['replica:up', 'replica:suspect', 'replica:down', 'replica:permdown', 'replica:duplicate'] as const) {
    at.tracker.addEventListener(name, ({ detail }) => {
      if (detail.id === id) {
        said.push(name.slice('replica:'.length))
      }
    })
  }
  return said
}

/** So many users at a replica, each present in the topic. */
export function crowd(replica: SimReplica, prefix: string, count: number, topic = 'room'): Connection[] {
  return replica.tracker.batch(() =>
    Array.from({ length: count }, (_, i) => {
      const connection = replica.tracker.connect(`${prefix}${i}`)
      connection.track(topic)
      return connection
    })
  )
}

/** The keys listed, sorted; once per presence. */
export const keys = (replica: SimReplica, topic = 'room'): string[] =>
  listed(replica, topic)
    .map(presence => presence.key)
    .sort()

/** Cuts every link between the two sides. */
export function split(sim: Simulation, one: readonly SimReplica[], two: readonly SimReplica[]): void {
  for (const left of one) {
    for (const right of two) {
      sim.cut(left, right)
    }
  }
}

/** Bytes of state (deltas) that went from `from` to `to`. */
export const stateBytes = (sim: Simulation, from: SimReplica, to: SimReplica): number => sim.traffic(from, to).bytesOf.delta ?? 0

/** All orders of some items. */
export const orders = <T>(items: readonly T[]): T[][] =>
  items.length === 0 ? [[]] : items.flatMap((item, i) => orders([...items.slice(0, i), ...items.slice(i + 1)]).map(rest => [item, ...rest]))

/** One of some items. */
export const pick = <T>(random: Random, items: readonly T[]): T => items[random.below(items.length)] as T
