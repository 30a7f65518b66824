import { createServer, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection, Stream } from '@libp2p/interface'
import { multiaddr } from '@multiformats/multiaddr'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { HEARTBEAT_PROTOCOL_ID, PROTOCOL_ID } from '../../src/net/codec.ts'
import { encodeFrame } from '../../src/net/libp2p/framing.ts'
import { PEERS_PROTOCOL_ID } from '../../src/net/libp2p/peer-exchange.ts'
import { createRandom } from '../../src/tracker/environment.ts'
import { heartbeat, large, numbered, Recorder } from '../contract/transport-contract.ts'
import { keysInOrder, type NamedKey } from '../support/net/keys.ts'
import { createTransportNode, type TransportNode, type TransportNodeOptions } from '../support/net/transport-node.ts'
import { until } from '../support/net/until.ts'

const LONG = process.env.ROLLCALL_LONG === '1'
/** For what takes long when asked to. */
const LONG_TEST = { timeout: LONG ? 600_000 : 60_000 }

let nodes: TransportNode[] = []
let servers: { server: Server; sockets: Set<Socket> }[] = []
const rejections: unknown[] = []
const onRejection = (reason: unknown): void => void rejections.push(reason)

beforeEach(() => {
  rejections.length = 0
  process.on('unhandledRejection', onRejection)
})

afterEach(async () => {
  await Promise.all(nodes.map(one => one.transport.stop()))
  await Promise.all(nodes.map(one => one.node.stop()))
  for (const { server, sockets } of servers) {
    for (const socket of sockets) {
      socket.destroy()
    }
    server.close()
  }
  nodes = []
  servers = []
  process.off('unhandledRejection', onRejection)
  expect(rejections, 'unhandled rejections').toEqual([])
})

async function node(options: TransportNodeOptions = {}, key?: NamedKey): Promise<TransportNode> {
  const libp2p = { ...options.libp2p, ...(key !== undefined && { privateKey: key.privateKey }) }
  const made = await createTransportNode({ ...options, libp2p })
  nodes.push(made)
  return made
}

async function started(options: TransportNodeOptions = {}, key?: NamedKey): Promise<TransportNode & { log: Recorder }> {
  const made = await node(options, key)
  const log = new Recorder()
  await made.transport.start(log)
  return { ...made, log }
}

/** A host that accepts connections and says nothing. */
async function deafHost(): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer(socket => void sockets.add(socket.on('error', () => {})))
  servers.push({ server, sockets })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return `/ip4/127.0.0.1/tcp/${typeof address === 'object' ? address?.port : 0}`
}

const ours = (connection: Connection): string[] =>
  connection.streams.map(stream => stream.protocol).filter(protocol => protocol === PROTOCOL_ID || protocol === HEARTBEAT_PROTOCOL_ID)
const streamsOf = (one: TransportNode): string[] => one.node.getConnections().flatMap(ours)
const connects = (log: Recorder): number => log.count('connected')

