import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, test } from 'vitest'
import { generateTrace } from '../../src/cli/sim/generator.ts'
import { readTrace, type TraceEvent, thinned } from '../../src/cli/sim/trace.ts'

const YEAR = new URL('../../../shared/data/irc-presence-2018.csv.gz', import.meta.url).pathname
const directory = mkdtempSync(join(tmpdir(), 'rollcall-trace-'))

afterAll(() => rmSync(directory, { recursive: true, force: true }))

function file(name: string, content: string | Buffer): string {
  const path = join(directory, name)
  writeFileSync(path, content)
  return path
}

const SMALL = 'ms,topic,user,event\n0,a,u1,join\n10,a,u2,join\n10,b,u1,join\n20,a,u1,leave\n'

/** How many are present at the end; throws when a join or leave contradicts what was before. */
function replay(events: readonly TraceEvent[]): Set<string> {
  const present = new Set<string>()
  let last = 0
  for (const { ms, topic, user, kind } of events) {
    const place = `${topic} ${user}`
    if (ms < last || present.has(place) !== (kind === 'leave')) {
      throw new Error(`${kind} of ${place} at ${ms}, after ${last}, contradicts what was before`)
    }
    last = ms
    if (kind === 'join') {
      present.add(place)
    } else {
      present.delete(place)
    }
  }
  return present
}

describe('readTrace', () => {
  test('plain and gzipped: the same events', async () => {
    const plain = await readTrace(file('small.csv', SMALL))
    const packed = await readTrace(file('small.csv.gz', gzipSync(SMALL)))
    expect(plain.events).toEqual(packed.events)
    expect(plain.events[3]).toEqual({ ms: 20, topic: 'a', user: 'u1', kind: 'leave' })
    expect(plain.lengthMs).toBe(20)
  })

  test.each([
    ['no header', '0,a,u1,join\n', /line 1 is "0,a,u1,join", allowed is the header ms,topic,user,event/],
    ['a missing field', 'ms,topic,user,event\n0,a,join\n', /line 2 has not the four fields/],
    ['an unknown event', 'ms,topic,user,event\n0,a,u,joined\n', /line 2 has an event that is neither join nor leave/],
    ['no time', 'ms,topic,user,event\nx,a,u,join\n', /line 2 has no time in ms/],
    ['a step back', 'ms,topic,user,event\n5,a,u,join\n4,a,u,leave\n', /line 3 goes back in time \(5 came before\)/],
    ['nothing', 'ms,topic,user,event\n', /holds no events/]
  ])('%s is refused with its line', async (_what, content, message) => {
    await expect(readTrace(file('bad.csv', content))).rejects.toThrow(message)
  })

  test('no file, and no gzip: said as such', async () => {
    await expect(readTrace(join(directory, 'none.csv'))).rejects.toThrow(/there is no such file/)
    await expect(readTrace(file('plain.csv.gz', SMALL))).rejects.toThrow(/not a gzip file/)
  })

  test.skipIf(!existsSync(YEAR))('the year 2018: complete and consistent', async () => {
    const { events } = await readTrace(YEAR)
    expect(events).toHaveLength(163_786)
    expect(replay(events).size).toBe(796)
  })
})

describe('thinned', () => {
  test('keeps a user with all events, or not at all; the same ones for the same seed', () => {
    const trace = generateTrace({ seed: 3, users: 200, topics: 5, lengthMs: 60_000, ratePerSecond: 20 })
    const kept = thinned(trace, 0.25, 7)
    const users = new Set(kept.events.map(event => event.user))
    expect(kept.events).toEqual(trace.events.filter(event => users.has(event.user)))
    expect(users.size).toBeGreaterThan(25)
    expect(users.size).toBeLessThan(80)
    expect(thinned(trace, 0.25, 7).events).toEqual(kept.events)
    expect(thinned(trace, 0.25, 8).events).not.toEqual(kept.events)
    expect(thinned(trace, 1, 7)).toBe(trace)
  })
})

describe('generateTrace', () => {
  const options = { seed: 1, users: 300, topics: 12, lengthMs: 120_000, ratePerSecond: 40 }

  test('the same options give the same events, another seed others', () => {
    expect(generateTrace(options)).toEqual(generateTrace(options))
    expect(generateTrace({ ...options, seed: 2 }).events).not.toEqual(generateTrace(options).events)
  })

  test('events are consistent, in order, and lie within the run', () => {
    const { events } = generateTrace(options)
    replay(events)
    expect(events[0]?.ms).toBeGreaterThanOrEqual(0)
    expect(events.filter(event => event.ms > options.lengthMs)).toEqual([])
  })

  test('the rate is what was asked for, within a tenth', () => {
    for (const ratePerSecond of [20, 60]) {
      const perSecond = generateTrace({ ...options, ratePerSecond }).events.length / 120
      expect(perSecond).toBeGreaterThan(0.9 * ratePerSecond)
      expect(perSecond).toBeLessThan(1.1 * ratePerSecond)
    }
  })

  test('noon is busier than the ends, flaps and mass leaves are there', () => {
    const { events } = generateTrace(options)
    const joinsIn = (from: number, to: number): number =>
      events.filter(event => event.kind === 'join' && event.ms >= from * options.lengthMs && event.ms < to * options.lengthMs).length
    expect(joinsIn(0.4, 0.6)).toBeGreaterThan(2 * joinsIn(0, 0.1))
    const leavesAt = new Map<number, number>()
    for (const event of events.filter(({ kind }) => kind === 'leave')) {
      leavesAt.set(event.ms, (leavesAt.get(event.ms) ?? 0) + 1)
    }
    expect(Math.max(...leavesAt.values())).toBeGreaterThan(50)
    const lastLeave = new Map<string, number>()
    let flaps = 0
    for (const { ms, topic, user, kind } of events) {
      const place = `${topic} ${user}`
      if (kind === 'leave') {
        lastLeave.set(place, ms)
      } else if (ms - (lastLeave.get(place) ?? Number.NEGATIVE_INFINITY) < 400) {
        flaps++
      }
    }
    expect(flaps).toBeGreaterThan(50)
  })
})
