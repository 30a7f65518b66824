import type { DeltaInterval } from '../crdt/delta-interval.ts'
import { refKey } from '../crdt/dot.ts'
import { OrMap } from '../crdt/or-map.ts'
import type { Message } from '../tracker/messages.ts'
import type { Simulation } from './simulation.ts'

/**
 * I7 on real traffic: a fresh map that is given everything twice and shuffled, and then everything in order, ends with the same records as
 * one that is given it in order.
 *
 * The order at the end stands for the pull that answers a gap: a map keeps only a few intervals that do not fit.
 */
export function checkMergeLaws(sim: Simulation, messages: readonly Message[]): void {
  const intervals = messages.flatMap(message => (message.type === 'delta' ? message.intervals : []))
  const random = sim.random.fork('merge laws')
  const straight = fold(intervals)
  const shuffled = fold([...random.shuffle([...intervals, ...intervals]), ...intervals])
  for (const record of straight.records()) {
    const other = shuffled.record(record.ref)
    if (!record.complete || other === undefined || !other.complete || other.head !== record.head) {
      continue
    }
    if (other.hash.high !== record.hash.high || other.hash.low !== record.hash.low || other.count !== record.count) {
      const [first] = sim.replicas
      if (first !== undefined) {
        sim.fail(first, 'I7', `${refKey(record.ref)} at ${record.head}: ${record.count} entries in order, ${other.count} shuffled`)
      }
    }
  }
  sim.checkInvariants()
}

function fold(intervals: readonly DeltaInterval[]): OrMap {
  const map = new OrMap({ self: { id: '\u0000reader', incarnation: 0 } })
  for (const interval of intervals) {
    map.merge(interval)
  }
  return map
}