describe('links', () => {
  it('pub-G1: 20 times connected and hung up: no dial is left over, and the two link again by themselves', async () => {
    const a = await started()
    const b = await started({ bootstrap: [a.full] })
    for (let round = 1; round <= 20; round++) {
      await b.node.dial(a.node.getMultiaddrs())
      await until(`round ${round}`, () => connects(a.log) >= round && connects(b.log) >= round)
      await b.node.hangUp(a.node.peerId)
      await until(`lost in round ${round}`, () => b.transport.sizes.links === 0 && a.transport.sizes.links === 0)
    }
    await until('linked again', () => a.transport.sizes.links === 1 && b.transport.sizes.links === 1)
    expect(b.transport.sizes.opening).toBe(0)
    expect(b.node.getDialQueue()).toEqual([])
  })

  it('pub-G3, pub-G10: a peer whose handshake hangs: the others are linked and hear us meanwhile', async () => {
    const c = await started()
    const deaf = await Promise.all(Array.from({ length: 3 }, deafHost))
    const a = await started({ bootstrap: [...deaf, c.bare], connectTimings: { dialTimeoutMs: 60_000 } })
    await until('linked with c', () => connects(a.log) === 1 && connects(c.log) === 1)
    await until('a deaf one is dialled', () => a.transport.sizes.opening > 0)
    for (let counter = 0; counter < 50; counter++) {
      expect(a.transport.send(c.id, heartbeat(a.id, counter))).toBe(true)
      await until('heard', () => c.log.count('heartbeat') === counter + 1)
    }
    expect(connects(a.log)).toBe(1)
  })

  it('pub-G5: ten thousand messages: two streams per link, never more', async () => {
    const a = await started()
    const b = await started({ bootstrap: [a.bare] })
    await until('linked', () => connects(a.log) === 1 && connects(b.log) === 1)
    for (let i = 0; i < 5_000; i++) {
      await until('sent', () => a.transport.send(b.id, numbered(a.id, i)))
      await until('sent', () => a.transport.send(b.id, heartbeat(a.id, i)))
      if (i % 100 === 0) {
        expect(streamsOf(a).sort()).toEqual([PROTOCOL_ID, HEARTBEAT_PROTOCOL_ID].sort())
        await new Promise(setImmediate)
      }
    }
    await until('all heard', () => b.log.heads().length === 5_000 && b.log.count('heartbeat') === 5_000)
    expect(b.log.heads()).toEqual(Array.from({ length: 5_000 }, (_, i) => i))
  })

  it('pub-G6, pub-F10: a peer that accepts the streams and never reads: bounded bytes wait for it, then it is let go and they are freed', async () => {
    const timings = { linkTimings: { drainTicks: 2, silenceTicks: 1_000 } }
    const [small, big] = await keysInOrder(2)
    const a = await started(timings, big)
    const deaf = await node({}, small)
    const connection = await deaf.node.dial(a.node.getMultiaddrs())
    const streams = await openPair(connection)
    for (const stream of streams) {
      // Without it yamux would read on its behalf, up to 4 MiB.
      stream.pause()
    }
    await until('linked', () => connects(a.log) === 1)
    const message = large(a.id)
    let taken = 0
    for (let i = 0; i < 100_000; i++) {
      taken += Number(a.transport.send(deaf.id, message))
    }
    // One frame waits in the stream; the window of 256 KiB is in the network. Nothing is kept for what was not taken.
    expect(taken).toBeLessThan(12)
    expect(a.transport.sizes.waitingBytes).toBeLessThan(70_000)
    expect(a.transport.send(deaf.id, heartbeat(a.id, 1))).toBe(true)
    await until('let go', () => a.log.count('disconnected error') === 1)
    expect(a.transport.sizes).toMatchObject({ links: 0, waitingBytes: 0 })
    await until('reset', () => streams.every(stream => stream.status !== 'open'))
  })

  it(
    `pub-G7: resets and closes at every stage, ${LONG ? 200 : 60} rounds, seeded: no rejection goes unhandled, and the two link again`,
    LONG_TEST,
    async () => {
      const random = createRandom('pub-G7')
      const a = await started()
      const b = await started({ bootstrap: [a.bare] })
      const abort = (connection: Connection | undefined): void => connection?.abort(new Error('pub-G7'))
      const stages: Record<string, () => Promise<void>> = {
        async dial() {
          const dialling = b.node.dial(a.node.getMultiaddrs(), { signal: AbortSignal.timeout(1 + random.below(20)) })
          await dialling.catch(() => {})
        },
        async negotiation() {
          const onOpen = ({ detail }: CustomEvent<Connection>): void => {
            setTimeout(() => abort(detail), random.below(4))
          }
          a.node.addEventListener('connection:open', onOpen)
          await b.node.dial(a.node.getMultiaddrs()).catch(() => {})
          await sleep(5)
          a.node.removeEventListener('connection:open', onOpen)
        },
        async midWrite() {
          for (let i = 0; i < 8; i++) {
            a.transport.send(b.id, large(a.id, i))
          }
          abort((random.below(2) === 0 ? a : b).node.getConnections()[0])
        },
        async midRead() {
          const streams = (random.below(2) === 0 ? a : b).node.getConnections().flatMap(connection => connection.streams)
          a.transport.send(b.id, large(a.id))
          b.transport.send(a.id, large(b.id))
          for (const stream of streams) {
            random.below(2) === 0 ? stream.abort(new Error('pub-G7')) : void stream.close().catch(() => {})
          }
        },
        async close() {
          b.transport.send(a.id, large(b.id))
          const stopping = b.transport.stop()
          abort(a.node.getConnections()[0])
          await stopping
          await b.transport.start(b.log)
        },
        async disconnect() {
          a.transport.disconnect(b.id, 'pub-G7')
          b.transport.disconnect(a.id, 'pub-G7')
        }
      }
      for (let round = 0; round < (LONG ? 200 : 60); round++) {
        await b.node.dial(a.node.getMultiaddrs()).catch(() => {})
        if (random.below(3) > 0) {
          await until(`round ${round}`, () => a.transport.sizes.links === 1 && b.transport.sizes.links === 1)
        }
        const names = Object.keys(stages)
        await stages[names[random.below(names.length)] as string]?.()
      }
      await until('linked at last', () => a.transport.sizes.links === 1 && b.transport.sizes.links === 1)
      const before = b.log.heads().length
      await until('a message gets through', () => a.transport.send(b.id, numbered(a.id, 1)) || b.log.heads().length > before)
      await until('it is heard', () => b.log.heads().length > before)
    }
  )

  it(`pub-G8: ${LONG ? 1_000 : 100} connects and closes: listeners, timers and handles are back at the base line`, LONG_TEST, async () => {
    const a = await started()
    const b = await started()
    const events = (one: TransportNode): number[] =>
      ['connection:open', 'peer:identify', 'peer:connect', 'connection:close'].map(name => one.node.listenerCount(name))
    const connect = async (): Promise<void> => {
      const links = a.log.count('connected')
      await b.node.dial(a.node.getMultiaddrs())
      await until('linked', () => a.log.count('connected') === links + 1 && a.transport.sizes.links === 1 && b.transport.sizes.links === 1)
      await b.node.hangUp(a.node.peerId)
      await until('lost', () => a.transport.sizes.links === 0 && b.transport.sizes.links === 0)
    }
    await connect()
    await sleep(400)
    const listeners = [events(a), events(b)]
    const handles = process.getActiveResourcesInfo().length
    for (let round = 0; round < (LONG ? 1_000 : 100); round++) {
      await connect()
    }
    await until('handles freed', () => process.getActiveResourcesInfo().length <= handles + 4)
    expect([events(a), events(b)]).toEqual(listeners)
    for (const one of [a, b]) {
      expect(one.transport.sizes.timers).toBeLessThan(10)
      expect(one.transport.sizes.opening).toBeLessThanOrEqual(1)
    }
  })

  it('pub-G9: further connections between the two: one link, no event, and they are closed again', async () => {
    const a = await started()
    const b = await started({ bootstrap: [a.bare] })
    await until('linked', () => connects(a.log) === 1 && connects(b.log) === 1)
    await b.node.dial(multiaddr(a.bare), { force: true })
    await a.node.dial(b.node.getMultiaddrs(), { force: true })
    expect(a.node.getConnections().length).toBeGreaterThan(1)
    await until('closed again', () => a.node.getConnections().length === 1 && b.node.getConnections().length === 1)
    expect([a.log.log, b.log.log]).toEqual([['connected'], ['connected']])
    expect(streamsOf(a)).toHaveLength(2)
    expect(a.transport.send(b.id, numbered(a.id, 1))).toBe(true)
    await until('heard', () => b.log.heads().length === 1)
  })

  it('both dial each other at once, many times: one link each time', async () => {
    for (let round = 0; round < 3; round++) {
      const [one, two] = await Promise.all([node(), node()])
      const logs = [new Recorder(), new Recorder()]
      await one.transport.start(logs[0] as Recorder)
      await two.transport.start(logs[1] as Recorder)
      await Promise.all([one.node.dial(two.node.getMultiaddrs()), two.node.dial(one.node.getMultiaddrs())])
      await until('linked', () => logs.every(log => connects(log) === 1))
      await until('one connection', () => one.node.getConnections().length === 1 && two.node.getConnections().length === 1)
      expect(logs.map(log => log.log)).toEqual([['connected'], ['connected']])
    }
  })

  it('the kept connection is closed by somebody else: the link moves to the other one', async () => {
    const a = await started()
    const b = await started({ bootstrap: [a.bare] })
    await until('linked', () => connects(a.log) === 1 && connects(b.log) === 1)
    await b.node.dial(multiaddr(a.bare), { force: true })
    const carrying = b.node.getConnections().find(connection => ours(connection).length === 2)
    carrying?.abort(new Error('closed by somebody else'))
    await until('linked again', () => connects(a.log) === 2 && connects(b.log) === 2)
    expect(b.node.getConnections()).toHaveLength(1)
  })

  it('pub-G11: a peer that is away for a while and returns at the same address, same key: linked again without a call', async () => {
    const [key] = await keysInOrder(1)
    const b = await started({}, key)
    const a = await started({ bootstrap: [b.bare] })
    await until('linked', () => connects(a.log) === 1)
    await b.transport.stop()
    await b.node.stop()
    await until('refused', () => a.log.count('disconnected refused') >= 2)
    const again = await started({ libp2p: { addresses: { listen: [b.bare] } } }, key)
    await until('linked again', () => connects(a.log) === 2 && connects(again.log) === 1)
    expect(again.id).toBe(b.id)
  })

  it('pub-G12: a bare address that leads to a connected peer: no second link', async () => {
    const a = await started()
    const b = await started({ bootstrap: [a.full] })
    await until('linked', () => connects(a.log) === 1)
    await b.transport.stop()
    const again = new Recorder()
    await b.transport.start(again)
    await until('linked', () => connects(again) === 1)
    const c = await node({ bootstrap: [b.bare, `${b.bare}/p2p/${b.id}`, a.bare, a.full] })
    const log = new Recorder()
    await c.transport.start(log)
    await until('linked with both', () => c.transport.sizes.links === 2)
    await until('one connection each', () => c.node.getConnections().length === 2)
    expect(log.log).toEqual(['connected', 'connected'])
    expect(c.transport.sizes.members).toBe(2)
  })

  it('pub-G13: a peer that comes back without bootstrap list: linked both ways, whichever side dials', async () => {
    const keys = await keysInOrder(2)
    for (const [first, second] of [keys, keys.toReversed()] as [NamedKey, NamedKey][]) {
      const b = await started({}, second)
      const a = await started({ bootstrap: [b.bare] }, first)
      await until('linked', () => connects(a.log) === 1)
      await b.transport.stop()
      await b.node.stop()
      const again = await started({ libp2p: { addresses: { listen: [b.bare] } } }, second)
      await until('linked again', () => connects(a.log) === 2 && connects(again.log) === 1)
      expect(a.transport.send(b.id, numbered(a.id, 1)) && again.transport.send(a.id, numbered(b.id, 2))).toBe(true)
      await until('heard both ways', () => a.log.heads().includes(2) && again.log.heads().includes(1))
      await Promise.all([a.transport.stop(), again.transport.stop()])
      await Promise.all([a.node.stop(), again.node.stop()])
    }
  })

  it('a larger id that finds itself without a link: asks, and gets one', async () => {
    const [small, big] = await keysInOrder(2)
    const a = await started({}, small)
    // Nobody can dial b, and a gives it up as soon as it finds no replica at the other end.
    const unreachable = { addresses: { listen: [] } }
    const b = await started({ bootstrap: [a.bare], connectTimings: { askTicks: 1 }, libp2p: unreachable }, big)
    await until('linked', () => connects(a.log) === 1 && connects(b.log) === 1)
    await b.transport.stop()
    await until('given up', () => a.log.count('disconnected closed') === 1 && a.transport.sizes.members === 0)
    await until('hung up', () => a.node.getConnections().length === 0 && b.node.getConnections().length === 0)
    const connection = await b.node.dial(a.node.getMultiaddrs())
    // On the new connection a finds no replica either.
    await sleep(100)
    await until('tried', () => a.transport.sizes.opening === 0)
    const again = new Recorder()
    await b.transport.start(again)
    await until('linked again', () => connects(again) === 1 && connects(a.log) === 2)
    expect(ours(connection)).toHaveLength(2)
  })

  it('members learn of each other: c, who knows a only, is linked with b as well', async () => {
    const a = await started()
    const b = await started({ bootstrap: [a.bare] })
    const c = await started({ bootstrap: [a.bare] })
    await until('a full mesh', () => [a, b, c].every(one => one.transport.sizes.links === 2))
    for (const one of [a, b, c]) {
      expect(one.log.log).toEqual(['connected', 'connected'])
    }
  })
})

