import { createServer, type Server } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { attachGateway, GATEWAY_DEFAULTS, type Gateway } from '../../net/gateway/index.ts'
import { type HostPort, originOf } from '../host-port.ts'
import { listen } from '../listen.ts'
import { answerProbe, sendJson } from '../probes.ts'
import type { ReplicaHandle } from '../replica.ts'
import type { GatewayAuth } from './gateway-auth.ts'

/** What a gateway of the command line is made of. */
export interface GatewayServerOptions {
  readonly replica: ReplicaHandle
  readonly listen: HostPort
  /** When the port is taken, take any other: nobody asked for this one. */
  readonly anyPortInstead: boolean
  readonly auth: GatewayAuth
  /** Besides its own. Empty: those of the host that is asked. */
  readonly origins?: readonly string[]
}

/** A drain that has not ended so long after it should have is not waited for: what is left is closed. */
const DRAIN_SLACK_MS = 10_000
const ANY_HOST: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

/** The gateway of one replica with its HTTP server: clients, the live page, and the probes of load balancers. */
export class GatewayServer {
  /** Where to look at the live page. */
  readonly url: string
  readonly #server: Server
  readonly #gateway: Gateway
  #drained: Promise<void> | undefined

  /** Resolves when it listens. Throws UsageError when the port is taken, or the address is not ours. */
  static async open(options: GatewayServerOptions): Promise<GatewayServer> {
    const { tracker } = options.replica
    let isReady = false
    const markReady = (): void => {
      isReady = true
    }
    tracker.ready.then(markReady, () => undefined)
    let opened: GatewayServer | undefined
    const server = createServer({ requestTimeout: 30_000 }, (request, response) => {
      const [path = ''] = (request.url ?? '').split('?')
      const readiness = () => ({ ready: isReady && opened !== undefined, draining: opened?.draining ?? false })
      if (!answerProbe(path, readiness, response)) {
        sendJson(response, 404, { error: { code: 'ERR_NO_ENDPOINT', message: 'there are /, /socket, /healthz and /readyz' } })
      }
    })
    const address = await listen(server, { ...options.listen, where: '--gateway', anyPortInstead: options.anyPortInstead })
    opened = new GatewayServer(server, address, options)
    return opened
  }

  private constructor(server: Server, address: HostPort, { replica, auth, origins = [] }: GatewayServerOptions) {
    const { metrics, logger } = replica
    this.url = originOf({ ...address, host: ANY_HOST[address.host] ?? address.host })
    this.#server = server
    this.#gateway = attachGateway(server, replica.tracker, {
      ...auth,
      page: true,
      ...(origins.length > 0 && { origins: origins.includes('*') ? '*' : [...origins, ...ownOrigins(address)] }),
      ...(metrics !== undefined && { metrics }),
      ...(logger !== undefined && { logger })
    })
  }

  /** Sockets that are open. */
  get size(): number {
    return this.#gateway.size
  }

  get draining(): boolean {
    return this.#drained !== undefined
  }

  /** Sends all clients elsewhere, and turns newcomers away. Resolves when they have gone, or have not in time. */
  drain(): Promise<void> {
    this.#drained ??= Promise.race([
      this.#gateway.drain(),
      setTimeout(GATEWAY_DEFAULTS.drainMs + DRAIN_SLACK_MS, undefined, { ref: false })
    ])
    return this.#drained
  }

  /** Closes what is left. Idempotent. */
  async stop(): Promise<void> {
    await this.#gateway.stop()
    const closed = new Promise<void>(resolve => this.#server.close(() => resolve()))
    this.#server.closeAllConnections()
    await closed
  }
}

/** Of the live page; names that others have for this host are not known here. */
function ownOrigins(address: HostPort): string[] {
  return [address.host, '127.0.0.1', 'localhost', '::1'].map(host => originOf({ ...address, host }))
}
