import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MAX_GENERATION, MAX_SLOTS, makeHandle } from '../../src/tracker/connections/connection-handle.ts'
import { ConnectionTable, decodeConnectionId, encodeConnectionId, type Handle } from '../../src/tracker/connections/connection-table.ts'

const TTL = 45_000

/** What a full sweep reports, in order. */
function sweepAll(table: ConnectionTable, nowMs: number): Handle[] {
  const handles: Handle[] = []
  expect(table.sweep(nowMs, {}, handle => handles.push(handle))).toBe(true)
  return handles
}

describe('connection table, worked examples', () => {
  test('a connection that is not heard of expires after its ttl, once', () => {
    const table = new ConnectionTable({ ttlMs: TTL })
    const phone = table.connect(7, 0)
    expect(table.isOpen(phone, 44_999)).toBe(true)
    expect(sweepAll(table, 44_999)).toEqual([])
    expect(table.isOpen(phone, 45_000)).toBe(false)
    const ended: [Handle, number][] = []
    table.sweep(45_000, {}, (handle, user) => ended.push([handle, user]))
    expect(ended).toEqual([[phone, 7]])
    expect(sweepAll(table, 99_000)).toEqual([])
    expect(table.size).toBe(0)
    expect(table.nextDeadlineMs()).toBe(Infinity)
  })

  test('L1: each heartbeat gives a whole ttl', () => {
    const table = new ConnectionTable({ ttlMs: TTL })
    const phone = table.connect(7, 0)
    for (let nowMs = 40_000; nowMs < 4_000_000; nowMs += 40_000) {
      expect(table.heartbeat(phone, nowMs)).toBe(true)
      expect(sweepAll(table, nowMs)).toEqual([])
    }
    expect(table.isOpen(phone, 3_960_000 + TTL - 1)).toBe(true)
    expect(table.isOpen(phone, 3_960_000 + TTL)).toBe(false)
  })

  test('a heartbeat after the deadline is refused, swept or not, and does not bring the connection back', () => {
    const table = new ConnectionTable({ ttlMs: TTL })
    const phone = table.connect(7, 0)
    expect(table.heartbeat(phone, TTL)).toBe(false)
    expect(table.user(phone)).toBe(7)
    expect(sweepAll(table, TTL)).toEqual([phone])
    expect(table.heartbeat(phone, TTL)).toBe(false)
    expect(table.user(phone)).toBe(-1)
    expect(table.disconnect(phone)).toBe(false)
  })

  test('a heartbeat with an older time leaves the later deadline', () => {
    const table = new ConnectionTable({ ttlMs: 100 })
    const phone = table.connect(7, 1_000)
    expect(table.heartbeat(phone, 950)).toBe(true)
    expect(table.isOpen(phone, 1_099)).toBe(true)
  })

  test('INV-62: deadlines of odd times are rounded up, by less than 1 ms', () => {
    const table = new ConnectionTable({ ttlMs: 100 })
    const phone = table.connect(7, 0.25)
    expect(table.isOpen(phone, 100.25)).toBe(true)
    expect(table.isOpen(phone, 101)).toBe(false)
    expect(table.heartbeat(phone, 50.75)).toBe(true)
    expect(table.isOpen(phone, 150.75)).toBe(true)
    expect(table.isOpen(phone, 151)).toBe(false)
  })

  test('L5: a pause of this process moves every deadline', () => {
    const table = new ConnectionTable({ ttlMs: TTL })
    const [phone, desk] = [table.connect(1, 0), table.connect(2, 10_000)]
    table.extendAll(60_000)
    expect(sweepAll(table, 60_000 + TTL - 1)).toEqual([])
    expect(sweepAll(table, 60_000 + TTL)).toEqual([phone])
    expect(sweepAll(table, 70_000 + TTL - 1)).toEqual([])
    expect(sweepAll(table, 70_000 + TTL)).toEqual([desk])
  })

  test('at the end of time everything has expired', () => {
    const table = new ConnectionTable({ ttlMs: TTL })
    const handles = [table.connect(1, 0), table.connect(2, 2 ** 53 - 1)]
    expect(sweepAll(table, Infinity).sort()).toEqual(handles.sort())
  })

  test('handles that nobody was given touch nothing', () => {
    const table = new ConnectionTable({ ttlMs: TTL, initialCapacity: 4 })
    const phone = table.connect(7, 0)
    table.extendAll(10)
    const strangers = [
      0,
      1,
      3,
      1_000_000,
      -1,
      0.5,
      NaN,
      Infinity,
      Number.MAX_SAFE_INTEGER,
      makeHandle(0, 2),
      makeHandle(1, 1),
      makeHandle(9, 1)
    ]
    for (const handle of strangers) {
      expect(table.heartbeat(handle, 0)).toBe(false)
      expect(table.isOpen(handle, 0)).toBe(false)
      expect(table.user(handle)).toBe(-1)
      expect(table.disconnect(handle)).toBe(false)
    }
    expect(table.size).toBe(1)
    expect(table.user(phone)).toBe(7)
  })

  test('bad arguments are refused, with the value and what is allowed', () => {
    expect(() => new ConnectionTable({ ttlMs: 0 })).toThrow('ttlMs is 0, allowed is a number above 0')
    expect(() => new ConnectionTable({ ttlMs: NaN })).toThrow(RangeError)
    expect(() => new ConnectionTable({ ttlMs: 1, initialCapacity: 0 })).toThrow('initialCapacity is 0')
    const table = new ConnectionTable({ ttlMs: TTL })
    expect(() => table.connect(-1, 0)).toThrow('userIndex is -1')
    expect(() => table.connect(0, NaN)).toThrow('nowMs is NaN')
    expect(() => table.extendAll(-1)).toThrow('byMs is -1')
    expect(table.size).toBe(0)
  })
})

