import { describe, expect, it } from 'vitest'
import { Pacer } from '../../src/net/gateway/page/pacer.ts'

function busy(ms: number): void {
  const endMs = performance.now() + ms
  while (performance.now() < endMs) {
    // A search keeps the process busy.
  }
}

describe('searches through everything', () => {
  it('have a fifth of the time at most, however many ask', async () => {
    const pacer = new Pacer()
    let searchingMs = 0
    const fromMs = performance.now()
    await Promise.all(
      Array.from({ length: 5 }, () =>
        pacer.run(() => {
          const startMs = performance.now()
          busy(20)
          searchingMs += performance.now() - startMs
        })
      )
    )
    // Nobody waits after the last one.
    expect(performance.now() - fromMs).toBeGreaterThanOrEqual(0.95 * (searchingMs + 4 * (searchingMs * 0.8)))
  })

  it('begin at once when they are quick', async () => {
    const pacer = new Pacer()
    const order: string[] = []
    const first = pacer.run(() => order.push('searched'))
    order.push('asked')
    await first
    expect(order).toEqual(['searched', 'asked'])
  })

  it('are refused when fifty wait, and a search that fails keeps nobody waiting', async () => {
    const pacer = new Pacer()
    await expect(
      pacer.run(() => {
        busy(5)
        throw new Error('no such thing')
      })
    ).rejects.toThrow('no such thing')
    await pacer.run(() => busy(30))
    const waiting = Array.from({ length: 50 }, () => pacer.run(() => 'found'))
    await expect(pacer.run(() => 'found')).rejects.toMatchObject({ name: 'PushError', message: 'too many searches at once; try again' })
    expect(await Promise.all(waiting)).toEqual(Array.from({ length: 50 }, () => 'found'))
  })
})
