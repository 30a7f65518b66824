import { describe, expect, it } from 'vitest'
import type { DeltaInterval } from '../../src/crdt/delta-interval.ts'
import { createEntry } from '../../src/crdt/entry.ts'
import type { Message } from '../../src/tracker/messages.ts'
import { PROTOCOL_VERSION } from '../../src/tracker/messages.ts'
import type { Transport, TransportListener } from '../../src/tracker/transport.ts'

/** Two transports that find each other once both have started, and what can be done to them. */
export interface TransportPair {
  readonly a: Transport
  readonly b: Transport
  /** Lets time pass until the condition holds; fails after a generous while. */
  until(condition: () => boolean, what: string): Promise<void>
  /** Lets enough time pass for everything that is under way to arrive. */
  settle(): Promise<void>
  /** Breaks what is between the two, as a network does. They find each other again. */
  cut(): void | Promise<void>
  /** B reads nothing until the returned function is called. */
  stall(): () => void
  /** B's process ends, and nobody listens in its place. */
  kill(): void | Promise<void>
  end(): Promise<void>
}

/** Everything a transport told its listener, in order. */
export class Recorder implements TransportListener {
  readonly log: string[] = []
  readonly messages: Message[] = []
  onConnected: (peer: string) => void = () => {}

  connected(peer: string): void {
    this.log.push('connected')
    this.onConnected(peer)
  }

  disconnected(_peer: string, loss: string): void {
    this.log.push(`disconnected ${loss}`)
  }

  received(_peer: string, message: Message): void {
    this.log.push(message.type)
    this.messages.push(message)
  }

  drained(): void {
    this.log.push('drained')
  }

  invalid(): void {
    this.log.push('invalid')
  }

  count(entry: string): number {
    return this.log.filter(one => one === entry).length
  }

  heads(): number[] {
    return this.messages.flatMap(message => (message.type === 'bye' ? [message.head] : []))
  }
}

const ref = (id: string): { id: string; incarnation: number } => ({ id, incarnation: 1 })

export const hello = (id: string): Message => ({
  type: 'hello',
  protocolVersion: PROTOCOL_VERSION,
  cluster: 'contract',
  replica: ref(id),
  graceMs: 15_000,
  digest: [],
  want: 'all',
  unreached: []
})

/** A small message of the state lane that carries a number. */
export const numbered = (id: string, head: number): Message => ({ type: 'bye', replica: ref(id), head, announce: false })

export const heartbeat = (id: string, counter: number): Message => ({
  type: 'heartbeat',
  replica: ref(id),
  counter,
  ageMs: 0,
  head: 0,
  hash: { high: 0, low: 0 },
  digestHash: 0,
  relayed: []
})

/** A delta of nearly a whole frame, of text that does not repeat. */
export function large(id: string, first = 0): Message {
  const adds = Array.from({ length: 50 }, (_, i) => {
    const meta = JSON.stringify({ text: `${first + i}/`.repeat(200).slice(0, 1_000) })
    const content = {
      topic: 'room',
      key: `k${i}`,
      user: `u${i}`,
      session: 'A'.repeat(16),
      connection: i,
      meta,
      joinedAt: 1,
      revision: 0,
      epoch: 1,
      over: []
    }
    return createEntry(content, i + 1)
  })
  const interval: DeltaInterval = { replica: ref(id), shard: 0, from: 0, to: 50, since: 0, asOf: 50, adds, marks: [] }
  return { type: 'delta', intervals: [interval], answer: false }
}

async function started(makePair: () => Promise<TransportPair>): Promise<{ pair: TransportPair; a: Recorder; b: Recorder }> {
  const pair = await makePair()
  const [a, b] = [new Recorder(), new Recorder()]
  await pair.a.start(a)
  await pair.b.start(b)
  return { pair, a, b }
}

async function linked(makePair: () => Promise<TransportPair>): Promise<{ pair: TransportPair; a: Recorder; b: Recorder }> {
  const all = await started(makePair)
  await all.pair.until(() => all.a.count('connected') === 1 && all.b.count('connected') === 1, 'both connected')
  return all
}