describe('connection table, epochs', () => {
  test('T7 INV-61: in all interleavings of two lives of one slot, late calls of either touch only their own', () => {
    const life = ['connect', 'heartbeat', 'disconnect', 'heartbeat', 'disconnect'] as const
    let tried = 0
    for (const order of interleavings([life.length, life.length, 1])) {
      const table = new ConnectionTable({ ttlMs: 100, initialCapacity: 1 })
      const handles: Handle[] = [0, 0]
      const open = [false, false]
      const at = [0, 0]
      let nowMs = 0
      for (const who of order) {
        nowMs += who === 2 ? 100 : 1
        if (who === 2) {
          const swept = sweepAll(table, nowMs)
          expect(swept.sort()).toEqual(handles.filter((_, index) => open[index]).sort())
          open.fill(false)
          continue
        }
        const call = life[at[who]!++]
        if (call === 'connect') {
          handles[who] = table.connect(who, nowMs)
          open[who] = true
        } else {
          expect(call === 'heartbeat' ? table.heartbeat(handles[who]!, nowMs) : table.disconnect(handles[who]!)).toBe(open[who])
          open[who] = open[who] === true && call === 'heartbeat'
        }
        expect(handles.map(handle => table.isOpen(handle, nowMs))).toEqual(open)
        expect(table.size).toBe(open.filter(Boolean).length)
      }
      tried++
    }
    expect(tried).toBe(2_772)
  })

  test('T7 INV-61: no handle is ever given out twice; a slot whose generations are used up is retired', () => {
    const table = new ConnectionTable({ ttlMs: TTL, initialCapacity: 1, maxGeneration: 3 })
    const seen = new Set<Handle>()
    for (let i = 0; i < 300; i++) {
      const handle = table.connect(i, 0)
      expect(seen.has(handle)).toBe(false)
      for (const old of seen) {
        expect(table.isOpen(old, 0)).toBe(false)
        expect(table.disconnect(old)).toBe(false)
      }
      seen.add(handle)
      expect(table.slot(handle)).toBe(Math.floor(i / 3))
      expect(i % 2 === 0 ? table.disconnect(handle) : sweepAll(table, TTL).length === 1).toBe(true)
    }
    expect(table.size).toBe(0)
  })

  test('slots are dense: they are used again before new ones are taken', () => {
    const table = new ConnectionTable({ ttlMs: TTL, initialCapacity: 2 })
    const handles = Array.from({ length: 1_000 }, (_, user) => table.connect(user, 0))
    expect(new Set(handles.map(handle => table.slot(handle))).size).toBe(1_000)
    for (const handle of handles) {
      table.disconnect(handle)
    }
    for (let user = 0; user < 1_000; user++) {
      expect(table.slot(table.connect(user, 0))).toBeLessThan(1_000)
    }
  })
})

