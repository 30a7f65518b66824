import type { Connection, Logger } from '@libp2p/interface'
import type { ReplicaId } from '../../crdt/dot.ts'
import type { Cancel, Environment } from '../../tracker/environment.ts'
import type { Message } from '../../tracker/messages.ts'
import type { Transport, TransportListener } from '../../tracker/transport.ts'
import { Acceptor } from './acceptor.ts'
import type { MemberAddress } from './addresses.ts'
import type { Admission } from './admission.ts'
import type { RollcallComponents } from './components.ts'
import { Connector } from './connector.ts'
import { Dialer } from './dialer.ts'
import { Doorkeeper } from './doorkeeper.ts'
import { Duplicates } from './duplicates.ts'
import { LinkError } from './errors.ts'
import { MAX_FRAME_BYTES } from './link.ts'
import { Links } from './links.ts'
import { EXCHANGE_SOON_MS, PeerExchange } from './peer-exchange.ts'
import { PeerWatch } from './peer-watch.ts'
import { type ConnectTimings, type LinkTimings, TICK_MS } from './timings.ts'
import { Traffic } from './traffic.ts'

export interface Libp2pTransportOptions {
  readonly admission: Admission
  readonly environment: Environment
  readonly bootstrap: readonly MemberAddress[]
  /** Whether peers found by mDNS or any other discovery of the node are dialled. */
  readonly discovery: boolean
  readonly maxLinks: number
  readonly maxMembers: number
  readonly forgetAfterMs: number
  readonly linkTimings: LinkTimings
  readonly connectTimings: ConnectTimings
}

/**
 * The Transport port over the streams of a libp2p node: see `Link` for what goes over the wire, `Connector` and `Acceptor` for how links
 * come about, `Dialer` for when.
 */
export class Libp2pTransport implements Transport {
  readonly self: ReplicaId
  readonly maxFrameBytes = MAX_FRAME_BYTES
  readonly traffic = new Traffic()
  /** Told how long each received delta took to be taken in, in ms. */
  onDelta: (ms: number) => void = () => {}
  /** Called about once a second while the transport runs. */
  onTick: () => void = () => {}
  readonly #components: RollcallComponents
  readonly #options: Libp2pTransportOptions
  readonly #log: Logger
  readonly #links: Links
  readonly #door: Doorkeeper
  readonly #connector: Connector
  readonly #acceptor: Acceptor
  readonly #dialer: Dialer
  readonly #exchange: PeerExchange
  readonly #watch: PeerWatch
  readonly #duplicates: Duplicates
  readonly #timers = new Set<Cancel>()
  #running = false
  #dials = false
  #turn: Promise<void> = Promise.resolve()

