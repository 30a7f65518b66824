import { describe, expect, it } from 'vitest'
import { MarkLog } from '../../src/crdt/mark-log.ts'
import { mark } from '../support/crdt/builders.ts'

function filled(limit: number, events: readonly number[]): MarkLog {
  const log = new MarkLog(limit)
  for (const event of events) {
    log.push(event, event - 1, 3, 7)
  }
  return log
}

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, i) => 2 * (i + 1))
}

describe('mark log', () => {
  it('new: empty, whole from the beginning', () => {
    const log = new MarkLog(4)
    expect([log.size, log.floor, log.indexAfter(0)]).toEqual([0, 0, 0])
    expect(log.slice(0, 0)).toEqual([])
  })

  it('marks come back as they went in', () => {
    const log = new MarkLog(10)
    log.push(3, 1, 1, 0)
    log.push(2 ** 52, 2 ** 52 - 1, 3, 255)
    expect(log.slice(0, 2)).toEqual([mark(3, 1, 1, 0), mark(2 ** 52, 2 ** 52 - 1, 3, 255)])
    expect([log.eventAt(1), log.counterAt(0)]).toEqual([2 ** 52, 1])
  })

  it('INV-3: past its limit it forgets the oldest, and its floor is the event of that one (C16)', () => {
    const log = filled(3, [2, 4, 6, 8])
    expect(log.slice(0, log.size).map(each => each.event)).toEqual([4, 6, 8])
    expect(log.floor).toBe(2)
  })

  it('limit 0: keeps nothing, whole from the last mark on', () => {
    const log = filled(0, [2, 4])
    expect([log.size, log.floor]).toEqual([0, 4])
  })

  it('limit 1: keeps the newest', () => {
    const log = filled(1, [2, 4, 6])
    expect([log.eventAt(0), log.size, log.floor]).toEqual([6, 1, 4])
  })

  it('after growing and wrapping many times: the newest in order, every index found', () => {
    const log = filled(100, upTo(1_234))
    const events = log.slice(0, log.size).map(each => each.event)
    expect(events).toEqual(upTo(1_234).slice(-100))
    expect(log.floor).toBe(upTo(1_234).at(-101))
    for (const [index, event] of events.entries()) {
      expect([log.indexAfter(event - 1), log.indexAfter(event)]).toEqual([index, index + 1])
    }
  })

  it('reset: empty, whole from the given event on, and usable again', () => {
    const log = filled(3, [2, 4, 6, 8])
    log.reset(9)
    expect([log.size, log.floor]).toEqual([0, 9])
    log.push(10, 1, 1, 0)
    expect(log.slice(0, 1)).toEqual([mark(10, 1, 1, 0)])
    expect(log.floor).toBe(9)
  })
})
