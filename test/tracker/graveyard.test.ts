import { describe, expect, it } from 'vitest'
import { Graveyard } from '../../src/tracker/membership/graveyard.ts'
import { names } from '../support/cluster-harness.ts'

const create = (limit = 100, quota = 10): Graveyard => new Graveyard({ keepMs: 1_000, limit, quota })

describe('graveyard', () => {
  it('INV-34: a buried incarnation and all below it: are known; a higher one and other ids are not', () => {
    const graveyard = create()
    graveyard.bury({ id: 'a', incarnation: 5 }, 'a', 0)
    expect(graveyard.has({ id: 'a', incarnation: 5 })).toBe(true)
    expect(graveyard.has({ id: 'a', incarnation: 4 })).toBe(true)
    expect(graveyard.has({ id: 'a', incarnation: 6 })).toBe(false)
    expect(graveyard.has({ id: 'b', incarnation: 5 })).toBe(false)
  })

  it('a lower incarnation buried later: the highest stays', () => {
    const graveyard = create()
    graveyard.bury({ id: 'a', incarnation: 5 }, 'a', 0)
    graveyard.bury({ id: 'a', incarnation: 3 }, 'a', 500)
    expect(graveyard.incarnation('a')).toBe(5)
    expect(graveyard.size).toBe(1)
  })

  it('a grave: lasts its time from the last burial, and not longer', () => {
    const graveyard = create()
    graveyard.bury({ id: 'a', incarnation: 1 }, 'a', 0)
    graveyard.bury({ id: 'b', incarnation: 1 }, 'b', 100)
    graveyard.bury({ id: 'a', incarnation: 2 }, 'a', 500)
    graveyard.expire(1_099)
    expect(graveyard.size).toBe(2)
    graveyard.expire(1_100)
    expect(graveyard.incarnation('b')).toBe(-1)
    graveyard.expire(1_499)
    expect(graveyard.incarnation('a')).toBe(2)
    graveyard.expire(1_500)
    expect(graveyard.size).toBe(0)
  })

  it('one introducer with many ids: fills its quota only, its oldest make room, and others keep their graves', () => {
    const graveyard = create()
    graveyard.bury({ id: 'honest', incarnation: 1 }, 'honest', 0)
    for (const id of names('fake', 50)) {
      graveyard.bury({ id, incarnation: 1 }, 'mallory', 0)
    }
    expect(graveyard.size).toBe(11)
    expect(graveyard.has({ id: 'honest', incarnation: 1 })).toBe(true)
    expect(graveyard.has({ id: 'fake40', incarnation: 1 })).toBe(false)
    expect(graveyard.has({ id: 'fake41', incarnation: 1 })).toBe(true)
  })

  it('the limit: the oldest of all makes room, and quotas are counted on', () => {
    const graveyard = create(5, 4)
    for (const id of names('a', 3)) {
      graveyard.bury({ id, incarnation: 1 }, 'm', 0)
    }
    for (const id of names('b', 4)) {
      graveyard.bury({ id, incarnation: 1 }, 'n', 0)
    }
    expect(graveyard.size).toBe(5)
    expect(graveyard.has({ id: 'a3', incarnation: 1 })).toBe(true)
    expect(graveyard.has({ id: 'a2', incarnation: 1 })).toBe(false)
    for (const id of names('c', 3)) {
      graveyard.bury({ id, incarnation: 1 }, 'm', 0)
    }
    expect(graveyard.size).toBe(5)
  })
})