/** What every transport must do. Waits for what can be seen, never for time. */
export function transportContract(name: string, makePair: () => Promise<TransportPair>): void {
  describe(`transport contract: ${name}`, () => {
    it('two that started: each is told of the other once, and their first words arrive, both ways', async () => {
      const { pair, a, b } = await started(makePair)
      a.onConnected = peer => pair.a.send(peer, hello(pair.a.self))
      b.onConnected = peer => pair.b.send(peer, hello(pair.b.self))
      await pair.until(() => a.count('hello') === 1 && b.count('hello') === 1, 'both hellos')
      await pair.settle()
      expect(a.log).toEqual(['connected', 'hello'])
      expect(b.log).toEqual(['connected', 'hello'])
      await pair.end()
    })

    it('before there is a link: send gives false and keeps nothing', async () => {
      const pair = await makePair()
      const [a, b] = [new Recorder(), new Recorder()]
      expect(pair.a.send(pair.b.self, numbered(pair.a.self, 1))).toBe(false)
      await pair.a.start(a)
      expect(pair.a.send(pair.b.self, numbered(pair.a.self, 2))).toBe(false)
      expect(pair.a.send('nobody', numbered(pair.a.self, 3))).toBe(false)
      await pair.b.start(b)
      await pair.until(() => b.count('connected') === 1, 'b connected')
      await pair.settle()
      expect(b.heads()).toEqual([])
      await pair.end()
    })

    it('messages of the state lane: arrive in order, unharmed, each once', async () => {
      const { pair, b } = await linked(makePair)
      const sent = Array.from({ length: 500 }, (_, i) => i)
      for (const i of sent) {
        await pair.until(() => pair.a.send(pair.b.self, numbered(pair.a.self, i)), 'sent')
      }
      await pair.until(() => b.heads().length === sent.length, 'all received')
      await pair.settle()
      expect(b.heads()).toEqual(sent)
      await pair.end()
    })

    it('heartbeats: arrive in order, in a lane of their own', async () => {
      const { pair, b } = await linked(makePair)
      for (let counter = 0; counter < 20; counter++) {
        expect(pair.a.send(pair.b.self, heartbeat(pair.a.self, counter))).toBe(true)
      }
      await pair.until(() => b.count('heartbeat') === 20, 'all heartbeats')
      const counters = b.messages.flatMap(message => (message.type === 'heartbeat' ? [message.counter] : []))
      expect(counters).toEqual(Array.from({ length: 20 }, (_, i) => i))
      await pair.end()
    })

    it('a message of nearly a whole frame: arrives as it was', async () => {
      const { pair, b } = await linked(makePair)
      const message = large(pair.a.self)
      expect(pair.a.send(pair.b.self, message)).toBe(true)
      await pair.until(() => b.count('delta') === 1, 'the delta')
      expect(b.messages).toEqual([message])
      await pair.end()
    })

    it('a peer that reads nothing: send gives false after a bounded number of bytes, then drained says when to go on', async () => {
      const { pair, a, b } = await linked(makePair)
      const resume = pair.stall()
      let sent = 0
      while (pair.a.send(pair.b.self, large(pair.a.self, sent))) {
        sent++
        expect(sent).toBeLessThan(1_000)
      }
      expect(sent).toBeGreaterThan(0)
      expect(a.count('drained')).toBe(0)
      resume()
      await pair.until(() => a.count('drained') === 1, 'drained')
      expect(pair.a.send(pair.b.self, numbered(pair.a.self, 7))).toBe(true)
      await pair.until(() => b.heads().length === 1, 'what was sent after it')
      expect(b.count('delta')).toBe(sent)
      await pair.end()
    })

    it('a peer whose state lane is full: heartbeats are taken all the same', async () => {
      const { pair, b } = await linked(makePair)
      const resume = pair.stall()
      for (let sent = 0; pair.a.send(pair.b.self, large(pair.a.self, sent)); ) {
        sent++
      }
      expect(pair.a.send(pair.b.self, heartbeat(pair.a.self, 1))).toBe(true)
      resume()
      await pair.until(() => b.count('heartbeat') === 1, 'the heartbeat')
      await pair.end()
    })

    it('a cut: both are told once that the link is gone, then of the new one; nothing is received between', async () => {
      const { pair, a, b } = await linked(makePair)
      await pair.cut()
      await pair.until(() => a.count('connected') === 2 && b.count('connected') === 2, 'linked again')
      for (const { log } of [a, b]) {
        expect(log).toEqual(['connected', expect.stringMatching(/^disconnected (closed|error)$/), 'connected'])
      }
      expect(pair.a.send(pair.b.self, numbered(pair.a.self, 1))).toBe(true)
      await pair.until(() => b.heads().length === 1, 'a message on the new link')
      await pair.end()
    })

    it('disconnect: both are told, and may link again', async () => {
      const { pair, a, b } = await linked(makePair)
      pair.a.disconnect(pair.b.self, 'contract')
      expect(a.log).toEqual(['connected'])
      expect(pair.a.send(pair.b.self, numbered(pair.a.self, 1))).toBe(false)
      await pair.until(() => a.count('connected') === 2 && b.count('connected') === 2, 'linked again')
      expect(a.log.slice(0, 2)).toEqual(['connected', 'disconnected closed'])
      expect(b.log.slice(0, 2)).toEqual(['connected', 'disconnected closed'])
      await pair.end()
    })

    it('what is sent right before stop: arrives; the peer is told that the link is closed, the one that stops hears no more', async () => {
      const { pair, a, b } = await linked(makePair)
      for (let i = 0; i < 3; i++) {
        pair.a.send(pair.b.self, numbered(pair.a.self, i))
      }
      const stopped = pair.a.stop()
      await pair.until(() => b.count('disconnected closed') === 1, 'b disconnected')
      await stopped
      expect(b.log.slice(0, 5)).toEqual(['connected', 'bye', 'bye', 'bye', 'disconnected closed'])
      await pair.settle()
      expect(a.log).toEqual(['connected'])
      await pair.end()
    })

    it('stop: may be called twice, and before start', async () => {
      const pair = await makePair()
      await pair.b.stop()
      await pair.b.stop()
      const [a, b] = [new Recorder(), new Recorder()]
      await pair.a.start(a)
      await pair.b.start(b)
      await pair.until(() => a.count('connected') === 1 && b.count('connected') === 1, 'both connected')
      await Promise.all([pair.a.stop(), pair.a.stop()])
      await pair.a.stop()
      expect(pair.a.send(pair.b.self, numbered(pair.a.self, 1))).toBe(false)
      await pair.end()
    })

    it('start after stop, on the same object: links again', async () => {
      const { pair, b } = await linked(makePair)
      await pair.a.stop()
      const again = new Recorder()
      await pair.a.start(again)
      await pair.until(() => again.count('connected') === 1 && b.count('connected') === 2, 'linked again')
      expect(again.log).toEqual(['connected'])
      expect(pair.b.send(pair.a.self, numbered(pair.b.self, 1))).toBe(true)
      await pair.until(() => again.heads().length === 1, 'a message')
      await pair.end()
    })

    it('a peer whose process ended, where nobody listens any more: its dial is refused, and that is told', async () => {
      const { pair, a } = await linked(makePair)
      await pair.kill()
      await pair.until(() => a.count('disconnected refused') > 0, 'refused')
      expect(a.log.slice(0, 3)).toEqual(['connected', expect.stringMatching(/^disconnected (closed|error)$/), 'disconnected refused'])
      expect(a.count('connected')).toBe(1)
      await pair.end()
    })

    it('a listener that sends from within what it is told: is answered, and never called from within its own call', async () => {
      const { pair, a, b } = await linked(makePair)
      let depth = 0
      let deepest = 0
      const received = a.received.bind(a)
      a.received = (peer, message) => {
        deepest = Math.max(deepest, ++depth)
        received(peer, message)
        if (message.type === 'bye' && message.head < 20) {
          pair.a.send(pair.b.self, numbered(pair.a.self, message.head + 1))
        }
        depth--
      }
      const answer = b.received.bind(b)
      b.received = (peer, message) => {
        answer(peer, message)
        if (message.type === 'bye' && message.head < 20) {
          pair.b.send(pair.a.self, numbered(pair.b.self, message.head + 1))
        }
      }
      pair.a.send(pair.b.self, numbered(pair.a.self, 1))
      await pair.until(() => [...a.heads(), ...b.heads()].includes(20), 'twenty turns')
      expect(deepest).toBe(1)
      await pair.end()
    })
  })
}
