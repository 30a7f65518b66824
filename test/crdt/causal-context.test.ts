import { describe, expect, it } from 'vitest'
import { causalContext, covers, createEntry, OrMap } from '../../src/crdt/index.ts'
import { content, interval, ref } from '../support/crdt/builders.ts'

describe('causal context', () => {
  const map = new OrMap({ self: ref('R') })
  map.merge(interval(0, 3))
  map.merge(interval(0, 1, { replica: ref('P'), since: 5, asOf: 5, adds: [createEntry(content(1), 1)] }))

  it('the heads of complete records that have events', () => {
    expect([...causalContext(map.records())]).toEqual([['O#1', { replica: ref('O'), head: 3 }]])
  })

  it('covers: what has every event of the other; the empty one is covered by all', () => {
    const [none, some] = [causalContext([]), causalContext(map.records())]
    map.add(content(2))
    const more = causalContext(map.records())
    expect([covers(more, some), covers(some, more), covers(some, none), covers(none, some), covers(some, some)]).toEqual([
      true,
      false,
      true,
      false,
      true
    ])
  })
})
