import { describe, expect, test } from 'vitest'
import { beat, bye, numbers, type Peer, type Peers, setUp } from './peers.ts'

function linked(options: Parameters<typeof setUp>[0] = {}): Peers & { a: Peer; b: Peer } {
  const peers = setUp(options)
  const [a, b] = [peers.join('a'), peers.join('b')]
  peers.run(100)
  return { ...peers, a, b }
}

describe('faults of the simulated network', () => {
  test('a short cut only delays; a long one breaks the link of whoever sends into it', () => {
    const { a, b, run, network } = linked({ linkTimeoutMs: 3_000 })
    network.cut('a', 'b')
    a.transport.send('b', bye('a', 1))
    run(2_000)
    expect(b.log).toEqual(['+a'])
    network.heal()
    run(10)
    expect(b.log).toEqual(['+a', 'a: 1'])
    network.cut('a', 'b')
    a.transport.send('b', bye('a', 2))
    run(10_000)
    expect(a.log).toEqual(['+b', '-b error'])
    network.heal()
    run(2_000)
    expect(a.log.at(-1)).toBe('+b')
    expect(b.log.slice(2)).toEqual(expect.arrayContaining(['a: 2', '-a closed', '+a']))
  })

  test('a cut in one direction: the other goes on', () => {
    const { a, b, run, network } = linked()
    network.cut('a', 'b', { oneWay: true })
    a.transport.send('b', bye('a', 1))
    b.transport.send('a', bye('b', 1))
    run(100)
    expect([numbers(a.log, 'b'), numbers(b.log, 'a')]).toEqual([[1], []])
    expect([network.connected('a', 'b'), network.passable('a', 'b')]).toEqual([false, false])
  })

  test('frames stalled by a cut arrive in order after it, before later ones', () => {
    const { a, b, run, network } = linked({ conditions: { latencyMs: { kind: 'uniform', minMs: 1, maxMs: 50 } } })
    const sent = Array.from({ length: 60 }, (_, index) => index)
    for (const number of sent) {
      if (number === 10) network.cut('a', 'b')
      if (number === 40) network.heal('a', 'b')
      a.transport.send('b', bye('a', number))
      run(2)
    }
    run(1_000)
    expect(numbers(b.log, 'a')).toEqual(sent)
  })

  test('lost frames are gone, others go on; retransmitted ones come late, and all behind them', () => {
    const { a, b, run, network } = linked()
    network.setConditions('a', 'b', { lossRate: 0.3 })
    for (let number = 0; number < 200; number++) a.transport.send('b', bye('a', number))
    run(1_000)
    const arrived = numbers(b.log, 'a')
    expect(arrived.length).toBeGreaterThan(100)
    expect(arrived.length).toBeLessThan(180)
    expect(arrived).toEqual(arrived.toSorted((x, y) => x - y))
    network.setConditions('a', 'b', { lossRate: 0.3, lossMode: 'retransmit' })
    for (let number = 200; number < 400; number++) a.transport.send('b', bye('a', number))
    run(20_000)
    expect(numbers(b.log, 'a').slice(arrived.length)).toEqual(Array.from({ length: 200 }, (_, index) => 200 + index))
  })

  test('loss that breaks: the link ends on both sides', () => {
    const { a, b, run, network } = linked()
    network.setConditions('a', 'b', { lossRate: 1, lossMode: 'break' })
    a.transport.send('b', bye('a', 1))
    run(500)
    expect([a.log[1], b.log[1]]).toEqual(['-b error', '-a error'])
  })

  test('duplicates arrive again, reordered frames overtake each other', () => {
    const { a, b, run, network } = linked()
    network.setConditions('a', 'b', { duplicateRate: 0.5, reorder: true })
    for (let number = 0; number < 100; number++) a.transport.send('b', bye('a', number))
    run(1_000)
    const arrived = numbers(b.log, 'a')
    expect(arrived.length).toBeGreaterThan(120)
    expect(new Set(arrived).size).toBe(100)
    expect(arrived).not.toEqual(arrived.toSorted((x, y) => x - y))
  })

  test('a slow link pushes back and drains; heartbeats pass all the while', () => {
    const { a, b, run, network } = linked({ sendBufferBytes: 2_000 })
    network.setConditions('a', 'b', { bytesPerSecond: 1_000 })
    let sent = 0
    while (a.transport.send('b', bye('a', sent))) sent++
    expect(sent).toBeGreaterThan(10)
    expect(a.transport.send('b', beat('a', 1))).toBe(true)
    run(500)
    expect(b.log).toContain('a! 1')
    expect(numbers(b.log, 'a').length).toBeLessThan(sent / 2)
    expect(a.log).not.toContain('b drained')
    run(2_000)
    expect(a.log).toContain('b drained')
    expect(numbers(b.log, 'a').length).toBe(sent)
  })

  test('a receiver that stands still pushes back, and drains when it goes on', () => {
    const { a, b, run } = linked({ sendBufferBytes: 2_000 })
    b.process.pause()
    let sent = 0
    while (a.transport.send('b', bye('a', sent))) sent++
    run(60_000)
    expect(a.log).toEqual(['+b'])
    b.process.resume()
    run(10)
    expect(a.log).toEqual(['+b', 'b drained'])
    expect(numbers(b.log, 'a').length).toBe(sent)
  })

  test('by hand: held frames are listed, delivered in any order, doubled, dropped', () => {
    const { a, b, run, network } = linked()
    const wire = network.wire('a', 'b')
    wire.setHold(type => type === 'bye')
    for (let number = 0; number < 4; number++) a.transport.send('b', bye('a', number))
    a.transport.send('b', beat('a', 5))
    run(100)
    expect(b.log).toEqual(['+a', 'a! 5'])
    expect([wire.held.length, network.inFlight]).toEqual([4, 4])
    expect(wire.takeHeld(2).arriveByHand()).toBe(true)
    expect(wire.held[0]?.arriveByHand()).toBe(true)
    wire.takeHeld(1).settle()
    expect(numbers(b.log, 'a')).toEqual([2, 0])
    network.heal()
    run(10)
    expect(numbers(b.log, 'a')).toEqual([2, 0, 0, 3])
    expect(network.inFlight).toBe(0)
  })

  test('a frame held by hand outlives its link: it arrives over the next one', () => {
    const { a, b, run, network } = linked()
    network.wire('a', 'b').setHold(type => type === 'bye')
    a.transport.send('b', bye('a', 1))
    network.breakLink('a', 'b')
    run(2_000)
    expect(network.wire('a', 'b').takeHeld(0).arriveByHand()).toBe(true)
    expect(numbers(b.log, 'a')).toEqual([1])
  })

  test('bytes are counted per direction and type', () => {
    const { a, run, network } = linked()
    a.transport.send('b', bye('a', 1))
    a.transport.send('b', beat('a', 1))
    run(10)
    const { frames, bytes, bytesOf } = network.traffic('a', 'b')
    expect([frames, bytes]).toEqual([2, (bytesOf.bye ?? 0) + (bytesOf.heartbeat ?? 0)])
    expect(network.traffic('b', 'a').bytes).toBe(0)
  })

  test('the same seed gives the same run, another seed another', () => {
    const play = (seed: number): string => {
      const { a, b, run, network, clock } = linked({ seed, conditions: { latencyMs: { kind: 'lognormal', medianMs: 5, sigma: 1 } } })
      network.setConditions('a', 'b', { lossRate: 0.2, duplicateRate: 0.2, reorder: true })
      for (let number = 0; number < 50; number++) {
        a.transport.send('b', bye('a', number))
        run(3)
      }
      return [clock.nowMs, ...b.log].join()
    }
    expect(play(1)).toBe(play(1))
    expect(play(1)).not.toBe(play(2))
  })
})
