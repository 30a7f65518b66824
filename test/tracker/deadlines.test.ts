import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DeadlineQueue } from '../../src/tracker/deadlines.ts'

function drainAll(queue: DeadlineQueue, nowMs: number): number[] {
  const keys: number[] = []
  expect(queue.drain(nowMs, Infinity, key => keys.push(key))).toBe(true)
  return keys
}

describe('deadline queue, worked examples', () => {
  test('pub-E10: grace of 15 s: nothing 1 ms before its end, the key at its end, once', () => {
    const queue = new DeadlineQueue()
    queue.schedule(42, 15_000)
    expect(queue.nextDeadlineMs()).toBe(15_000)
    expect(drainAll(queue, 14_999)).toEqual([])
    expect(drainAll(queue, 15_000)).toEqual([42])
    expect(drainAll(queue, 99_000)).toEqual([])
    expect(queue.size).toBe(0)
    expect(queue.nextDeadlineMs()).toBe(Infinity)
  })

  test('a key that comes back within grace is cancelled; off-on-off starts the time again at the last off', () => {
    const queue = new DeadlineQueue()
    queue.schedule(42, 15_000)
    expect(queue.cancel(42)).toBe(true)
    expect(queue.cancel(42)).toBe(false)
    queue.schedule(42, 20_000)
    queue.schedule(42, 24_000)
    expect(queue.size).toBe(1)
    expect(drainAll(queue, 23_999)).toEqual([])
    expect(drainAll(queue, 24_000)).toEqual([42])
  })

  test('keys come in the order of their deadlines, within a millisecond in the order they were scheduled', () => {
    const queue = new DeadlineQueue()
    const given: [number, number][] = [
      [1, 30],
      [2, 10],
      [3, 20.5],
      [4, 9.1],
      [5, 21],
      [6, 30],
      [2 ** 53 - 1, 0],
      [0, -5]
    ]
    for (const [key, deadlineMs] of given) {
      queue.schedule(key, deadlineMs)
    }
    expect(drainAll(queue, 30)).toEqual([0, 2 ** 53 - 1, 2, 4, 3, 5, 1, 6])
  })

  test('INV-62: deadlines of odd times are rounded up, by less than 1 ms', () => {
    const queue = new DeadlineQueue()
    queue.schedule(1, 10.25)
    expect(drainAll(queue, 10.25)).toEqual([])
    expect(drainAll(queue, 11)).toEqual([1])
  })

  test('L5: a pause of this process moves every deadline, and none that comes later', () => {
    const queue = new DeadlineQueue()
    queue.schedule(1, 100)
    queue.extendAll(60_000)
    queue.schedule(2, 100)
    expect(queue.nextDeadlineMs()).toBe(100)
    expect(drainAll(queue, 60_099)).toEqual([2])
    expect(drainAll(queue, 60_100)).toEqual([1])
  })

  test('L3: a slice ends with its share, and the next one goes on', () => {
    const queue = new DeadlineQueue()
    for (let key = 0; key < 1_000; key++) {
      queue.schedule(key, 100)
    }
    const keys: number[] = []
    let slices = 1
    while (!queue.drain(100, 99, key => keys.push(key))) {
      slices++
    }
    expect(slices).toBe(11)
    expect(keys).toEqual(Array.from({ length: 1_000 }, (_, key) => key))
  })

  test('what is due may schedule and cancel, itself and others', () => {
    const queue = new DeadlineQueue()
    for (let key = 0; key < 10; key++) {
      queue.schedule(key, 100)
    }
    const keys: number[] = []
    queue.drain(100, Infinity, key => {
      keys.push(key)
      queue.cancel(key + 1)
      queue.schedule(100 + key, 200)
      if (key === 8) {
        queue.schedule(50, 100)
      }
    })
    expect(keys).toEqual([0, 2, 4, 6, 8, 50])
    expect(drainAll(queue, 200)).toEqual([100, 102, 104, 106, 108, 150])
  })

  test('what throws loses only its own key', () => {
    const queue = new DeadlineQueue()
    queue.schedule(1, 100)
    queue.schedule(2, 100)
    const fail = (): never => {
      throw new Error('from the callback')
    }
    expect(() => queue.drain(100, Infinity, fail)).toThrow('from the callback')
    expect(drainAll(queue, 100)).toEqual([2])
  })

  test('at the end of time everything is due, and then nothing', () => {
    const queue = new DeadlineQueue()
    queue.schedule(1, 2 ** 53)
    queue.schedule(2, 5)
    expect(drainAll(queue, Infinity)).toEqual([2, 1])
    expect(drainAll(queue, Infinity)).toEqual([])
  })

  test('bad arguments are refused, with the value and what is allowed', () => {
    const queue = new DeadlineQueue()
    queue.schedule(1, 100)
    expect(() => queue.schedule(-1, 5)).toThrow('key is -1')
    expect(() => queue.schedule(1.5, 5)).toThrow('key is 1.5')
    expect(() => queue.schedule(1, NaN)).toThrow('deadlineMs is NaN')
    expect(() => queue.extendAll(-1)).toThrow('byMs is -1')
    expect(drainAll(queue, 100)).toEqual([1])
  })

  test('keys that stay come in order when most others were cancelled', () => {
    const deadlines = fc.uniqueArray(fc.nat(1_000_000), { minLength: 300, maxLength: 600, size: 'max' })
    fc.assert(
      fc.property(deadlines, fc.integer({ min: 2, max: 9 }), (given, every) => {
        const queue = new DeadlineQueue()
        given.forEach((deadlineMs, key) => void queue.schedule(key, deadlineMs))
        given.forEach((_, key) => void (key % every !== 0 && queue.cancel(key)))
        const kept = given.map((deadlineMs, key) => ({ deadlineMs, key })).filter(({ key }) => key % every === 0)
        const expected = kept.sort((a, b) => a.deadlineMs - b.deadlineMs).map(({ key }) => key)
        expect(drainAll(queue, 1_000_000)).toEqual(expected)
      }),
      { numRuns: 50 }
    )
  })

  test('deadlines that are cancelled long before they are due leave nothing behind', () => {
    const queue = new DeadlineQueue()
    for (let round = 0; round < 200_000; round++) {
      queue.schedule(round % 7, 86_400_000 + round)
      queue.cancel(round % 7)
    }
    expect(queue.size).toBe(0)
    expect(queue.nextDeadlineMs()).toBe(Infinity)
    expect(queue.capacity).toBe(4_096)
  })
})

