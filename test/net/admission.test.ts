import { describe, expect, it } from 'vitest'
import { Admission, type AdmissionInit } from '../../src/net/libp2p/admission.ts'
import { admissionGater } from '../../src/net/libp2p/gater.ts'
import { filterOrigins } from '../../src/net/libp2p/origin-filter.ts'
import { VirtualClock } from '../../src/testing/virtual-clock.ts'
import { createRandom, type Environment } from '../../src/tracker/environment.ts'
import type { Heartbeat, Hello, Message } from '../../src/tracker/messages.ts'
import { heartbeat, hello, large, numbered } from '../contract/transport-contract.ts'
import { keysInOrder } from '../support/net/keys.ts'

function setUp(init: AdmissionInit, preSharedKey = false): { admission: Admission; clock: VirtualClock } {
  const clock = new VirtualClock()
  const environment: Environment = {
    monotonicMs: () => clock.nowMs,
    wallClockMs: () => clock.nowMs,
    random: createRandom(1),
    schedule: (delayMs, task) => clock.after(delayMs, task)
  }
  return { admission: new Admission(init, preSharedKey, environment, 5_000), clock }
}

const later = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

describe('admission', () => {
  it('without a rule: everyone, and not closed; a pre-shared key closes it', async () => {
    expect(setUp({}).admission).toMatchObject({ closed: false, everyone: true })
    const { admission } = setUp({}, true)
    expect(admission).toMatchObject({ closed: true, everyone: true })
    expect([admission.verdict('a'), await admission.ask('a')]).toEqual([true, true])
  })

  it('an allow-list: those on it; an empty one admits nobody', async () => {
    const { admission } = setUp({ allow: ['a'] })
    expect([admission.verdict('a'), admission.verdict('b'), await admission.ask('a'), await admission.ask('b')]).toEqual([
      true,
      false,
      true,
      false
    ])
    expect(setUp({ allow: [] }).admission.verdict('a')).toBe(false)
  })

  it('S4: INV-71: an allow-list and a hook: both must agree, and the hook is not asked for who is not listed', async () => {
    const asked: string[] = []
    const { admission } = setUp({
      allow: ['a', 'b'],
      admit: peer => {
        asked.push(peer)
        return peer !== 'b'
      }
    })
    expect(await Promise.all(['a', 'b', 'c'].map(peer => admission.ask(peer)))).toEqual([true, false, false])
    expect(asked).toEqual(['a', 'b'])
  })

  it('a hook: is asked once at a time per peer, and again after a minute, or ten seconds for a refusal', async () => {
    let asked = 0
    let answer = true
    const { admission, clock } = setUp({
      async admit() {
        asked++
        return answer
      }
    })
    expect(await Promise.all([admission.ask('a'), admission.ask('a')])).toEqual([true, true])
    expect(asked).toBe(1)
    clock.step(59_000)
    expect([await admission.ask('a'), asked]).toEqual([true, 1])
    clock.step(61_000)
    answer = false
    // The old verdict counts until there is a new one: a gap would throw away what members relay.
    expect(admission.verdict('a')).toBe(true)
    await later()
    expect([admission.verdict('a'), asked]).toEqual([false, 2])
    clock.step(72_000)
    answer = true
    expect(await admission.ask('a')).toBe(true)
  })

  it.each([
    [
      'throws',
      () => {
        throw new Error('no')
      }
    ],
    ['rejects', () => Promise.reject(new Error('no'))],
    ['says something else than true', () => 1 as never]
  ])('a hook that %s: means no', async (_, admit) => {
    expect(await setUp({ admit }).admission.ask('a')).toBe(false)
  })

  it('a hook that never answers: means no after five seconds, and its signal aborts', async () => {
    let signal: AbortSignal | undefined
    const { admission, clock } = setUp({
      admit: (_, options) => {
        signal = options.signal
        return new Promise(() => {})
      }
    })
    const asked = admission.ask('a')
    expect(admission.verdict('a')).toBeUndefined()
    while (clock.step(5_000)) {}
    expect([await asked, signal?.aborted]).toEqual([false, true])
  })

  it('a flood of strangers: the hook runs 256 times at most at one time, verdicts kept are bounded', async () => {
    let running = 0
    let most = 0
    const { admission } = setUp({
      async admit() {
        most = Math.max(most, ++running)
        await later()
        running--
        return true
      }
    })
    await Promise.all(Array.from({ length: 10_000 }, (_, i) => admission.ask(`stranger/${i}`)))
    expect(most).toBe(256)
  })

  it('a bad allow-list: is refused with its value', () => {
    expect(() => setUp({ allow: [7 as never] })).toThrow(/allow holds 7, allowed are peer ids/)
  })

  it('the gater: denies by the same rule, inbound and outbound', async () => {
    const { peerIdFromString } = await import('@libp2p/peer-id')
    const [a, b] = (await keysInOrder(2)).map(({ id }) => peerIdFromString(id))
    if (a === undefined || b === undefined) {
      throw new Error('two keys')
    }
    const gater = admissionGater({ allow: [a.toString()] })
    for (const deny of [gater.denyDialPeer, gater.denyInboundEncryptedConnection, gater.denyOutboundEncryptedConnection]) {
      expect([await deny?.(a, undefined as never), await deny?.(b, undefined as never)]).toEqual([false, true])
    }
  })
})

describe('relayed origins', () => {
  const admits = (id: string): boolean => id === 'member'
  const ref = (id: string): { id: string; incarnation: number } => ({ id, incarnation: 1 })
  const entry = (id: string): never => ({ replica: ref(id), shard: 0, head: 1, hash: null, floor: 0, graceMs: 1 }) as never
  const interval = (id: string): never => ({ ...((large(id) as Extract<Message, { type: 'delta' }>).intervals[0] as object) }) as never

  it('S4: INV-71: what a member says of strangers is taken out, of itself and of members it stays', () => {
    const relayed = (id: string): never => ({ replica: ref(id), counter: 1, ageMs: 0 }) as never
    const all = ['sender', 'member', 'stranger']
    const cases: [Message, Message][] = [
      [
        { ...(hello('sender') as Hello), digest: all.map(entry) },
        { ...(hello('sender') as Hello), digest: [entry('sender'), entry('member')] }
      ],
      [
        { type: 'digest', entries: all.map(entry), unreached: [], reply: true },
        { type: 'digest', entries: [entry('sender'), entry('member')], unreached: [], reply: true }
      ],
      [
        { ...(heartbeat('sender', 1) as Heartbeat), relayed: all.map(relayed) },
        { ...(heartbeat('sender', 1) as Heartbeat), relayed: [relayed('sender'), relayed('member')] }
      ],
      [
        { type: 'delta', intervals: all.map(interval), answer: false },
        { type: 'delta', intervals: [interval('sender'), interval('member')], answer: false }
      ]
    ]
    for (const [given, left] of cases) {
      expect(filterOrigins(given, 'sender', admits)).toEqual(left)
    }
  })

  it('a delta of strangers only: nothing is left of it', () => {
    expect(filterOrigins({ type: 'delta', intervals: [interval('stranger')], answer: true }, 'sender', admits)).toBeUndefined()
  })

  it('a message in which nothing has to go: is the same object', () => {
    for (const message of [hello('sender'), heartbeat('sender', 1), large('sender'), large('member'), numbered('sender', 1)]) {
      expect(filterOrigins(message, 'sender', admits)).toBe(message)
    }
  })
})
