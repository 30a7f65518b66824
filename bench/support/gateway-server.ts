/** The server's process: `fork('gateway-server.ts', [kind])`. Says its port, then answers questions about itself. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createTracker } from '../../src/index.ts'
import { allow, attachGateway, type GatewayStats } from '../../src/net/gateway/index.ts'
import type { Meta } from '../../src/tracker/types.ts'
import { heldBytes } from '../harness.ts'
import { PresenceLoop } from './gateway-loop.ts'
import { PING_INTERVAL_MS, type ServerKind, type ServerMemory, type ServerUsage, type ToServer } from './gateway-protocol.ts'

const kind = process.argv[2] as ServerKind
const server = createServer()
const stats = kind === 'gateway' ? await startGateway() : startLoop()

process.on('disconnect', () => process.exit())
process.on('message', (question: ToServer) => process.send?.(question === 'memory' ? memory() : usage()))
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))

async function startGateway(): Promise<() => GatewayStats> {
  const tracker = createTracker()
  await tracker.start()
  const gateway = attachGateway(server, tracker, {
    authenticate: ({ params }) => ({ user: params.user ?? '' }),
    authorize: ({ payload }) => {
      const { presence: _, ...meta } = payload
      return allow({ meta: meta as Meta })
    },
    pingIntervalMs: PING_INTERVAL_MS,
    limits: { socketsPerAddress: 100_000 },
    // Everybody is told of everybody, as by the loop.
    interval: { abovePresences: 1_000_000, aboveFanOut: 2 ** 31 }
  })
  return () => gateway.stats()
}

function startLoop(): () => GatewayStats {
  new PresenceLoop(server, kind === 'loop-once')
  return () => ({})
}

function usage(): ServerUsage {
  const { user, system } = process.cpuUsage()
  const { diffEncodes = 0, diffFlushes = 0 } = stats()
  return { cpuMs: (user + system) / 1_000, encodes: diffEncodes, batches: diffFlushes }
}

function memory(): ServerMemory {
  const held = heldBytes()
  return { rssBytes: process.memoryUsage.rss(), heldBytes: held }
}
