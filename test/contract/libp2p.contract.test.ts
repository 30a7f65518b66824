import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { createTransportNode, type TransportNode } from '../support/net/transport-node.ts'
import { type TransportPair, transportContract } from './transport-contract.ts'

const PATIENCE_MS = 20_000

/** In both orders of ids: the smaller one opens the links, the other one waits. */
async function makePair(aOpens: boolean): Promise<TransportPair> {
  const [one, two] = await Promise.all([createTransportNode(), createTransportNode()])
  const [a, b] = one.id < two.id === aOpens ? [one, two] : [two, one]
  for (const [from, to] of [
    [a, b],
    [b, a]
  ] as const) {
    await from.node.peerStore.merge(to.node.peerId, { multiaddrs: to.node.getMultiaddrs(), protocols: ['/rollcall/1.0.0'] })
  }
  const streamsOf = (node: TransportNode): { pause(): void; resume(): void }[] =>
    node.node.getConnections().flatMap(connection => connection.streams)
  return {
    a: a.transport,
    b: b.transport,
    async until(condition, what) {
      const endMs = performance.now() + PATIENCE_MS
      while (!condition() && performance.now() < endMs) {
        await sleep(5)
      }
      if (performance.now() >= endMs) {
        expect.fail(`not within ${PATIENCE_MS} ms: ${what}`)
      }
    },
    settle: () => sleep(300),
    cut() {
      for (const connection of a.node.getConnections()) {
        connection.abort(new Error('cut'))
      }
    },
    stall() {
      const streams = streamsOf(b)
      for (const stream of streams) {
        stream.pause()
      }
      return () => {
        for (const stream of streams) {
          stream.resume()
        }
      }
    },
    async kill() {
      await b.node.stop()
    },
    async end() {
      await Promise.all([a.transport.stop(), b.transport.stop()])
      await Promise.all([a.node.stop(), b.node.stop()])
    }
  }
}

transportContract('libp2p, the smaller id', () => makePair(true))
transportContract('libp2p, the larger id', () => makePair(false))
