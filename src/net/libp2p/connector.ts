import type { Connection, Stream } from '@libp2p/interface'
import { multiaddr } from '@multiformats/multiaddr'
import { setMaxListeners } from 'main-event'
import type { ReplicaId } from '../../crdt/dot.ts'
import type { Environment } from '../../tracker/environment.ts'
import { HEARTBEAT_PROTOCOL_ID, PROTOCOL_ID } from '../codec.ts'
import { closeIfUnused, type RollcallComponents } from './components.ts'
import type { DialFailure, DialTarget } from './dialer.ts'
import { LinkError, NotAdmittedError } from './errors.ts'
import type { StreamPair } from './link.ts'
import { type ConnectTimings, TICK_MS } from './timings.ts'

export interface ConnectorPort {
  admits(connection: Connection): Promise<boolean>
  /** The connection that carries the link with `peer`, when there is one. */
  linkedOn(peer: ReplicaId): Connection | undefined
  /** Makes a link of streams that we opened. Resolves when it is up; rejects when it ended before, or `signal` aborted. */
  establish(pair: StreamPair, signal: AbortSignal): Promise<void>
}

/**
 * Gets from an address, or a connection, to a link.
 *
 * Of two replicas the one with the smaller id opens the streams, whoever dialled: so there is one link, however many connections there
 * are. The other one, when it finds itself without a link, asks for one by opening a state stream and closing it.
 */
export class Connector {
  readonly #components: RollcallComponents
  readonly #port: ConnectorPort
  readonly #environment: Environment
  readonly #timings: ConnectTimings
  readonly #self: ReplicaId
  readonly #opening = new Map<ReplicaId, Promise<void>>()
  readonly #waiting = new Map<ReplicaId, Set<() => void>>()
  #stop = new AbortController()

  constructor(components: RollcallComponents, port: ConnectorPort, environment: Environment, timings: ConnectTimings) {
    this.#components = components
    this.#port = port
    this.#environment = environment
    this.#timings = timings
    this.#self = components.peerId.toString()
  }

  /** Links that are being opened. */
  get opening(): number {
    return this.#opening.size
  }

