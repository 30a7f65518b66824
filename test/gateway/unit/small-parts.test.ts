import { describe, expect, it } from 'vitest'
import { BoundedMap } from '../../../src/net/gateway/bounded-map.ts'
import { Census } from '../../../src/net/gateway/doors/census.ts'
import { TwinGuard } from '../../../src/net/gateway/doors/twin-guard.ts'
import { resolved } from './fakes.ts'

describe('a bounded map', () => {
  it('forgets what was set longest ago; what is set again is young', () => {
    const map = new BoundedMap<number>(2)
    map.set('a', 1)
    map.set('b', 2)
    map.set('a', 3)
    map.set('c', 4)
    expect([map.get('a'), map.get('b'), map.get('c'), map.size]).toEqual([3, undefined, 4, 2])
    map.delete('a')
    map.delete('unknown')
    expect(map.size).toBe(1)
    for (let i = 0; i < 1_000; i++) {
      map.set(`${i}`, i)
    }
    expect([map.size, map.get('998'), map.get('999')]).toEqual([2, 998, 999])
  })

  it('keys that are long in all are forgotten too, the oldest first; one that is too long by itself is not kept', () => {
    const map = new BoundedMap<number>(100, 10)
    map.set('aaaa', 1)
    map.set('bbbb', 2)
    map.set('aaaa', 3)
    map.set('cccc', 4)
    expect([map.get('aaaa'), map.get('bbbb'), map.get('cccc')]).toEqual([3, undefined, 4])
    map.set('x'.repeat(11), 5)
    expect(map.size).toBe(0)
    map.set('dddd', 6)
    expect(map.get('dddd')).toBe(6)
  })

  it('pub-F3: names of built-in properties are ordinary keys', () => {
    const map = new BoundedMap<number>(10)
    expect(map.get('toString')).toBeUndefined()
    map.set('__proto__', 1)
    expect(map.get('__proto__')).toBe(1)
  })
})

describe('a census', () => {
  const censusOf = (sockets: number, socketsPerAddress: number): Census =>
    new Census(resolved({ limits: { sockets, socketsPerAddress } }).limits)

  it('names the limit that is reached; who was refused does not count', () => {
    const census = censusOf(3, 2)
    expect([census.enter('a'), census.enter('a'), census.enter('a'), census.size]).toEqual([undefined, undefined, 'socketsPerAddress', 2])
    expect([census.enter('b'), census.enter('c'), census.size]).toEqual([undefined, 'sockets', 3])
    census.leave('a')
    expect([census.enter('c'), census.size]).toEqual([undefined, 3])
  })

  it('pub-D8: who left makes room, for ever', () => {
    const census = censusOf(100, 100)
    for (let i = 0; i < 10_000; i++) {
      expect(census.enter(`address ${i % 7}`)).toBeUndefined()
      census.leave(`address ${i % 7}`)
    }
    expect(census.size).toBe(0)
  })
})

describe('a twin guard', () => {
  it('a session that was taken over three times within ten seconds is shared no more, until it has calmed down', () => {
    const twins = new TwinGuard()
    expect(twins.isShared('ann', 's', 0)).toBe(false)
    twins.takenOver('ann', 's', 0)
    twins.takenOver('ann', 's', 4_000)
    expect(twins.isShared('ann', 's', 5_000)).toBe(false)
    twins.takenOver('ann', 's', 8_000)
    expect(twins.isShared('ann', 's', 9_999)).toBe(true)
    expect(twins.isShared('ann', 's', 10_000)).toBe(false)
    twins.takenOver('ann', 's', 10_000)
    expect(twins.isShared('ann', 's', 10_001)).toBe(true)
    expect(twins.isShared('ann', 's', 30_000)).toBe(false)
  })

  it('a page that is reloaded now and then shares its session always', () => {
    const twins = new TwinGuard()
    for (let ms = 0; ms < 600_000; ms += 5_000) {
      expect(twins.isShared('ann', 's', ms)).toBe(false)
      twins.takenOver('ann', 's', ms)
    }
  })

  it('sessions of one name of two users have nothing to do with each other, however the names are cut', () => {
    const twins = new TwinGuard()
    for (const ms of [1, 2, 3]) {
      twins.takenOver('a', 'b c', ms)
    }
    expect([twins.isShared('a b', 'c', 4), twins.isShared('bob', 'b c', 4), twins.isShared('a', 'b c', 4)]).toEqual([false, false, true])
  })
})