/** What a replica with the smaller id does, by hand. */
async function openPair(connection: Connection): Promise<[Stream, Stream]> {
  return [await connection.newStream(PROTOCOL_ID), await connection.newStream(HEARTBEAT_PROTOCOL_ID)]
}

describe('hostile peers', () => {
  /** b, an honest link a–b, and an admitted attacker with the smallest id. */
  async function siege(options: TransportNodeOptions = {}): Promise<{
    a: TransportNode & { log: Recorder }
    b: TransportNode & { log: Recorder }
    attacker: TransportNode
    connection: Connection
    checkHonest(): Promise<void>
  }> {
    const keys = await keysInOrder(3)
    const b = await started(options, keys[2])
    const a = await started({ bootstrap: [b.bare] }, keys[1])
    await until('linked', () => connects(a.log) === 1 && connects(b.log) === 1)
    const attacker = await node({}, keys[0])
    const connection = await attacker.node.dial(b.node.getMultiaddrs())
    let head = 0
    return {
      a,
      b,
      attacker,
      connection,
      async checkHonest() {
        expect(a.transport.send(b.id, numbered(a.id, ++head))).toBe(true)
        await until('the honest peer is heard', () => b.log.heads().at(-1) === head)
        expect(a.log.log).toEqual(['connected'])
      }
    }
  }

  it.each([
    ['a varint without end', new Uint8Array(1_000).fill(0x80)],
    ['a length of 2^53', new Uint8Array([0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10])],
    ['a length above the limit', new Uint8Array([0x81, 0x80, 0x04])],
    ['a second welcome', encodeFrame(new Uint8Array(0))],
    ['a frame that is no message', encodeFrame(new Uint8Array([1, 2, 3, 4]))]
  ])(
    'pub-F6: INV-70: %s: the stream is reset at once, the link is gone, the peer is shunned, others are not affected',
    async (_, bytes) => {
      const { b, connection, checkHonest } = await siege()
      const [state, heartbeats] = await openPair(connection)
      await until('linked', () => connects(b.log) === 2)
      state.send(bytes)
      await until('reset', () => state.status === 'reset' && heartbeats.status === 'reset')
      await until('told', () => b.log.log.includes('invalid') && b.log.log.includes('disconnected error'))
      expect(b.transport.traffic.invalid).toBe(1)
      const again = await openPair(connection).catch(() => [])
      await until('refused', () => again.every(stream => stream.status !== 'open'))
      expect(connects(b.log)).toBe(2)
      await checkHonest()
    }
  )

  it('pub-F6: a length at the limit, then silence: reset in bounded time', async () => {
    const { b, connection, checkHonest } = await siege({ linkTimings: { frameTicks: 1 } })
    const [state] = await openPair(connection)
    await until('linked', () => connects(b.log) === 2)
    state.send(encodeFrame(new Uint8Array(65_536)).slice(0, 3))
    await until('reset', () => state.status === 'reset')
    expect(b.log.log).toContain('invalid')
    await checkHonest()
  })

  it('pub-F6: a byte now and then: reset in bounded time all the same', async () => {
    const { b, connection, checkHonest } = await siege({ linkTimings: { frameTicks: 2 } })
    const [state] = await openPair(connection)
    await until('linked', () => connects(b.log) === 2)
    state.send(encodeFrame(new Uint8Array(65_536)).slice(0, 3))
    const dripping = setInterval(() => state.status === 'open' && state.send(new Uint8Array([0x40])), 100)
    await until('reset', () => state.status === 'reset')
    clearInterval(dripping)
    await checkHonest()
  })

  it('pub-F6: a hundred streams, each with a length and no body: at most one waits, nothing of it is read', async () => {
    const { b, connection, checkHonest } = await siege({ connectTimings: { pairTicks: 1 } })
    const opened = await Promise.allSettled(
      Array.from({ length: 100 }, async () => {
        const stream = await connection.newStream(PROTOCOL_ID, { maxOutboundStreams: 200 })
        stream.send(encodeFrame(new Uint8Array(65_536)).slice(0, 3))
        expect(b.transport.sizes.waitingStreams).toBeLessThanOrEqual(1)
        return stream
      })
    )
    await until('all reset', () => opened.every(one => one.status === 'rejected' || one.value.status !== 'open'))
    expect(b.transport.sizes.waitingStreams).toBe(0)
    expect(connects(b.log)).toBe(1)
    await checkHonest()
  })

  it('a message in another’s name, and one on the wrong lane: refused like any invalid frame', async () => {
    const { a, b, connection, attacker, checkHonest } = await siege()
    const { encodeMessage } = await import('../../src/net/codec.ts')
    const [state] = await openPair(connection)
    await until('linked', () => connects(b.log) === 2)
    state.send(encodeFrame(encodeMessage(numbered(a.id, 9), { sender: attacker.id })))
    await until('reset', () => state.status === 'reset')
    expect(b.log.heads()).toEqual([])
    await checkHonest()
  })

  it('S4: INV-71: a stranger, admission by allow-list: its streams are reset before a byte is read, and it learns nothing', async () => {
    const keys = await keysInOrder(3)
    const allow = keys.slice(0, 2).map(key => key.id)
    const b = await started({ admission: { allow } }, keys[1])
    const a = await started({ admission: { allow }, bootstrap: [b.bare] }, keys[0])
    await until('members are linked', () => connects(b.log) === 1)
    const stranger = await node({}, keys[2])
    const connection = await stranger.node.dial(b.node.getMultiaddrs())
    for (const protocol of [PROTOCOL_ID, HEARTBEAT_PROTOCOL_ID, PEERS_PROTOCOL_ID]) {
      const stream = await connection.newStream(protocol).catch(() => undefined)
      let read = 0
      stream?.addEventListener('message', event => {
        read += event.data.byteLength
      })
      await until(`${protocol} reset`, () => stream === undefined || stream.status !== 'open')
      expect(read).toBe(0)
    }
    expect(b.transport.traffic.refused).toBeGreaterThan(0)
    expect(b.log.log).toEqual(['connected'])
    expect(a.log.log).toEqual(['connected'])
  })

  it('admission by a hook: asynchronous, asked once for both streams, a rejection means no', async () => {
    const keys = await keysInOrder(3)
    const asked: string[] = []
    const admit = async (peer: string): Promise<boolean> => {
      asked.push(peer)
      await sleep(20)
      if (peer === keys[0]?.id) {
        throw new Error('no idea')
      }
      return peer === keys[1]?.id
    }
    const b = await started({ admission: { admit } }, keys[2])
    const refused = await started({ bootstrap: [b.bare] }, keys[0])
    const member = await started({ bootstrap: [b.bare] }, keys[1])
    await until('the member is linked', () => connects(member.log) === 1)
    await until('the other was asked for', () => asked.includes(refused.id))
    await sleep(200)
    expect(connects(b.log)).toBe(1)
    expect(connects(refused.log)).toBe(0)
    expect(asked.filter(peer => peer === member.id)).toHaveLength(1)
  })

  it('a hook that changes its mind: the member loses its link, and is not let in again', async () => {
    let admitted = true
    const b = await started({ admission: { admit: () => admitted }, admissionSpeed: 60 })
    const a = await started({ bootstrap: [b.bare] })
    await until('linked', () => connects(a.log) === 1 && connects(b.log) === 1)
    admitted = false
    await until('let go', () => b.log.count('disconnected error') === 1 && a.log.count('disconnected closed') === 1)
    await until('turned away', () => b.transport.traffic.refused > 0 || a.transport.traffic.dialsFailed > 0)
    expect([connects(a.log), connects(b.log)]).toEqual([1, 1])
  })

  it('a node that listens beyond loopback, without admission: is not started', async () => {
    const exposed = await node({ libp2p: { addresses: { listen: ['/ip4/0.0.0.0/tcp/0'] } } })
    await expect(exposed.transport.start(new Recorder())).rejects.toMatchObject({
      name: 'AdmissionRequiredError',
      code: 'ERR_ADMISSION_REQUIRED'
    })
    const closed = await node({ admission: { allow: [] }, libp2p: { addresses: { listen: ['/ip4/0.0.0.0/tcp/0'] } } })
    await closed.transport.start(new Recorder())
  })
})
