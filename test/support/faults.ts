import { OrMap } from '../../src/crdt/or-map.ts'
import { ConnectionTable } from '../../src/tracker/connections/connection-table.ts'
import { OwnEntries } from '../../src/tracker/connections/own-entries.ts'
import { Member } from '../../src/tracker/membership/member.ts'
import { Standing } from '../../src/tracker/membership/standing.ts'
import { DiffBuilder } from '../../src/tracker/presence/diff-builder.ts'
import { Slot } from '../../src/tracker/presence/presence-index.ts'
import { PresenceView } from '../../src/tracker/presence/presence-view.ts'
import { AntiEntropy } from '../../src/tracker/replication/anti-entropy.ts'
import { ChangeLog } from '../../src/tracker/watch/change-log.ts'

/** A fault to be built into the product, to see that it is found. */
export interface PlantedFault {
  /** What it does, as docs/testing.md lists it. */
  readonly name: string
  /** Builds it in; returns what takes it out again. */
  readonly plant: () => () => void
}

// biome-ignore lint/suspicious/noExplicitAny: methods of any class are replaced here.
type Method = (this: any, ...args: any[]) => any

/** Replaces a method of a class. */
function replace(target: { prototype: object }, name: string, make: (original: Method) => Method): () => void {
  const methods = target.prototype as Record<string, Method>
  const original = methods[name]
  if (original === undefined) {
    throw new Error(`there is no method ${name} any more: the fault needs another place`)
  }
  methods[name] = make(original)
  return () => {
    methods[name] = original
  }
}

export const PLANTED_FAULTS: readonly PlantedFault[] = [
  {
    name: 'the map loses the last mark of an interval of several',
    plant: () =>
      replace(
        OrMap,
        'merge',
        merge =>
          function (interval) {
            return merge.call(this, interval.marks.length > 1 ? { ...interval, marks: interval.marks.slice(0, -1) } : interval)
          }
      )
  },
  {
    name: 'the map applies an interval over a gap, as if it began at the head',
    plant: () =>
      replace(
        OrMap,
        'merge',
        merge =>
          function (interval) {
            const head = this.record(interval.replica)?.head ?? 0
            const plain = interval.from === interval.since && interval.to === interval.asOf
            return merge.call(this, plain && interval.from > head ? { ...interval, from: head, since: head } : interval)
          }
      )
  },
  {
    name: 'a diff forgets the moves',
    plant: () =>
      replace(
        DiffBuilder,
        'build',
        build =>
          function (factory) {
            return { ...build.call(this, factory), moves: [] }
          }
      )
  },
  {
    name: 'of several entries of one session only the first that came is looked at',
    plant: () =>
      replace(
        Slot,
        'each',
        () =>
          function (visit) {
            if (this.entry !== null) {
              visit(this.origin, this.entry)
            }
          }
      )
  },
  {
    name: 'a heartbeat of a client is answered, and not written down',
    plant: () => replace(ConnectionTable, 'heartbeat', () => () => true)
  },
  {
    name: 'a lost connection has no grace',
    plant: () =>
      replace(
        OwnEntries,
        'linger',
        () =>
          function (track) {
            return this.end(track, 3)
          }
      )
  },
  {
    name: 'a replica that was judged down and came back stays hidden',
    plant: () => replace(Standing, 'show', () => () => {})
  },
  {
    name: 'a resume token is answered as if nothing had been missed',
    plant: () => replace(ChangeLog, 'since', () => () => [])
  },
  {
    name: 'the failure detector believes that peers have been silent 3 s longer',
    plant: () =>
      replace(
        Member,
        'phi',
        phi =>
          function (nowMs) {
            return phi.call(this, nowMs + 3_000)
          }
      )
  },
  {
    name: 'a process that stood still blames its connections for it',
    plant: () => replace(ConnectionTable, 'extendAll', () => () => {})
  },
  {
    name: 'replicas never compare what they hold: what was lost stays lost',
    plant: () => {
      const round = replace(AntiEntropy, 'round', () => () => {})
      const received = replace(AntiEntropy, 'received', () => () => {})
      return () => {
        round()
        received()
      }
    }
  },
  {
    name: 'the entries of a dropped replica stay listed',
    plant: () => replace(PresenceView, 'drop', () => () => {})
  }
]
