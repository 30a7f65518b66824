import { describe, expect, test } from 'vitest'
import type { Diff, Presence } from '../../src/index.ts'
import { differences, TopicFold } from '../../src/testing/index.ts'

function presence(key: string, ref: string, more: Partial<Presence> = {}): Presence {
  return { ref, prevRef: null, key, user: key, meta: {}, replica: 'a', state: 'online', joinedAt: 0, ...more }
}

const diff = (parts: Partial<Diff>): Diff => ({
  topic: 'room',
  cause: 'delta',
  joins: [],
  leaves: [],
  updates: [],
  moves: [],
  replicas: [],
  ...parts
})

describe('TopicFold: a judge of diffs', () => {
  test('joins, updates, moves, certainty and leaves give what is listed', () => {
    const fold = new TopicFold()
    const [one, two] = [presence('ann', '1'), presence('bob', '2', { replica: 'b' })]
    expect(fold.apply(diff({ joins: [one, two] }))).toEqual([])
    const next = presence('ann', '1b', { prevRef: '1' })
    fold.apply(diff({ replicas: [{ id: 'b', state: 'unknown' }], updates: [{ prev: one, next, changed: [] }] }))
    fold.apply(diff({ moves: [{ key: 'ann', ref: '1b', replica: 'c', state: 'online' }] }))
    expect(
      fold.equals([
        { ...next, replica: 'c' },
        { ...two, state: 'unknown' }
      ])
    ).toBe(true)
    expect(fold.apply(diff({ leaves: [{ presence: two, reason: 'left' }] }))).toEqual([])
    expect(fold.size).toBe(1)
  })

  test.each([
    ['a join of what is shown', diff({ joins: [presence('ann', '1')] }), 'ann (1) joins, and is shown already'],
    [
      'a leave of what is not',
      diff({ leaves: [{ presence: presence('bob', '9'), reason: 'left' }] }),
      'leave of bob (9), which is not shown'
    ],
    [
      'an update of what is not',
      diff({ updates: [{ prev: presence('bob', '9'), next: presence('bob', '10'), changed: [] }] }),
      'update of bob (9), which is not shown'
    ],
    [
      'a move of what is not',
      diff({ moves: [{ key: 'bob', ref: '9', replica: 'b', state: 'online' }] }),
      'move of bob (9), which is not shown'
    ],
    [
      'a join and a leave of one ref',
      diff({ leaves: [{ presence: presence('ann', '1'), reason: 'left' }], joins: [presence('ann', '1')] }),
      'ann (1) both joins and leaves'
    ]
  ])('I3: it objects to %s', (_, bad, fault) => {
    const fold = new TopicFold()
    fold.apply(diff({ joins: [presence('ann', '1')] }))
    expect(fold.apply(bad)).toEqual([fault])
  })

  test('I2: it sees a difference in every field', () => {
    const shown = presence('ann', '1')
    const fold = new TopicFold()
    fold.apply(diff({ joins: [shown] }))
    expect(fold.equals([shown])).toBe(true)
    const others: Partial<Presence>[] = [
      { ref: '2' },
      { prevRef: '0' },
      { key: 'bob' },
      { user: 'bob' },
      { meta: { n: 1 } },
      { replica: 'b' },
      { state: 'unknown' },
      { joinedAt: 1 }
    ]
    for (const other of others) {
      expect(fold.equals([{ ...shown, ...other }])).toBe(false)
      expect(differences([{ ...shown, ...other }], [shown])).not.toBe('')
    }
    expect([fold.equals([]), fold.equals([shown, shown])]).toEqual([false, false])
  })
})