  constructor(components: RollcallComponents, options: Libp2pTransportOptions) {
    this.self = components.peerId.toString()
    this.#components = components
    this.#options = options
    this.#log = components.logger.forComponent('rollcall')
    const { environment, admission, connectTimings } = options
    const random = environment.random.fork('transport')
    this.#links = new Links({
      self: this.self,
      environment,
      admission,
      timings: options.linkTimings,
      traffic: this.traffic,
      log: this.#log,
      linked: (peer, connection) => this.#linked(peer, connection),
      lost: peer => this.#dialer.lost(peer),
      admits: origin => this.admits(origin),
      merged: ms => this.onDelta(ms)
    })
    this.#door = new Doorkeeper(admission, this.#links, options.maxLinks)
    const admits = (connection: Connection): Promise<boolean> => this.#door.admits(connection)
    const linkedOn = (peer: ReplicaId): Connection | undefined => this.#links.get(peer)?.connection
    const establish = this.#links.establish.bind(this.#links)
    this.#connector = new Connector(components, { admits, linkedOn, establish }, environment, connectTimings)
    this.#acceptor = new Acceptor(components, {
      admits,
      accepts: connection => !this.#connector.opens(connection.remotePeer.toString()),
      paired: pair => this.#links.accept(pair),
      asked: connection => this.#asked(connection),
      refused: connection => this.#refused(connection)
    })
    this.#dialer = new Dialer(this.#dialPort(), { self: this.self, ...options, random, dialTimeoutMs: connectTimings.dialTimeoutMs })
    this.#exchange = new PeerExchange(components, {
      admits,
      linked: () => [...this.#links].map(link => link.connection),
      isLinked: peer => this.#links.get(peer) !== undefined,
      admitsOrigin: peer => admission.ask(peer),
      learn: (peer, addresses) => this.#dialer.learn(peer, addresses),
      random,
      log: this.#log
    })
    this.#watch = new PeerWatch(components, {
      ...options,
      log: this.#log,
      connected: connection => this.#connected(connection),
      learn: (peer, addresses) => this.#dialer.learn(peer, addresses)
    })
    this.#duplicates = new Duplicates(components)
  }

  /** For metrics. */
  get sizes(): { links: number; members: number; opening: number; waitingStreams: number; waitingBytes: number; timers: number } {
    const waitingBytes = [...this.#links].reduce((sum, link) => sum + link.waitingBytes, 0)
    return {
      links: this.#links.size,
      members: this.#dialer.memberCount,
      opening: this.#connector.opening + this.#dialer.dialing,
      waitingStreams: this.#acceptor.waiting,
      waitingBytes,
      timers: this.#timers.size
    }
  }

  /** The head that `peer` last announced for `incarnation` on its link; 0 when there is none. */
  announcedHead(peer: ReplicaId, incarnation: number): number {
    const announced = this.#links.get(peer)?.announced
    return announced?.incarnation === incarnation ? announced.head : 0
  }

  /** @throws AdmissionRequiredError as `start` does; for who asks before anything has started. */
  checkListening(): void {
    this.#door.checkListening(this.#components)
  }

  /**
   * Takes streams and watches the node. Dials begin with `dial`, as the node must have started.
   *
   * @throws AdmissionRequiredError when the node listens beyond loopback and nothing says who may join.
   */
  start(listener: TransportListener): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#running) {
        return
      }
      this.checkListening()
      this.#running = true
      try {
        await this.#start(listener)
      } catch (error) {
        await this.#stop()
        throw error
      }
    })
  }

  /** The node has started: dial the members, and link with those that are connected already. */
  dial(): void {
    this.#dials = true
    if (this.#running) {
      this.#dialer.start()
      for (const connection of this.#components.connectionManager.getConnections()) {
        this.#connected(connection)
      }
      void this.#watch.recall()
    }
  }

  /** The node stops: no more dials, until `dial` is called again. */
  rest(): void {
    this.#dials = false
    this.#dialer.stop()
  }

  stop(): Promise<void> {
    return this.#inTurn(() => (this.#running ? this.#stop() : Promise.resolve()))
  }

  send(peer: ReplicaId, message: Message): boolean {
    return this.#links.send(peer, message)
  }

  admits(id: ReplicaId): boolean {
    return id === this.self || this.#options.admission.verdict(id) === true
  }

  disconnect(peer: ReplicaId, reason: string): void {
    this.#links.end(peer, new LinkError('ERR_LINK_CLOSED', reason), 'closed')
  }

  async #start(listener: TransportListener): Promise<void> {
    this.#door.open = true
    this.#links.start(listener)
    this.#connector.start()
    this.#watch.start()
    await this.#acceptor.start()
    await this.#exchange.start()
    for (const address of this.#options.bootstrap) {
      this.#dialer.configure(address)
    }
    this.#after(TICK_MS, () => this.#tick())
    if (this.#dials) {
      this.dial()
    }
  }

  async #stop(): Promise<void> {
    this.#running = false
    this.#door.open = false
    this.#dialer.stop()
    this.#watch.stop()
    this.#connector.stop()
    for (const cancel of this.#timers) {
      cancel()
    }
    this.#timers.clear()
    try {
      await this.#links.close(AbortSignal.timeout(this.#options.connectTimings.flushTimeoutMs))
      await this.#acceptor.stop()
      await this.#exchange.stop()
    } catch (error) {
      this.#log.error('while stopping - %e', error)
    }
  }

  /** Starts and stops run one after the other, in the order in which they were called. */
  #inTurn(run: () => Promise<void>): Promise<void> {
    const turn = this.#turn.then(run)
    this.#turn = turn.catch(() => {})
    return turn
  }

  #dialPort(): ConstructorParameters<typeof Dialer>[0] {
    return {
      reach: (target, signal) => this.#connector.reach(target, signal),
      failure: error => {
        this.#log('a dial failed - %e', error)
        return this.#connector.failure(error)
      },
      isLinked: peer => this.#links.get(peer) !== undefined,
      linkCount: () => this.#links.size,
      refused: peer => this.#links.refused(peer),
      began: () => this.traffic.dials++,
      failed: () => this.traffic.dialsFailed++
    }
  }

  /** A connection is open, whoever dialled it. */
  #connected(connection: Connection): void {
    const peer = connection.remotePeer.toString()
    if (this.#connector.opens(peer) && this.#links.get(peer) === undefined && connection.limits === undefined) {
      this.#linkOn(connection)
    }
  }

  /** The peer says that it has no link. One that is only just up was on its way when it asked. */
  #asked(connection: Connection): void {
    const peer = connection.remotePeer.toString()
    const link = this.#links.get(peer)
    if (link === undefined || link.age >= this.#options.connectTimings.askTicks) {
      this.#links.end(peer, new LinkError('ERR_LINK_REPLACED', 'the peer has no link'), 'closed')
      this.#linkOn(connection)
    }
  }

  #linkOn(connection: Connection): void {
    const opened = this.#door.admits(connection).then(admitted => (admitted ? this.#connector.openOn(connection) : undefined))
    opened.catch(error => this.#log('no link with %p on its connection - %e', connection.remotePeer, error))
  }

  #refused(connection: Connection): void {
    this.traffic.refused++
    this.#log('refused a stream of %p at %a', connection.remotePeer, connection.remoteAddr)
  }

  #linked(peer: ReplicaId, connection: Connection): void {
    this.#connector.linked(peer)
    this.#dialer.linked(peer)
    this.#after(EXCHANGE_SOON_MS, () => this.#exchange.linked(connection))
  }

  #tick(): void {
    this.#after(TICK_MS, () => this.#tick())
    const { pairTicks, flushTimeoutMs } = this.#options.connectTimings
    this.onTick()
    this.#links.tick()
    this.#acceptor.tick(pairTicks)
    const links = [...this.#links]
    const opened = links.filter(link => this.#connector.opens(link.peer)).map(link => link.connection)
    this.#duplicates.tick(opened, flushTimeoutMs)
    this.#exchange.tick()
  }

  #after(delayMs: number, task: () => void): void {
    const cancel = this.#options.environment.schedule(delayMs, () => {
      this.#timers.delete(cancel)
      task()
    })
    this.#timers.add(cancel)
  }
}
