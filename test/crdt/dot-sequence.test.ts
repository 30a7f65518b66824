import { describe, expect, it } from 'vitest'
import { DotSequence } from '../../src/crdt/dot-sequence.ts'
import type { Entry } from '../../src/crdt/entry.ts'
import { createEntry } from '../../src/crdt/entry.ts'
import { createRandom } from '../../src/tracker/environment.ts'
import { content } from '../support/crdt/builders.ts'

function entry(counter: number): Entry {
  return createEntry(content(counter % 1_000), counter)
}

function counters(sequence: DotSequence, after = 0): number[] {
  return Array.from(sequence.after(after), each => each.counter)
}

function filled(dots: Iterable<number>): DotSequence {
  const sequence = new DotSequence()
  for (const dot of dots) {
    sequence.put(entry(dot))
  }
  return sequence
}

function* upTo(last: number, step = 1): Generator<number> {
  for (let dot = step; dot <= last; dot += step) {
    yield dot
  }
}

describe('dot sequence', () => {
  it('empty: nothing is found, removed or walked', () => {
    const sequence = new DotSequence()
    expect([sequence.size, sequence.get(1), sequence.remove(1), counters(sequence)]).toEqual([0, undefined, undefined, []])
  })

  it('put in ascending order over several chunks: all are found and walked in order', () => {
    const sequence = filled(upTo(2_000))
    expect(sequence.size).toBe(2_000)
    expect(counters(sequence)).toEqual([...upTo(2_000)])
    expect([1, 512, 513, 2_000].map(dot => sequence.get(dot)?.counter)).toEqual([1, 512, 513, 2_000])
    expect(sequence.get(2_001)).toBeUndefined()
  })

  it('put in descending order: the same as ascending', () => {
    expect(counters(filled([...upTo(2_000)].reverse()))).toEqual([...upTo(2_000)])
  })

  it('put a held dot: it is replaced, and returned', () => {
    const sequence = filled([1, 2, 3])
    const old = sequence.get(2)
    const after = entry(2)
    expect(sequence.put(after)).toBe(old)
    expect(sequence.get(2)).toBe(after)
    expect(sequence.size).toBe(3)
  })

  it('get and remove where dots are missing: undefined, nothing changes', () => {
    const sequence = filled(upTo(3_000, 3))
    expect([0, 1, 2, 4, 1_499, 2_999, 3_001, 1.5, Number.NaN].map(dot => sequence.get(dot))).toEqual(new Array(9).fill(undefined))
    expect(filled([1, 3]).get(2.5)).toBeUndefined()
    expect(sequence.remove(4)).toBeUndefined()
    expect(sequence.size).toBe(1_000)
  })

  it('walk after a dot: from the next held one, until the visitor stops', () => {
    const sequence = filled(upTo(3_000, 3))
    const seen: number[] = []
    sequence.walk(1_500, each => seen.push(each.counter) < 3)
    expect(seen).toEqual([1_503, 1_506, 1_509])
    expect(counters(sequence, 2_996)).toEqual([2_997, 3_000])
    expect(counters(sequence, 2_996.5)).toEqual([2_997, 3_000])
    expect(counters(sequence, 3_000)).toEqual([])
  })

  it('dots up to 2^52 with wide gaps: found', () => {
    const dots = [1, 2, 2 ** 31, 2 ** 32 + 1, 2 ** 52 - 1, 2 ** 52]
    const sequence = filled(dots)
    expect(dots.map(dot => sequence.get(dot)?.counter)).toEqual(dots)
    expect(sequence.get(2 ** 51)).toBeUndefined()
  })

  it('any order of puts and removals: the same as a sorted set', () => {
    const random = createRandom('dot-sequence')
    const sequence = new DotSequence()
    const model = new Set<number>()
    for (let round = 0; round < 30; round++) {
      const grows = round % 3 !== 2
      for (let i = 0; i < 400; i++) {
        const dot = 1 + random.below(3_000)
        if (grows) {
          expect(sequence.put(entry(dot)) !== undefined).toBe(model.has(dot))
          model.add(dot)
        } else {
          expect(sequence.remove(dot)?.counter).toBe(model.delete(dot) ? dot : undefined)
        }
      }
      expect(counters(sequence)).toEqual([...model].sort((a, b) => a - b))
      expect(sequence.size).toBe(model.size)
      const after = random.below(3_100)
      expect(counters(sequence, after)[0]).toBe([...model].filter(dot => dot > after).sort((a, b) => a - b)[0])
    }
  })

  it('nearly all removed, then all: small chunks are joined, none is left', () => {
    const sequence = filled(upTo(20_000))
    for (const dot of upTo(20_000)) {
      if (dot % 100 !== 0) {
        sequence.remove(dot)
      }
    }
    expect(counters(sequence)).toEqual([...upTo(20_000, 100)])
    expect(sequence.chunks).toBeLessThanOrEqual(3)
    for (const dot of upTo(20_000, 100)) {
      sequence.remove(dot)
    }
    expect([sequence.size, sequence.chunks]).toEqual([0, 0])
  })

  it('a chunk never holds more than 512: 2,000 puts into its middle make several', () => {
    const sequence = filled([1, 10_000])
    for (const dot of upTo(2_001)) {
      sequence.put(entry(dot))
    }
    expect(sequence.chunks).toBeGreaterThanOrEqual(4)
    expect(counters(sequence)).toEqual([...upTo(2_001), 10_000])
  })
})
