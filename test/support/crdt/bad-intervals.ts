import { createEntry, type DeltaInterval, type Entry, type Mark } from '../../../src/crdt/index.ts'
import { content } from './builders.ts'

/** Makes of a lawful interval one that nobody may take, in a box; none when this one has nothing to spoil in that way. */
export type Spoiler = (lawful: DeltaInterval, pick: number) => readonly [unknown] | undefined

const NOT_COUNTS = [
  -1,
  0.5,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  2 ** 52 + 1,
  2 ** 53,
  '1',
  null,
  undefined,
  {},
  [],
  true,
  1n
]

function pickOf<T>(values: readonly T[], pick: number): T {
  return values[pick % values.length]!
}

function withMark(lawful: DeltaInterval, pick: number, spoil: (mark: Mark) => unknown): readonly [unknown] | undefined {
  const index = pick % Math.max(1, lawful.marks.length)
  const mark = lawful.marks[index]
  return mark && [{ ...lawful, marks: lawful.marks.with(index, spoil(mark) as Mark) }]
}

function withAdd(lawful: DeltaInterval, pick: number, spoil: (entry: Entry) => unknown): readonly [unknown] | undefined {
  const index = pick % Math.max(1, lawful.adds.length)
  const entry = lawful.adds[index]
  return entry && [{ ...lawful, adds: lawful.adds.with(index, spoil(entry) as Entry) }]
}

function hostile(): object {
  return JSON.parse('{ "__proto__": { "polluted": true } }')
}

class Disguised {
  constructor(fields: object) {
    Object.assign(this, fields)
  }
}

const NOT_INTERVALS: readonly unknown[] = [null, undefined, 1, 'interval', [], new Map(), () => {}, Symbol('interval')]