  start(): void {
    this.#stop = new AbortController()
    setMaxListeners(0, this.#stop.signal)
  }

  stop(): void {
    this.#stop.abort(new LinkError('ERR_LINK_CLOSED', 'the transport stops'))
  }

  /** Whether it is for us to open the streams of a link with `peer`. */
  opens(peer: ReplicaId): boolean {
    return this.#self < peer
  }

  /** See `DialPort.reach`. */
  async reach(target: DialTarget, signal: AbortSignal): Promise<ReplicaId> {
    const connection = (target.id === undefined ? undefined : this.#connectionTo(target.id)) ?? (await this.#connect(target, signal))
    const peer = connection.remotePeer.toString()
    const linkedOn = this.#port.linkedOn(peer)
    if (linkedOn === undefined) {
      await this.#linkOn(connection, peer, signal)
    } else if (linkedOn !== connection) {
      // Dialled by bare address, and it was somebody we know.
      await closeIfUnused(connection, this.#timings.flushTimeoutMs)
    }
    return peer
  }

  /** What a rejection of `reach` means. */
  failure(error: unknown): DialFailure {
    if (error instanceof AggregateError && error.errors.length > 0) {
      return error.errors.every(one => this.failure(one) === 'refused') ? 'refused' : 'failed'
    }
    const { name, code } = error as { name?: string; code?: string }
    return code === 'ECONNREFUSED'
      ? 'refused'
      : name === 'InvalidPeerIdError'
        ? 'self'
        : name === 'UnsupportedProtocolError'
          ? 'foreign'
          : 'failed'
  }

  /** Opens the streams of a link on `connection`; joins one that is being opened to the same peer. */
  openOn(connection: Connection): Promise<void> {
    const peer = connection.remotePeer.toString()
    const known = this.#opening.get(peer)
    if (known !== undefined) {
      return known
    }
    const opening = this.#open(connection).finally(() => this.#opening.delete(peer))
    this.#opening.set(peer, opening)
    return opening
  }

  /** A link with `peer` is up. */
  linked(peer: ReplicaId): void {
    const waiting = this.#waiting.get(peer)
    this.#waiting.delete(peer)
    for (const resolve of waiting ?? []) {
      resolve()
    }
  }

  /** The newest open connection: of a peer that came back while its old connection still looks alive, it is the live one. */
  #connectionTo(peer: ReplicaId): Connection | undefined {
    return this.#components.connectionManager
      .getConnections()
      .filter(one => one.remotePeer.toString() === peer && one.status === 'open' && one.limits === undefined)
      .sort((a, b) => b.timeline.open - a.timeline.open)[0]
  }

  #connect({ id, addresses }: DialTarget, signal: AbortSignal): Promise<Connection> {
    if (addresses.length === 0) {
      throw new LinkError('ERR_LINK_CLOSED', `no address of ${id} is known`)
    }
    setMaxListeners(0, signal)
    const targets = addresses.map(address => multiaddr(id === undefined ? address : `${address}/p2p/${id}`))
    return this.#components.connectionManager.openConnection(targets, { signal })
  }

  async #linkOn(connection: Connection, peer: ReplicaId, signal: AbortSignal): Promise<void> {
    try {
      if (connection.limits !== undefined) {
        throw new LinkError('ERR_LINK_CLOSED', `${peer} is reached through a relay only`)
      }
      if (!(await this.#port.admits(connection))) {
        throw new NotAdmittedError(peer)
      }
      await (this.opens(peer) ? this.openOn(connection) : this.#askOn(connection, peer, signal))
    } catch (error) {
      await closeIfUnused(connection, this.#timings.flushTimeoutMs)
      throw error
    }
  }

  async #open(connection: Connection): Promise<void> {
    const deadline = this.#deadline(this.#timings.openTimeoutMs)
    try {
      const opened = await Promise.allSettled(
        [PROTOCOL_ID, HEARTBEAT_PROTOCOL_ID].map(protocol => connection.newStream(protocol, { signal: deadline.signal }))
      )
      const streams = opened.filter(one => one.status === 'fulfilled').map(one => one.value)
      const failed = opened.find(one => one.status === 'rejected')
      const [state, heartbeat] = streams
      if (state === undefined || heartbeat === undefined || deadline.signal.aborted) {
        const reason = failed?.reason ?? deadline.signal.reason
        abortAll(streams, reason)
        throw reason
      }
      await this.#port.establish({ connection, state, heartbeat }, deadline.signal)
    } finally {
      deadline.end()
    }
  }

  /** Waits for the other side to open a link; asks it to, when that does not come by itself. */
  async #askOn(connection: Connection, peer: ReplicaId, signal: AbortSignal): Promise<void> {
    const linked = Promise.withResolvers<void>()
    linked.promise.catch(() => {})
    const waiting = this.#waiting.get(peer) ?? new Set()
    this.#waiting.set(peer, waiting.add(linked.resolve))
    const onAbort = (): void => linked.reject(signal.reason)
    const onClose = (): void => linked.reject(new LinkError('ERR_LINK_CLOSED', 'the connection was closed'))
    signal.addEventListener('abort', onAbort)
    connection.addEventListener('close', onClose)
    const cancel = this.#environment.schedule(this.#timings.askTicks * TICK_MS, () => {
      this.#ask(connection).catch(linked.reject)
    })
    try {
      if (signal.aborted) {
        throw signal.reason
      }
      if (this.#port.linkedOn(peer) === undefined) {
        await linked.promise
      }
    } finally {
      cancel()
      signal.removeEventListener('abort', onAbort)
      connection.removeEventListener('close', onClose)
      waiting.delete(linked.resolve)
      if (waiting.size === 0 && this.#waiting.get(peer) === waiting) {
        this.#waiting.delete(peer)
      }
    }
  }

  async #ask(connection: Connection): Promise<void> {
    const deadline = this.#deadline(this.#timings.openTimeoutMs)
    let stream: Stream | undefined
    try {
      stream = await connection.newStream(PROTOCOL_ID, { signal: deadline.signal })
      await stream.close({ signal: deadline.signal })
    } catch (error) {
      abortAll(stream === undefined ? [] : [stream], error)
      throw error
    } finally {
      deadline.end()
    }
  }

  #deadline(ms: number): { readonly signal: AbortSignal; end(): void } {
    const controller = new AbortController()
    setMaxListeners(0, controller.signal)
    const stop = this.#stop.signal
    const onStop = (): void => controller.abort(stop.reason)
    const cancel = this.#environment.schedule(ms, () => controller.abort(new LinkError('ERR_LINK_TIMEOUT', `no link after ${ms} ms`)))
    stop.addEventListener('abort', onStop)
    if (stop.aborted) {
      onStop()
    }
    return {
      signal: controller.signal,
      end: () => {
        cancel()
        stop.removeEventListener('abort', onStop)
      }
    }
  }
}

function abortAll(streams: readonly Stream[], reason: unknown): void {
  for (const stream of streams) {
    stream.abort(reason instanceof Error ? reason : new Error(String(reason)))
  }
}
