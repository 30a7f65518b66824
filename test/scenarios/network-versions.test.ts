import { describe, expect, it } from 'vitest'
import { openFrame, sealFrame } from '../../src/net/codec/container.ts'
import { DEFAULT_FRAME_LIMITS, decodeMessage, encodeMessage, InvalidFrameError } from '../../src/net/codec.ts'
import { Frame } from '../../src/net/simulated/frame.ts'
import type { LinkEnd } from '../../src/net/simulated/link-end.ts'
import type { Simulation } from '../../src/testing/index.ts'
import { type Heartbeat, PROTOCOL_VERSION } from '../../src/tracker/messages.ts'
import { crowd, keys } from '../support/scenario.ts'
import { runAlive, startCluster } from '../support/sim.ts'

const NEXT = PROTOCOL_VERSION + 1
const { frameBytes } = DEFAULT_FRAME_LIMITS

/** Replicas that start from now on say in their hellos that they speak the next version too; the rest they say in the lower one of both. */
function startNext(sim: Simulation): void {
  const join = sim.network.join.bind(sim.network)
  sim.network.join = (...args) => {
    const transport = join(...args)
    const send = transport.send.bind(transport)
    transport.send = (peer, message) => send(peer, message.type === 'hello' ? { ...message, protocolVersion: NEXT } : message)
    return transport
  }
}

/** The protocol versions that are said in hellos from now on, as `from>to version`. */
function versionsSaid(sim: Simulation): Set<string> {
  const said = new Set<string>()
  sim.observe({
    delivered: (from, to, message) => void (message.type === 'hello' && said.add(`${from}>${to} ${message.protocolVersion}`))
  })
  return said
}

/** Each link's end at the side that sends, by `from>to`, as it opens. */
function linkEnds(sim: Simulation): Map<string, LinkEnd> {
  const ends = new Map<string, LinkEnd>()
  const opened = sim.network.opened.bind(sim.network)
  sim.network.opened = end => {
    ends.set(`${end.transport.address}>${end.other.transport.address}`, end)
    opened(end)
  }
  return ends
}

const HEARTBEAT: Heartbeat = {
  type: 'heartbeat',
  replica: { id: 'c', incarnation: 1 },
  counter: 2 ** 40,
  head: 2 ** 40,
  hash: { high: 1, low: 1 },
  digestHash: 1,
  ageMs: 0,
  relayed: []
}

/** A frame that says another version, and is a good one besides. */
function framedAs(version: number): Uint8Array {
  const { kind, payload } = openFrame(encodeMessage(HEARTBEAT), frameBytes)
  return sealFrame({ kind: version * 16 + (kind % 16), payload }, frameBytes)
}

describe('versions of the wire', () => {
  it.each([
    ['one of the next version comes to two of this one', 2, 1],
    ['a rolling upgrade is half done: two of each', 2, 2]
  ])('R13: %s: all list all, in both directions, and nothing is refused', async (_, old, next) => {
    const { sim, replicas } = await startCluster({ replicas: old })
    const said = versionsSaid(sim)
    const users = replicas.flatMap(replica => crowd(replica, `old:${replica.name}:`, 20))
    startNext(sim)
    const upgraded = Array.from({ length: next }, () => sim.add())
    await sim.run(3_000)
    users.push(...upgraded.flatMap(replica => crowd(replica, `next:${replica.name}:`, 20)))
    users.push(...replicas.flatMap(replica => crowd(replica, `later:${replica.name}:`, 20)))
    await runAlive(sim, users, 30_000)
    await sim.converge()
    for (const replica of sim.replicas) {
      expect(keys(replica)).toHaveLength((2 * old + next) * 20)
      expect(sim.sizes(replica)).toMatchObject({ invalid: 0 })
      expect(replica.tracker.replicas().every(({ status, complete }) => status === 'up' && complete)).toBe(true)
    }
    expect(said).toContain(`a>c ${PROTOCOL_VERSION}`)
    expect(said).toContain(`c>a ${NEXT}`)
  })

  it('R13: one replica after another is upgraded under its id, and one goes back: nobody who is connected is lost', async () => {
    const { sim, replicas, a, b } = await startCluster({ replicas: 3 })
    const stays = crowd(a, 'stays:', 20)
    await sim.settle()
    const join = sim.network.join
    startNext(sim)
    for (const replica of replicas.slice(1)) {
      sim.restart(replica)
      await runAlive(sim, stays, 20_000)
    }
    sim.network.join = join
    sim.restart(b)
    stays.push(...crowd(b, 'back:', 20))
    await runAlive(sim, stays, 20_000)
    await sim.converge()
    for (const replica of replicas) {
      expect(keys(replica)).toHaveLength(40)
      expect(sim.sizes(replica)).toMatchObject({ invalid: 0 })
    }
    expect(sim.diffs(a).flatMap(({ leaves }) => leaves)).toEqual([])
  })

  it.each([0, NEXT, NEXT + 1, 4_000])('R13: a frame of version %i: is refused by its number', version => {
    expect(() => decodeMessage(framedAs(version))).toThrow(InvalidFrameError)
    expect(() => decodeMessage(framedAs(version))).toThrow(`version is ${version}, allowed is ${PROTOCOL_VERSION}`)
    expect(decodeMessage(framedAs(PROTOCOL_VERSION))).toEqual(HEARTBEAT)
  })

  it('R13: frames of an unknown version: refused and counted; that link and the others go on, and nothing was changed', async () => {
    const sim = (await startCluster({ replicas: 1 })).sim
    const ends = linkEnds(sim)
    sim.add()
    sim.add()
    await sim.run(3_000)
    const [a, b, c] = sim.replicas
    const users = [a, b, c].flatMap(replica => crowd(replica, `${replica.name}:`, 10))
    await sim.converge()
    for (let n = 0; n < 100; n++) {
      const frame = new Frame(ends.get('c>b') as LinkEnd, 'heartbeat', framedAs(NEXT))
      frame.leaveOrder()
      frame.arrive()
    }
    await sim.run(1)
    expect(sim.sizes(b)).toMatchObject({ invalid: 100 })
    users.push(...[a, c].flatMap(replica => crowd(replica, `after:${replica.name}:`, 10)))
    await runAlive(sim, users, 60_000)
    await sim.converge()
    for (const replica of [a, b, c]) {
      expect(keys(replica)).toHaveLength(50)
      expect(replica.tracker.replicas().every(({ status, complete }) => status === 'up' && complete)).toBe(true)
    }
    expect(sim.sizes(a)).toMatchObject({ invalid: 0 })
    expect(sim.diffs(b).flatMap(({ leaves }) => leaves)).toEqual([])
  })
})
