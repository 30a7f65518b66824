import { describe, expect, test } from 'vitest'
import { beat, bye, numbers, setUp } from './peers.ts'

describe('links of the simulated network', () => {
  test('two peers that dial each other at once have one link, known to both', () => {
    for (let seed = 1; seed <= 50; seed++) {
      const { join, run } = setUp({ seed })
      const [a, b] = [join('a'), join('b')]
      run(3_000)
      expect([a.log, b.log]).toEqual([['+b'], ['+a']])
    }
  })

  test('three peers that start at different times are all linked', () => {
    const { join, run, network } = setUp()
    join('a')
    run(500)
    join('b')
    run(500)
    join('c')
    run(2_000)
    expect([network.connected('a', 'b'), network.connected('b', 'c'), network.connected('a', 'c')]).toEqual([true, true, true])
  })

  test('frames arrive in order within each lane, and after the news of the link, whatever the latencies', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const { join, run } = setUp({ seed, conditions: { latencyMs: { kind: 'lognormal', medianMs: 20, sigma: 1 } } })
      const [a, b] = [join('a'), join('b')]
      while (!a.log.includes('+b')) {
        run(1)
      }
      const sent = Array.from({ length: 100 }, (_, index) => index)
      for (const number of sent) {
        a.transport.send('b', bye('a', number))
        if (number % 2 === 0) a.transport.send('b', beat('a', number))
        run(1)
      }
      run(5_000)
      expect(b.log[0]).toBe('+a')
      expect(numbers(b.log, 'a')).toEqual(sent)
      expect(b.log.filter(line => line.startsWith('a!'))).toEqual(sent.filter(number => number % 2 === 0).map(number => `a! ${number}`))
    }
  })

  test('send gives false without a link, and never throws', () => {
    const { join } = setUp()
    const a = join('a')
    expect(a.transport.send('nobody', bye('a', 1))).toBe(false)
  })

  test('a killed process: its peers see the link close, and redials are refused until it is back', () => {
    const { join, run, network } = setUp()
    const [a, b] = [join('a'), join('b')]
    run(6_000)
    b.process.kill()
    network.crash(b.transport)
    run(5_000)
    expect(a.log.slice(0, 3)).toEqual(['+b', '-b closed', '-b refused'])
    expect(a.log.slice(3).every(line => line === '-b refused')).toBe(true)
    const dials = a.log.length - 2
    expect(dials).toBeGreaterThanOrEqual(5)
    expect(dials).toBeLessThanOrEqual(11)
    const again = join('b')
    run(1_100)
    expect(a.log.at(-1)).toBe('+b')
    expect(again.log).toEqual(['+a'])
  })

  test('what a process sent before it died arrives before the close', () => {
    const { join, run, network } = setUp()
    const [a, b] = [join('a'), join('b')]
    run(100)
    b.transport.send('a', bye('b', 7))
    b.process.kill()
    network.crash(b.transport)
    run(10)
    expect(a.log).toEqual(['+b', 'b: 7', '-b closed'])
  })

  test('a machine that dies says nothing: dials are not refused, the link ends by time-out', () => {
    const { join, run, network } = setUp({ linkTimeoutMs: 4_000 })
    const [a, b] = [join('a'), join('b')]
    run(100)
    b.process.kill()
    network.crash(b.transport, { silent: true })
    a.transport.send('b', bye('a', 1))
    run(3_900)
    expect(a.log).toEqual(['+b'])
    run(20_000)
    expect(a.log).toEqual(['+b', '-b error'])
    join('b')
    run(6_100)
    expect(a.log.at(-1)).toBe('+b')
  })

  test('stop flushes, closes all links, and ends dialling', async () => {
    const { join, run } = setUp()
    const [a, b] = [join('a'), join('b')]
    run(100)
    a.transport.send('b', bye('a', 9))
    await a.transport.stop()
    await a.transport.stop()
    run(1_000)
    expect(b.log.slice(0, 3)).toEqual(['+a', 'a: 9', '-a closed'])
    expect(a.log).toEqual(['+b'])
    expect(a.transport.send('b', bye('a', 1))).toBe(false)
  })

  test('disconnect ends the link on both sides, and it is dialled again', () => {
    const { join, run } = setUp()
    const [a, b] = [join('a'), join('b')]
    run(100)
    a.transport.disconnect('b', 'test')
    expect(a.log).toEqual(['+b'])
    run(2_000)
    expect([a.log, b.log]).toEqual([
      ['+b', '-b closed', '+b'],
      ['+a', '-a closed', '+a']
    ])
  })

  test('a process that stands still accepts no link and reads nothing; its dials wait too', () => {
    const { join, run } = setUp()
    const [a, b] = [join('a'), join('b')]
    b.process.pause()
    run(1_000)
    expect([a.log, b.log]).toEqual([[], []])
    b.process.resume()
    run(1_000)
    expect([a.log, b.log]).toEqual([['+b'], ['+a']])
  })

  test('a restart at the same address replaces the link of the life before, also when that closes silently', () => {
    const { join, run, network } = setUp()
    const [a, b] = [join('a'), join('b')]
    run(100)
    b.process.kill()
    network.crash(b.transport, { silent: true })
    const again = join('b')
    run(2_000)
    expect(a.log).toEqual(['+b', '-b closed', '+b'])
    expect(again.log).toEqual(['+a'])
  })

  test('a second process that proves the id of a live one gets no link', () => {
    const { join, run } = setUp({ topology: (one, two) => ![one, two].every(name => name !== 'b') })
    const [a, b] = [join('a'), join('b')]
    run(100)
    const twin = join('c', 'a')
    run(5_000)
    expect([a.log, b.log, twin.log]).toEqual([['+b'], ['+a'], []])
    a.process.kill()
    run(10)
  })
})
