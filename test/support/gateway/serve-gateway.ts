import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { createTracker, type Tracker, type TrackerOptions } from '../../../src/index.ts'
import { attachGateway, type Gateway, type GatewayOptions } from '../../../src/net/gateway/index.ts'
import { closeLater } from './close-all.ts'
import { byParams, openHouse } from './hooks.ts'

export interface ServeGatewayOptions {
  /** A started tracker, which `stop` leaves alone. Default: a lone one. */
  readonly tracker?: Tracker
  /** Of the lone tracker. */
  readonly trackerOptions?: TrackerOptions
  /** Over `byParams` and `openHouse`. */
  readonly gateway?: Partial<GatewayOptions>
  /** Default: any free one. */
  readonly port?: number
}

export interface ServedGateway {
  /** For clients: `ws://127.0.0.1:port/socket`, or the first of option `path`. */
  readonly url: string
  /** `http://127.0.0.1:port` */
  readonly origin: string
  readonly tracker: Tracker
  readonly gateway: Gateway
  readonly server: Server
  /** Breaks all connections of clients at once, without a goodbye. The server listens on. */
  cut(): void
  /** Stops the gateway, the server, and a tracker of its own. Idempotent; `closeAll` does it. */
  stop(): Promise<void>
}

/** A gateway on a server of its own, on the loopback. */
export async function startGateway(options: ServeGatewayOptions = {}): Promise<ServedGateway> {
  const tracker = options.tracker ?? (await startTracker(options.trackerOptions))
  const server = createServer()
  const sockets = new Set<Socket>()
  server.on('connection', socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  const gateway = attachGateway(server, tracker, { authenticate: byParams, authorize: openHouse, ...options.gateway })
  const cut = (): void => {
    for (const socket of sockets) {
      socket.destroy()
    }
  }
  const stop = closeLater(async () => {
    await gateway.stop()
    const closed = once(server, 'close')
    server.close()
    cut()
    await closed
    if (options.tracker === undefined) {
      await tracker.stop()
    }
  })
  server.listen(options.port ?? 0, '127.0.0.1')
  await once(server, 'listening')
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const path = [options.gateway?.path ?? '/socket'].flat()[0]
  return { url: `ws://${host}${path}`, origin: `http://${host}`, tracker, gateway, server, cut, stop }
}

async function startTracker(options: TrackerOptions | undefined): Promise<Tracker> {
  const tracker = createTracker(options)
  await tracker.start()
  return tracker
}