describe('deadline queue against a Map with plain deadlines', () => {
  const key = fc.nat(30)
  const ms = fc.oneof(fc.nat(60), fc.double({ min: 0, max: 60, noNaN: true }))
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ op: fc.constant('schedule' as const), key, ms }) },
    { weight: 3, arbitrary: fc.record({ op: fc.constant('cancel' as const), key, ms }) },
    { weight: 3, arbitrary: fc.record({ op: fc.constant('drain' as const), key, ms }) },
    { weight: 1, arbitrary: fc.record({ op: fc.constant('extend' as const), key, ms }) }
  )

  test('L3 L5: the same keys in the same order, whatever is scheduled, moved and cancelled', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300, size: 'max' }), fc.constantFrom(0, 0.5, 2 ** 40 + 0.25), (steps, startMs) => {
        const queue = new DeadlineQueue()
        const model = new Map<number, number>()
        let nowMs = startMs
        let paused = 0
        for (const { op, key, ms } of steps) {
          if (op === 'schedule') {
            queue.schedule(key, nowMs + ms)
            model.delete(key)
            model.set(key, Math.ceil(nowMs + ms - paused))
          } else if (op === 'cancel') {
            expect(queue.cancel(key)).toBe(model.delete(key))
          } else if (op === 'extend') {
            queue.extendAll(ms)
            paused += Math.ceil(ms)
          } else {
            nowMs += ms
            const due = [...model].filter(([, tick]) => tick <= nowMs - paused).sort((a, b) => a[1] - b[1])
            const keys: number[] = []
            expect(queue.drain(nowMs, key, drained => keys.push(drained))).toBe(due.length <= key)
            expect(keys).toEqual(due.slice(0, key).map(([drained]) => drained))
            keys.forEach(drained => void model.delete(drained))
          }
          expect(queue.size).toBe(model.size)
          expect(queue.has(key)).toBe(model.has(key))
          expect(queue.nextDeadlineMs()).toBe(Math.min(...model.values()) + paused)
        }
      }),
      { numRuns: 300 }
    )
  })
})