describe('connection table, slices', () => {
  test('L3: a sweep ends with its budget and goes on where it stopped', () => {
    const table = new ConnectionTable({ ttlMs: 100 })
    const handles = new Set(Array.from({ length: 20_000 }, (_, user) => table.connect(user, 0)))
    let slices = 0
    let done = false
    while (!done) {
      let inSlice = 0
      done = table.sweep(100, { maxExpired: 777 }, handle => {
        expect(handles.delete(handle)).toBe(true)
        inSlice++
      })
      expect(inSlice).toBeLessThanOrEqual(777)
      slices++
    }
    expect(handles.size).toBe(0)
    expect(slices).toBe(Math.ceil(20_000 / 777))
  })

  test('L3: the clock is asked after every 64 expiries and after every block, and each slice gets on', () => {
    const table = new ConnectionTable({ ttlMs: 100 })
    for (let user = 0; user < 10_000; user++) {
      table.connect(user, 0)
    }
    let slices = 1
    let expired = 0
    while (!table.sweep(100, { outOfTime: () => true }, () => expired++)) {
      slices++
    }
    expect(expired).toBe(10_000)
    expect(slices).toBeGreaterThan(10_000 / 64 - 1)
    for (let user = 0; user < 10_000; user++) {
      table.heartbeat(table.connect(user, 200), 250)
    }
    let scans = 0
    while (!table.sweep(301, { outOfTime: () => true }, () => expired++)) {
      scans++
    }
    expect(scans).toBe(2)
    expect(expired).toBe(10_000)
  })

  test('a callback may connect, disconnect, pause and sweep: each connection still ends exactly once (INV-63)', () => {
    const table = new ConnectionTable({ ttlMs: 100, initialCapacity: 1 })
    const handles = Array.from({ length: 9_000 }, (_, user) => table.connect(user, 0))
    const ends = new Map<Handle, number>()
    const ended = (handle: Handle): unknown => ends.set(handle, (ends.get(handle) ?? 0) + 1)
    const onExpired = (handle: Handle, user: number): void => {
      ended(handle)
      const neighbour = handles[8_999 - user]
      if (user % 3 === 0 && neighbour !== undefined && table.disconnect(neighbour)) {
        ended(neighbour)
      }
      if (user % 2 === 0) {
        table.connect(100_000 + user, 150)
        table.connect(200_000 + user, 150)
      }
      if (user % 1_000 === 1) {
        table.sweep(150, { maxExpired: 5 }, onExpired)
      }
    }
    table.sweep(150, {}, onExpired)
    expect([...ends.keys()].sort()).toEqual([...handles].sort())
    expect(new Set(ends.values())).toEqual(new Set([1]))
    const fresh = table.size
    expect(fresh).toBeGreaterThan(0)
    expect(sweepAll(table, 249)).toEqual([])
    expect(sweepAll(table, 250).length).toBe(fresh)
  })

  test('a callback that throws loses nothing', () => {
    const table = new ConnectionTable({ ttlMs: 100 })
    const handles = new Set(Array.from({ length: 10 }, (_, user) => table.connect(user, 0)))
    for (let calls = 0; calls < 10; calls++) {
      expect(() =>
        table.sweep(100, {}, handle => {
          handles.delete(handle)
          throw new Error('from the callback')
        })
      ).toThrow('from the callback')
    }
    expect(handles.size).toBe(0)
    expect(sweepAll(table, 100)).toEqual([])
  })

  test('a connection that is opened behind a sliced sweep is not forgotten', () => {
    const table = new ConnectionTable({ ttlMs: 100 })
    const handles = Array.from({ length: 200 }, (_, user) => table.connect(user, 0))
    table.disconnect(handles[0]!)
    table.sweep(100, { maxExpired: 50 }, () => {})
    const late = table.connect(900, 100)
    expect(table.slot(late)).toBeLessThan(52)
    expect(sweepAll(table, 150).length).toBe(149)
    expect(table.nextDeadlineMs()).toBeLessThanOrEqual(200)
    expect(sweepAll(table, 200)).toEqual([late])
  })
})

