import fc from 'fast-check'
import { expect, test } from 'vitest'
import { UserTable } from '../../src/tracker/connections/user-table.ts'

test('user table, two devices: the caller sees 0 → 1 once and 1 → 0 once', () => {
  const users = new UserTable()
  const ada = users.acquire('user:ada')
  expect(users.count(ada)).toBe(1)
  expect(users.acquire('user:ada')).toBe(ada)
  expect(users.count(ada)).toBe(2)
  expect(users.name(ada)).toBe('user:ada')
  expect(users.find('user:ada')).toBe(ada)
  expect(users.release(ada)).toBe(1)
  expect(users.release(ada)).toBe(0)
  expect(users.find('user:ada')).toBeUndefined()
  expect(users.size).toBe(0)
})

test('user table, an index that is free again: it goes to the next new user, with nothing of the last one', () => {
  const users = new UserTable()
  const ada = users.acquire('ada')
  const bob = users.acquire('bob')
  users.release(ada)
  const eve = users.acquire('eve')
  expect(eve).toBe(ada)
  expect([users.name(eve), users.name(bob)]).toEqual(['eve', 'bob'])
  expect(users.count(eve)).toBe(1)
})

test('user table, an index that is nobody’s: no connections, no name, and no release', () => {
  const users = new UserTable()
  const ada = users.acquire('ada')
  users.release(ada)
  expect(users.count(ada)).toBe(0)
  expect(users.count(99)).toBe(0)
  expect(() => users.release(ada)).toThrow(RangeError)
  expect(() => users.release(ada)).toThrow("user index 0 is nobody's")
  expect(() => users.name(-1)).toThrow(RangeError)
  expect(users.acquire('bob')).toBe(ada)
  expect(users.count(ada)).toBe(1)
})

test('pub-F3: user table, names of built-in properties, empty ones and broken ones are ordinary names', () => {
  const users = new UserTable()
  const names = ['__proto__', 'constructor', 'toString', '', '\u0000', '\ud800', 'x'.repeat(10_000)]
  const indices = names.map(name => users.acquire(name))
  expect(new Set(indices).size).toBe(names.length)
  expect(indices.map(index => users.name(index))).toEqual(names)
  expect(names.map(name => users.find(name))).toEqual(indices)
  expect(users.find('valueOf')).toBeUndefined()
})

test('user table, 5,000 users: indices stay dense as it grows and after all have gone', () => {
  const users = new UserTable()
  for (let round = 0; round < 3; round++) {
    const indices = Array.from({ length: 5_000 }, (_, user) => users.acquire(`${round}:${user}`))
    expect(Math.max(...indices)).toBe(4_999)
    expect(users.size).toBe(5_000)
    expect(indices.filter(index => users.release(index) !== 0)).toEqual([])
  }
  expect(users.size).toBe(0)
})

test('user table against a Map of counts: the same after every step', () => {
  const step = fc.record({ come: fc.boolean(), user: fc.constantFrom('a', 'b', 'c', 'd', 'user:1', 'user:2') })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200, size: 'max' }), steps => {
      const users = new UserTable()
      const counts = new Map<string, number>()
      for (const { come, user } of steps) {
        const before = counts.get(user) ?? 0
        if (come) {
          counts.set(user, before + 1)
          expect(users.count(users.acquire(user))).toBe(before + 1)
        } else if (before > 0) {
          expect(users.release(users.find(user)!)).toBe(before - 1)
          counts.set(user, before - 1)
        }
        const here = [...counts].filter(([, count]) => count > 0)
        expect(users.size).toBe(here.length)
        expect(here.map(([name]) => users.name(users.find(name)!))).toEqual(here.map(([name]) => name))
        expect(here.map(([name]) => users.count(users.find(name)!))).toEqual(here.map(([, count]) => count))
      }
    }),
    { numRuns: 200 }
  )
})
