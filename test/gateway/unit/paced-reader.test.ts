import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { PacedReader } from '../../../src/net/gateway/feeds/paced-reader.ts'
import { microtasks } from './fakes.ts'

const WINDOW_MS = 50

/** As the watch of a tracker: what happened between two questions comes as one event. */
class Source implements AsyncIterator<number> {
  asked = 0
  returned = 0
  #sum = 0
  #waiting: PromiseWithResolvers<IteratorResult<number>> | null = null
  failsWith: unknown

  next(): Promise<IteratorResult<number>> {
    this.asked++
    if (this.failsWith !== undefined) {
      return Promise.reject(this.failsWith)
    }
    if (this.#sum > 0) {
      const value = this.#sum
      this.#sum = 0
      return Promise.resolve({ value, done: false })
    }
    this.#waiting = Promise.withResolvers()
    return this.#waiting.promise
  }

  return(): Promise<IteratorResult<number>> {
    this.returned++
    this.#settle({ value: undefined, done: true })
    return Promise.resolve({ value: undefined, done: true })
  }

  happen(): void {
    this.#sum++
    if (this.#waiting !== null) {
      const value = this.#sum
      this.#sum = 0
      this.#settle({ value, done: false })
    }
  }

  end(): void {
    this.#settle({ value: undefined, done: true })
  }

  fail(error: unknown): void {
    this.#waiting?.reject(error)
  }

  #settle(result: IteratorResult<number>): void {
    const waiting = this.#waiting
    this.#waiting = null
    waiting?.resolve(result)
  }
}

function start(take: (event: number) => void = () => {}) {
  const source = new Source()
  const log: string[] = []
  const reader = new PacedReader<number>({
    source,
    windowMs: () => WINDOW_MS,
    take: event => {
      log.push(`take ${event}`)
      take(event)
    },
    settled: () => log.push('settled'),
    ended: error => log.push(`ended ${error}`)
  })
  return { source, log, reader }
}

async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms)
  await microtasks()
}

/** A turn of the event loop: what was set for it runs. */
const turn = (): Promise<void> => pass(1)

describe('a paced reader', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    expect(vi.getTimerCount()).toBe(0)
    vi.useRealTimers()
  })

  it('the first event after a pause is taken at once; all others of the window as one, when it ends', async () => {
    const { source, log, reader } = start()
    source.happen()
    await microtasks()
    expect(log).toEqual(['take 1'])
    source.happen()
    source.happen()
    await pass(WINDOW_MS - 1)
    source.happen()
    expect(log).toEqual(['take 1'])
    await pass(1)
    expect(log).toEqual(['take 1', 'take 3'])
    await pass(10 * WINDOW_MS)
    source.happen()
    await microtasks()
    expect(log).toEqual(['take 1', 'take 3', 'take 1'])
    reader.close()
    await microtasks()
  })

  it('never takes more than one event per window, however many happen', async () => {
    const { source, log, reader } = start()
    for (let ms = 0; ms < 1_000; ms++) {
      source.happen()
      await pass(1)
    }
    expect(log.length).toBeLessThanOrEqual(1_000 / WINDOW_MS + 1)
    reader.close()
    await microtasks()
    const sum = log.reduce((total, line) => total + Number(line.slice(5)), 0)
    expect(sum).toBeGreaterThan(1_000 - WINDOW_MS)
  })

  it('a soon while nothing is due is settled in the next turn, once for all who asked', async () => {
    const { source, log, reader } = start()
    source.happen()
    await pass(2 * WINDOW_MS)
    reader.soon()
    reader.soon()
    expect(log).toEqual(['take 1'])
    await turn()
    expect(log).toEqual(['take 1', 'settled'])
    reader.soon()
    await turn()
    expect(log).toEqual(['take 1', 'settled', 'settled'])
    reader.close()
    await microtasks()
  })

  it('a soon within a window waits for its end: for the event that ends it, or, where there is none, for the turn after it', async () => {
    const { source, log, reader } = start()
    source.happen()
    await microtasks()
    reader.soon()
    await turn()
    expect(log).toEqual(['take 1'])
    await pass(WINDOW_MS)
    await turn()
    expect(log).toEqual(['take 1', 'settled'])
    source.happen()
    await microtasks()
    source.happen()
    reader.soon()
    await pass(WINDOW_MS)
    await turn()
    expect(log).toEqual(['take 1', 'settled', 'take 1', 'take 1'])
    reader.close()
    await microtasks()
  })

  it('an event that comes between a soon and the turn that settles it stands for it', async () => {
    const { source, log, reader } = start()
    source.happen()
    await pass(2 * WINDOW_MS)
    reader.soon()
    source.happen()
    await turn()
    await pass(2 * WINDOW_MS)
    expect(log).toEqual(['take 1', 'take 1'])
    reader.close()
    await microtasks()
  })

  it('nothing is settled before the first event: there is nothing to stand on', async () => {
    const { source, log, reader } = start()
    reader.soon()
    await turn()
    await pass(10 * WINDOW_MS)
    expect(log).toEqual([])
    source.happen()
    await microtasks()
    expect(log).toEqual(['take 1'])
    reader.close()
    await microtasks()
  })

  it.each([
    ['before the first event', async () => {}],
    [
      'within a window',
      async (source: Source) => {
        source.happen()
        await microtasks()
      }
    ],
    [
      'while nothing is due',
      async (source: Source) => {
        source.happen()
        await pass(WINDOW_MS)
      }
    ]
  ])('closed %s: the source is let go of, no timer is left, and nothing is told any more', async (_, prepare) => {
    const { source, log, reader } = start()
    await prepare(source)
    const before = [...log]
    reader.soon()
    reader.close()
    reader.close()
    source.happen()
    await turn()
    await pass(2 * WINDOW_MS)
    expect([log, source.returned]).toEqual([before, 1])
  })

  it('closed while it takes an event: that one is the last', async () => {
    const { source, log, reader } = start(() => reader.close())
    source.happen()
    source.happen()
    await pass(2 * WINDOW_MS)
    expect([log, source.returned]).toEqual([['take 1'], 1])
  })

  it('a source that ends is told once, without an error; one that fails, with its error', async () => {
    const ended = start()
    ended.source.end()
    await microtasks()
    expect(ended.log).toEqual(['ended undefined'])
    const failed = start()
    failed.source.fail(new Error('lost'))
    await microtasks()
    expect(failed.log).toEqual(['ended Error: lost'])
    const later = start()
    later.source.happen()
    await microtasks()
    later.source.failsWith = new Error('late')
    await pass(WINDOW_MS)
    expect(later.log).toEqual(['take 1', 'ended Error: late'])
    for (const { log, reader } of [ended, failed, later]) {
      const before = [...log]
      reader.soon()
      reader.close()
      await turn()
      expect(log).toEqual(before)
    }
  })

  it('a take that throws ends it, and lets go of the source', async () => {
    const { source, log } = start(() => {
      throw new Error('taken badly')
    })
    source.happen()
    await microtasks()
    expect([log, source.returned]).toEqual([['take 1', 'ended Error: taken badly'], 1])
  })
})
