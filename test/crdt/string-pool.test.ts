import { describe, expect, it } from 'vitest'
import { StringPool } from '../../src/crdt/string-pool.ts'

describe('string pool', () => {
  it('any text: gives an equal one, held once', () => {
    const pool = new StringPool()
    for (const text of ['room:1', 'room:1', '__proto__', '__proto__', 'é😀', '']) {
      expect(pool.intern(text)).toBe(text)
    }
    // The empty text has only one copy anyway.
    expect(pool.size).toBe(3)
  })

  it('100,000 distinct texts: holds at most 16,384', () => {
    const pool = new StringPool()
    for (let n = 0; n < 100_000; n++) {
      expect(pool.intern(`user:${n}`)).toBe(`user:${n}`)
    }
    expect(pool.size).toBeGreaterThan(8_192)
    expect(pool.size).toBeLessThanOrEqual(16_384)
  })

  it('texts of more than 512 characters: passed through, not held', () => {
    const pool = new StringPool()
    const long = 'x'.repeat(513)
    expect(pool.intern(long)).toBe(long)
    expect(pool.size).toBe(0)
    pool.intern('x'.repeat(512))
    expect(pool.size).toBe(1)
  })

  it('cleared: holds nothing', () => {
    const pool = new StringPool()
    for (let n = 0; n < 1_000; n++) {
      pool.intern(`user:${n}`)
    }
    pool.clear()
    expect(pool.size).toBe(0)
    expect(pool.intern('user:1')).toBe('user:1')
    expect(pool.size).toBe(1)
  })
})