describe('connection table, years', () => {
  test.each([0, 1e9, 2 ** 40 + 0.5, 2 ** 53 - 2 ** 36])('heartbeats from %d ms on for two years expire neither early nor late', startMs => {
    const table = new ConnectionTable({ ttlMs: TTL })
    const phone = table.connect(1, startMs)
    const end = startMs + Math.min(2 * 365 * 86_400_000, 2 ** 36 - 2 ** 20)
    let lastMs = startMs
    let refused = 0
    for (let nowMs = startMs; nowMs < end; nowMs += 40_000) {
      refused += table.heartbeat(phone, nowMs) ? 0 : 1
      lastMs = nowMs
    }
    expect(refused).toBe(0)
    expect(table.isOpen(phone, lastMs + TTL - 1)).toBe(true)
    expect(sweepAll(table, lastMs + TTL + 1)).toEqual([phone])
  })

  test('a table that nobody touched for years still knows what has expired', () => {
    const table = new ConnectionTable({ ttlMs: TTL })
    const [phone, desk] = [table.connect(1, 0), table.connect(2, 0)]
    const years = 20 * 365 * 86_400_000
    expect(table.isOpen(phone, years)).toBe(false)
    const fresh = table.connect(3, years)
    expect(table.heartbeat(desk, years)).toBe(false)
    expect(sweepAll(table, years).sort()).toEqual([phone, desk].sort())
    expect(table.isOpen(fresh, years + TTL - 1)).toBe(true)
    expect(sweepAll(table, years + TTL)).toEqual([fresh])
  })
})

describe('connection table against a Map with plain deadlines', () => {
  const smallMs = fc.oneof(fc.nat(150), fc.double({ min: 0, max: 150, noNaN: true }))
  const op = (name: Step['op'], fields: object = {}): fc.Arbitrary<Step> =>
    fc.record({ op: fc.constant(name), which: fc.nat(40), ms: smallMs, max: fc.integer({ min: 1, max: 6 }), ...fields })
  const step = fc.oneof(
    { weight: 5, arbitrary: op('connect') },
    { weight: 5, arbitrary: op('heartbeat') },
    { weight: 3, arbitrary: op('disconnect') },
    { weight: 4, arbitrary: op('pass') },
    { weight: 1, arbitrary: op('pass', { ms: fc.nat(2 ** 31) }) },
    { weight: 3, arbitrary: op('sweep') },
    { weight: 1, arbitrary: op('extend', { ms: fc.nat(200) }) },
    { weight: 1, arbitrary: op('pause', { ms: fc.nat(2 ** 33) }) }
  )

  test('L1 L3 L5 T7: every answer is the model’s, nothing expires early or 1 ms late', () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 150, size: 'max' }),
        fc.integer({ min: 1, max: 4 }),
        fc.constantFrom(0, 0.5, 1e6 + 0.125, 1e12, 2 ** 53 - 2 ** 44),
        (steps, maxGeneration, startMs) => {
          const run = new Run(maxGeneration, startMs)
          for (const next of steps) {
            run.step(next)
            run.check(next.which)
          }
        }
      ),
      { numRuns: 400 }
    )
  })
})

interface Step {
  readonly op: 'connect' | 'heartbeat' | 'disconnect' | 'pass' | 'sweep' | 'extend' | 'pause'
  readonly which: number
  readonly ms: number
  readonly max: number
}

/** A table, and beside it the plainest thing that could be right. */
class Run {
  readonly table: ConnectionTable
  readonly model = new Map<Handle, { user: number; deadlineMs: number }>()
  readonly handles: Handle[] = []
  nowMs: number

  constructor(maxGeneration: number, startMs: number) {
    this.table = new ConnectionTable({ ttlMs: 100, initialCapacity: 1, maxGeneration })
    this.nowMs = startMs
  }

