import type { Server } from 'node:http'
import type { Logger } from '@libp2p/interface'
import type { Tracker } from '../../tracker/types.ts'
import { Client, type ClientHost } from './clients/client.ts'
import { drainClients } from './clients/drain.ts'
import { Registry } from './clients/registry.ts'
import { Admission, type Admitted } from './doors/admission.ts'
import { Census } from './doors/census.ts'
import { LongPollDoor } from './doors/long-poll-door.ts'
import { matchPath } from './doors/request.ts'
import { hookServer } from './doors/server-hooks.ts'
import { TwinGuard } from './doors/twin-guard.ts'
import { WebSocketDoor } from './doors/websocket-door.ts'
import { Feeds } from './feeds/feeds.ts'
import { registerGatewayMetrics } from './metrics.ts'
import { type GatewayOptions, type ResolvedGatewayOptions, resolveGatewayOptions } from './options.ts'
import { ClusterTopic, pageRoute } from './page/index.ts'
import type { Wire } from './protocol/wire.ts'
import { Permissions } from './rights/permissions.ts'
import { readStats } from './stats.ts'
import { Tally } from './tally.ts'
import type { Delivery, Gateway, GatewayStats, HttpRoute, Message, SystemTopic } from './types.ts'

const SWEEP_MS = 250
const ACK_MS = 2_000

/**
 * Lets end users' clients in through an HTTP server of yours, which you start and stop. Requests that are not the gateway's go where they went before.
 *
 * @throws InvalidOptionsError, naming the option, its value and what is allowed.
 */
export function attachGateway(server: Server, tracker: Tracker, options: GatewayOptions): Gateway {
  return new RollcallGateway(server, tracker, resolveGatewayOptions(options))
}

class RollcallGateway implements Gateway {
  readonly #tracker: Tracker
  readonly #options: ResolvedGatewayOptions
  readonly #log: Logger | undefined
  readonly #tally = new Tally()
  readonly #clients = new Registry()
  readonly #feeds: Feeds
  readonly #permissions: Permissions
  readonly #host: ClientHost
  readonly #polls: LongPollDoor | null
  readonly #sweeper: NodeJS.Timeout
  readonly #unhook: () => void
  readonly #updateMetrics: () => void
  #drained: Promise<void> | null = null
  #isStopped = false

  constructor(server: Server, tracker: Tracker, options: ResolvedGatewayOptions) {
    this.#tracker = tracker
    this.#options = options
    this.#log = options.logger?.forComponent('rollcall:gateway')
    const failed = (error: unknown): void => this.#log?.error('a hook or the tracker failed - %e', error)
    this.#feeds = new Feeds(tracker, options, this.#tally, (topic, mode, error) => {
      if (error !== undefined) {
        failed(error)
        for (const client of this.#clients) {
          client.interrupt(topic, mode)
        }
      }
      this.#log?.trace('the watch of %s has ended', topic)
    })
    this.#permissions = new Permissions(options, this.#tally, failed)
    this.#host = this.#createHost(failed)
    const accept = (wire: Wire, admitted: Admitted): Client => this.#accept(wire, admitted)
    const webSockets = new WebSocketDoor(options, this.#host.admission, accept)
    this.#polls = options.longPoll ? new LongPollDoor(options, this.#host.admission, accept) : null
    this.#unhook = hookServer(server, this.#routes(), (request, socket, head, url) => {
      const match = matchPath(url.pathname, options.paths)
      if (match?.transport !== 'websocket') {
        return false
      }
      void webSockets.enter(request, socket, head, url, match.path)
      return true
    })
    this.#updateMetrics =
      options.metrics === undefined ? () => {} : registerGatewayMetrics(options.metrics, this.#tally, () => this.stats())
    this.#sweeper = setInterval(() => this.#sweep(), SWEEP_MS)
    this.#sweeper.unref()
  }

  get size(): number {
    return this.#clients.size
  }

  drain(): Promise<void> {
    this.#drained ??= this.#drain()
    return this.#drained
  }

  async #drain(): Promise<void> {
    await this.#tracker.drain()
    await drainClients(this.#clients, this.#options.drainMs, this.#options.drainPerSecond, () => this.#isStopped)
  }

  async stop(): Promise<void> {
    if (this.#isStopped) {
      return
    }
    this.#isStopped = true
    clearInterval(this.#sweeper)
    this.#unhook()
    for (const client of [...this.#clients]) {
      client.end('stopped')
    }
    this.#polls?.stop()
    this.#feeds.close()
    this.#updateMetrics()
  }

  async deliver(user: string, message: Message, options: { readonly timeoutMs?: number } = {}): Promise<Delivery> {
    const acks = [...this.#clients.of(user)].flatMap(client => client.deliver(message, options.timeoutMs ?? ACK_MS) ?? [])
    const acked = (await Promise.all(acks)).filter(Boolean).length
    return { sent: acks.length, acked }
  }

  stats(): GatewayStats {
    return readStats({ clients: this.#clients, feeds: this.#feeds, permissions: this.#permissions, tally: this.#tally })
  }

  #createHost(failed: (error: unknown) => void): ClientHost {
    const twins = new TwinGuard()
    const admission = new Admission({
      tracker: this.#tracker,
      options: this.#options,
      tally: this.#tally,
      census: new Census(this.#options.limits),
      twins,
      socketsOf: user => this.#clients.of(user).size,
      isClosed: () => this.#drained !== null || this.#isStopped,
      failed
    })
    return {
      tracker: this.#tracker,
      options: this.#options,
      tally: this.#tally,
      feeds: this.#feeds,
      permissions: this.#permissions,
      admission,
      twins,
      systemTopics: this.#systemTopics(),
      failed,
      ended: client => this.#clients.delete(client, client.user),
      moved: (client, from, to) => {
        this.#clients.delete(client, from)
        this.#clients.add(client, to)
      }
    }
  }

  #systemTopics(): ReadonlyMap<string, SystemTopic> {
    const topics = this.#options.page ? [new ClusterTopic({ tracker: this.#tracker, gateway: () => this.stats() })] : []
    return new Map(topics.map(topic => [topic.topic, topic]))
  }

  #routes(): HttpRoute[] {
    const routes: HttpRoute[] = []
    if (this.#polls !== null) {
      routes.push(this.#polls.route)
    }
    if (this.#options.page) {
      routes.push(pageRoute({ socketPath: this.#options.paths[0] as string }))
    }
    return routes
  }

  #accept(wire: Wire, admitted: Admitted): Client {
    const client = new Client(this.#host, wire, admitted)
    this.#clients.add(client, admitted.identity.user)
    return client
  }

  #sweep(): void {
    const nowMs = performance.now()
    const wallMs = Date.now()
    for (const client of this.#clients) {
      client.sweep(nowMs, wallMs)
    }
    this.#feeds.tick()
    this.#updateMetrics()
  }
}
