import { describe, expect, it } from 'vitest'
import type { Entry } from '../../src/crdt/entry.ts'
import { createEntry } from '../../src/crdt/entry.ts'
import { Hasher, StateSum, sameHash } from '../../src/crdt/state-hash.ts'
import { createRandom } from '../../src/tracker/environment.ts'
import { content, ref } from '../support/crdt/builders.ts'

function sumOf(entries: readonly Entry[], owner = ref('O')): { high: number; low: number } {
  const sum = new StateSum(owner)
  for (const { counter, hashHigh, hashLow, state } of entries) {
    sum.add(counter, hashHigh, hashLow, state)
  }
  return sum.value
}

function entry(counter: number, of = counter, state: 0 | 1 | 2 = 0): Entry {
  return createEntry(content(of), counter, state)
}

describe('state hash', () => {
  it('nothing: zero', () => {
    expect(sumOf([])).toEqual({ high: 0, low: 0 })
  })

  it('INV-5: the same entries in any order: the same', () => {
    const entries = Array.from({ length: 50 }, (_, i) => entry(i + 1))
    expect(sumOf(createRandom(1).shuffle([...entries]))).toEqual(sumOf(entries))
  })

  it('INV-5: added and subtracted: as if it had never been there', () => {
    const sum = new StateSum(ref('O'))
    const [one, two] = [entry(1), entry(2)]
    sum.add(1, one.hashHigh, one.hashLow, 0)
    const before = sum.value
    sum.add(2, two.hashHigh, two.hashLow, 0)
    sum.subtract(2, two.hashHigh, two.hashLow, 0)
    expect(sum.value).toEqual(before)
  })

  it('another dot, content, state or owner: another hash, in both lanes', () => {
    const base = sumOf([entry(1)])
    for (const other of [
      sumOf([entry(2, 1)]),
      sumOf([entry(1, 2)]),
      sumOf([entry(1, 1, 1)]),
      sumOf([entry(1, 1, 2)]),
      sumOf([entry(1)], ref('P')),
      sumOf([entry(1)], ref('O', 2)),
      sumOf([entry(2 ** 32 + 1, 1)])
    ]) {
      expect(other.high).not.toBe(base.high)
      expect(other.low).not.toBe(base.low)
      expect(sameHash(other, base)).toBe(false)
    }
  })

  it('contents swapped between dots: seen', () => {
    expect(sumOf([entry(1, 7), entry(2, 8)])).not.toEqual(sumOf([entry(1, 8), entry(2, 7)]))
  })

  it('dots {1, 4} with one content are not {2, 3}', () => {
    expect(sumOf([entry(1, 7), entry(4, 7)])).not.toEqual(sumOf([entry(2, 7), entry(3, 7)]))
  })

  it('an entry counted three times is not one counted once', () => {
    expect(sumOf([entry(1), entry(1), entry(1)])).not.toEqual(sumOf([entry(1)]))
  })

  it('states swapped between dots: seen', () => {
    expect(sumOf([entry(1, 7, 1), entry(2, 7)])).not.toEqual(sumOf([entry(1, 7), entry(2, 7, 1)]))
  })

  it('lanes are unsigned integers of 32 bits', () => {
    for (let n = 1; n <= 64; n++) {
      const { high, low } = sumOf([entry(n)])
      expect([high, low].every(lane => Number.isInteger(lane) && lane >= 0 && lane < 2 ** 32)).toBe(true)
    }
  })

  it('texts: moved boundaries, lengths, odd and even ends all differ', () => {
    const hashes = [
      ['ab', 'c'],
      ['a', 'bc'],
      ['', 'abc'],
      ['abc', ''],
      ['abc\0', ''],
      ['abc', '\0'],
      ['ab', 'c\0\0']
    ].map(texts => {
      const hasher = new Hasher().start(1, 2)
      for (const text of texts) {
        hasher.text(text)
      }
      hasher.finish()
      return `${hasher.high},${hasher.low}`
    })
    expect(new Set(hashes).size).toBe(hashes.length)
  })

  it('100,000 neighbouring entries: no two alike, and each lane by itself collides no more than chance', () => {
    const count = 100_000
    const lanes: [Set<number>, Set<number>] = [new Set(), new Set()]
    const both = new Set<string>()
    const sum = new StateSum(ref('O'))
    const { hashHigh, hashLow } = entry(1)
    let before = sum.value
    for (let counter = 1; counter <= count; counter++) {
      sum.add(counter, hashHigh, hashLow, 0)
      const { high, low } = sum.value
      const own = { high: (high - before.high) >>> 0, low: (low - before.low) >>> 0 }
      lanes[0].add(own.high)
      lanes[1].add(own.low)
      both.add(`${own.high},${own.low}`)
      before = { high, low }
    }
    expect(both.size).toBe(count)
    // By chance n² / 2^33 = 1.2 pairs collide in a lane of 32 bits.
    for (const lane of lanes) {
      expect(count - lane.size).toBeLessThan(12)
    }
  })

  it('one bit of a dot changed: about half of all bits change', () => {
    const { hashHigh, hashLow } = entry(1)
    let changed = 0
    let bits = 0
    const single = (counter: number): { high: number; low: number } => {
      const sum = new StateSum(ref('O'))
      sum.add(counter, hashHigh, hashLow, 0)
      return sum.value
    }
    for (let counter = 1; counter <= 200; counter++) {
      for (let bit = 0; bit < 31; bit++) {
        const [a, b] = [single(counter), single(counter ^ (1 << bit))]
        changed += ones(a.high ^ b.high) + ones(a.low ^ b.low)
        bits += 64
      }
    }
    expect(changed / bits).toBeGreaterThan(0.49)
    expect(changed / bits).toBeLessThan(0.51)
  })
})

function ones(word: number): number {
  let count = 0
  for (let rest = word >>> 0; rest !== 0; rest &= rest - 1) {
    count++
  }
  return count
}