/** By name, in the order of the fields. */
export const SPOILERS: Record<string, Spoiler> = {
  'no object at all': (_, pick) => [pickOf(NOT_INTERVALS, pick)],
  'the instance of a class': lawful => [new Disguised(lawful)],
  'fields that are inherited': lawful => [Object.create(lawful)],
  'an unknown field': lawful => [{ ...lawful, kills: [] }],
  'an unknown field that is inherited': lawful => [Object.assign(Object.create({ kills: [] }), lawful)],
  'a field by the name of __proto__': lawful => [Object.assign(hostile(), lawful)],
  'a field left out': (lawful, pick) => {
    const name = pickOf(Object.keys(lawful), pick)
    return [Object.fromEntries(Object.entries(lawful).filter(([key]) => key !== name))]
  },

  'a number that is none': (lawful, pick) => [
    { ...lawful, [pickOf(['from', 'to', 'since', 'asOf', 'shard'], pick)]: pickOf(NOT_COUNTS, pick >> 3) }
  ],
  'another shard': (lawful, pick) => [{ ...lawful, shard: pickOf([1, 7, 65_535, 65_536, 2 ** 52], pick) }],
  'to below from': lawful => (lawful.from > 0 ? [{ ...lawful, to: lawful.from - 1, adds: [] }] : undefined),
  'since below from': lawful => (lawful.from > 0 ? [{ ...lawful, since: lawful.from - 1 }] : undefined),
  'since above asOf': lawful => [{ ...lawful, since: lawful.asOf + 1, marks: [] }],
  'to above asOf': lawful => [{ ...lawful, to: lawful.asOf + 1 }],
  'an end where it starts': lawful => [{ ...lawful, to: lawful.from, asOf: lawful.since, adds: [], marks: [] }],

  'a replica that is none': (lawful, pick) => [{ ...lawful, replica: pickOf([null, undefined, 'O', 1, [], new Map()], pick) }],
  'a replica with a bad id': (lawful, pick) => [
    { ...lawful, replica: { id: pickOf(['', 5, null, undefined, {}, 'x'.repeat(129), '\ud800'], pick), incarnation: 1 } }
  ],
  'a replica with a bad incarnation': (lawful, pick) => [{ ...lawful, replica: { id: 'O', incarnation: pickOf(NOT_COUNTS, pick) } }],
  'a replica with an unknown field': lawful => [{ ...lawful, replica: { ...lawful.replica, shard: 0 } }],
  'a replica with __proto__': lawful => [{ ...lawful, replica: Object.assign(hostile(), lawful.replica) }],

  'adds that are no array': (lawful, pick) => [{ ...lawful, adds: pickOf([null, undefined, {}, 'x', { length: 0 }, new Set()], pick) }],
  'an add that is no entry': (lawful, pick) =>
    withAdd(lawful, pick, entry => pickOf([null, undefined, 1, {}, { ...entry }, [entry]], pick)),
  'an add at or below from': (lawful, pick) =>
    lawful.from > 0 && lawful.to > lawful.from ? [{ ...lawful, adds: [createEntry(content(9), 1 + (pick % lawful.from))] }] : undefined,
  'an add above to': (lawful, pick) => [{ ...lawful, adds: [...lawful.adds, createEntry(content(9), lawful.to + 1 + pick)] }],
  'an add twice': (lawful, pick) => {
    const entry = lawful.adds[pick % Math.max(1, lawful.adds.length)]
    return entry && [{ ...lawful, adds: lawful.adds.flatMap(other => (other === entry ? [other, other] : [other])) }]
  },
  'adds out of order': lawful => (lawful.adds.length > 1 ? [{ ...lawful, adds: lawful.adds.toReversed() }] : undefined),
  'a hole in adds': lawful =>
    lawful.adds.length > 0 ? [{ ...lawful, adds: Object.assign(new Array(2), { 1: lawful.adds[0] }) }] : undefined,

  'marks that are no array': (lawful, pick) => [{ ...lawful, marks: pickOf([null, undefined, {}, 'x', { length: 0 }, new Set()], pick) }],
  'a mark that is none': (lawful, pick) => withMark(lawful, pick, mark => pickOf([null, undefined, 1, [], Object.values(mark)], pick)),
  'a mark with an unknown field': (lawful, pick) => withMark(lawful, pick, mark => ({ ...mark, entry: {} })),
  'a mark with __proto__': (lawful, pick) => withMark(lawful, pick, mark => Object.assign(hostile(), mark)),
  'a mark with a number that is none': (lawful, pick) =>
    withMark(lawful, pick, mark => ({ ...mark, [pickOf(['event', 'counter', 'state', 'reason'], pick)]: pickOf(NOT_COUNTS, pick >> 2) })),
  'a mark with a state that is none': (lawful, pick) => withMark(lawful, pick, mark => ({ ...mark, state: pickOf([0, 4, 255], pick) })),
  'a mark with too large a reason': (lawful, pick) => withMark(lawful, pick, mark => ({ ...mark, reason: pickOf([256, 2 ** 32], pick) })),
  'a mark of event since or before': (lawful, pick) =>
    withMark(lawful, 0, mark => ({ ...mark, event: lawful.since - (pick % Math.max(1, lawful.since)), counter: 1 })),
  'a mark of an event after asOf': (lawful, pick) => [
    { ...lawful, marks: [...lawful.marks, { event: lawful.asOf + 1 + pick, counter: 1, state: 3, reason: 0 }] }
  ],
  'a mark of its own event’s dot or a later one': (lawful, pick) =>
    withMark(lawful, pick, mark => ({ ...mark, counter: mark.event + (pick % 2) })),
  'a mark of dot 0': (lawful, pick) => withMark(lawful, pick, mark => ({ ...mark, counter: 0 })),
  'two marks of one event': (lawful, pick) => {
    const mark = lawful.marks[pick % Math.max(1, lawful.marks.length)]
    return mark && [{ ...lawful, marks: lawful.marks.flatMap(other => (other === mark ? [other, other] : [other])) }]
  },
  'marks out of order': lawful => (lawful.marks.length > 1 ? [{ ...lawful, marks: lawful.marks.toReversed() }] : undefined),
  'a dot that is removed twice': lawful => {
    const removed = lawful.marks.find(mark => mark.state === 3)
    const free = removed && lawful.asOf > removed.event && !lawful.marks.some(mark => mark.event === lawful.asOf)
    return free ? [{ ...lawful, marks: [...lawful.marks, { ...removed, event: lawful.asOf }] }] : undefined
  },
  'a dot that is both added and removed': (lawful, pick) => {
    const entry = lawful.adds[pick % Math.max(1, lawful.adds.length)]
    const isFree =
      entry !== undefined && lawful.asOf > entry.counter && lawful.asOf > lawful.since && lawful.marks.at(-1)?.event !== lawful.asOf
    return isFree
      ? [{ ...lawful, marks: [...lawful.marks, { event: lawful.asOf, counter: entry.counter, state: 3, reason: 0 }] }]
      : undefined
  },
  'a dot that is marked as lingering and not there': (lawful, pick) => {
    const removed = lawful.marks.findIndex(mark => mark.state === 3 && mark.counter > lawful.from && mark.counter <= lawful.to)
    return removed < 0 ? undefined : withMark(lawful, removed, mark => ({ ...mark, state: 1 + (pick % 2) }))
  }
}