  step({ op, which, ms, max }: Step): void {
    const handle = this.handles.at(-1 - (which % Math.max(1, this.handles.length))) ?? 0
    const known = this.model.get(handle)
    const deadlineMs = Math.ceil(this.nowMs) + 100
    if (op === 'connect') {
      const opened = this.table.connect(which, this.nowMs)
      expect(this.handles).not.toContain(opened)
      this.handles.push(opened)
      this.model.set(opened, { user: which, deadlineMs })
    } else if (op === 'heartbeat') {
      const alive = known !== undefined && this.nowMs < known.deadlineMs
      expect(this.table.heartbeat(handle, this.nowMs)).toBe(alive)
      if (alive) {
        known.deadlineMs = Math.max(known.deadlineMs, deadlineMs)
      }
    } else if (op === 'disconnect') {
      expect(this.table.disconnect(handle)).toBe(this.model.delete(handle))
    } else if (op === 'sweep') {
      this.sweep(max)
    } else {
      this.nowMs += op === 'extend' ? 0 : ms
      if (op !== 'pass') {
        this.table.extendAll(ms)
        this.model.forEach(connection => {
          connection.deadlineMs += ms
        })
      }
    }
  }

  sweep(maxExpired: number): void {
    const done = this.table.sweep(this.nowMs, { maxExpired }, (handle, user) => {
      expect(this.model.get(handle)).toMatchObject({ user })
      expect(this.model.get(handle)!.deadlineMs).toBeLessThanOrEqual(this.nowMs)
      this.model.delete(handle)
    })
    const due = [...this.model.values()].filter(({ deadlineMs }) => deadlineMs <= this.nowMs)
    expect(done && due.length > 0).toBe(false)
  }

  check(which: number): void {
    expect(this.table.size).toBe(this.model.size)
    const earliest = Math.min(...[...this.model.values()].map(({ deadlineMs }) => deadlineMs))
    expect(this.table.nextDeadlineMs()).toBeLessThanOrEqual(Math.max(earliest, this.nowMs))
    const handle = this.handles[which % this.handles.length] ?? 0
    expect(this.table.isOpen(handle, this.nowMs)).toBe((this.model.get(handle)?.deadlineMs ?? -Infinity) > this.nowMs)
    expect(this.table.user(handle)).toBe(this.model.get(handle)?.user ?? -1)
  }
}

describe('connection ids', () => {
  test('a handle, its id and back', () => {
    fc.assert(
      fc.property(
        fc.nat(MAX_SLOTS - 1),
        fc.integer({ min: 1, max: MAX_GENERATION }),
        fc.stringMatching(/^[0-9a-z.]{0,12}$/),
        (slot, generation, tag) => {
          const handle = makeHandle(slot, generation)
          expect(Number.isSafeInteger(handle)).toBe(true)
          expect(decodeConnectionId(encodeConnectionId(handle, tag), tag)).toBe(handle)
          expect(decodeConnectionId(encodeConnectionId(handle, tag), `${tag}x`)).toBe(0)
        }
      )
    )
  })

  test('only the one text of a handle is an id', () => {
    const id = encodeConnectionId(makeHandle(5, 9))
    const wrong = [
      '',
      '0',
      `0${id}`,
      id.toUpperCase(),
      ` ${id}`,
      `${id} `,
      `${id}.`,
      `-${id}`,
      `+${id}`,
      `${id}.t`,
      '1',
      'zzzz',
      '2gosa7pa2gw',
      '3gosa7pa2gv'
    ]
    expect(wrong.filter(text => text !== id && decodeConnectionId(text) !== 0)).toEqual([])
    expect(decodeConnectionId(id)).toBe(makeHandle(5, 9))
    expect(decodeConnectionId('2gosa7pa2gv')).toBe(Number.MAX_SAFE_INTEGER)
    expect(decodeConnectionId(`${id}.t`, 't')).toBe(makeHandle(5, 9))
    expect([`${id}t`, `${id}.u`, `${id}..t`, `.t`, 't', ''].filter(text => decodeConnectionId(text, 't') !== 0)).toEqual([])
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[0-9a-zA-Z.]{0,13}$/)), fc.constantFrom('', 't'), (text, tag) => {
        const handle = decodeConnectionId(text, tag)
        expect(handle === 0 || encodeConnectionId(handle, tag) === text).toBe(true)
      }),
      { numRuns: 2_000 }
    )
  })
})

/** All orders in which `counts[i]` steps of each i can happen. */
function* interleavings(counts: readonly number[], prefix: readonly number[] = []): Generator<readonly number[]> {
  if (counts.every(count => count === 0)) {
    yield prefix
  }
  for (let who = 0; who < counts.length; who++) {
    if (counts[who]! > 0) {
      yield* interleavings(counts.with(who, counts[who]! - 1), [...prefix, who])
    }
  }
}
