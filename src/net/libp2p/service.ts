import { type Startable, serviceCapabilities, serviceDependencies } from '@libp2p/interface'
import type { ReplicaId } from '../../crdt/dot.ts'
import { createSystemEnvironment } from '../../tracker/environment.ts'
import { createTracker } from '../../tracker/tracker.ts'
import type {
  Connection,
  ConnectOptions,
  CountEvent,
  ListOptions,
  Presence,
  ReplicaInfo,
  StopOptions,
  TopicCount,
  Tracker,
  TrackerEventName,
  TrackerListener,
  TrackerStats,
  UserEvent,
  UserStatus,
  WaitOptions,
  WatchEvent,
  WatchOptions
} from '../../tracker/types.ts'
import { Admission } from './admission.ts'
import type { RollcallComponents } from './components.ts'
import { MaxGauge, timedEnvironment } from './gauges.ts'
import { registerMetrics } from './metrics.ts'
import { type RollcallInit, splitOptions } from './options.ts'
import { CONNECT_TIMINGS, linkTimings } from './timings.ts'
import { Libp2pTransport } from './transport.ts'

/** The service: a tracker that starts and stops with its node. */
export interface Rollcall extends Tracker, Startable {
  /** Called by the node, and by hand to go on after `stop` while the node runs. */
  start(): Promise<void>
  /** Leaves the cluster while the node runs on; `node.stop()` says goodbye by itself. */
  stop(options?: StopOptions): Promise<void>
  isStarted(): boolean
}

const DEFAULT_HEARTBEAT_MS = 1_000

/** Made by `rollcall`. */
export class RollcallService implements Rollcall {
  readonly [Symbol.toStringTag] = 'rollcall'
  readonly [serviceCapabilities]: string[] = ['rollcall']
  /** Identify brings the addresses that peers signed, which members tell each other. */
  readonly [serviceDependencies]: string[] = ['@libp2p/identify']
  readonly id: ReplicaId
  readonly #tracker: Tracker
  readonly #transport: Libp2pTransport
  #started = false

  constructor(init: RollcallInit, components: RollcallComponents) {
    const { tracker, network } = splitOptions(init)
    const { metrics } = components
    const lateMs = new MaxGauge()
    const taskMs = new MaxGauge()
    const given = tracker.environment ?? createSystemEnvironment()
    const environment = metrics === undefined ? given : timedEnvironment(given, lateMs, taskMs)
    const preSharedKey = components.connectionProtector !== undefined
    const connectTimings = { ...CONNECT_TIMINGS, dialTimeoutMs: network.dialTimeoutMs }
    this.#transport = new Libp2pTransport(components, {
      ...network,
      admission: new Admission(network.admission, preSharedKey, environment, CONNECT_TIMINGS.admitTimeoutMs),
      environment,
      linkTimings: linkTimings(tracker.gossip?.heartbeatIntervalMs ?? DEFAULT_HEARTBEAT_MS),
      connectTimings
    })
    this.#tracker = createTracker({ ...tracker, environment, transport: this.#transport })
    this.id = this.#tracker.id
    if (metrics !== undefined) {
      this.#transport.onTick = registerMetrics(metrics, { tracker: this.#tracker, transport: this.#transport, lateMs, taskMs })
    }
  }

  isStarted(): boolean {
    return this.#started
  }

  /** Refuses before any other part of the node starts: libp2p stops a node whose start fails, and what was still starting then would run on. */
  beforeStart(): void {
    this.#transport.checkListening()
  }

  async start(): Promise<void> {
    if (!this.#started) {
      this.#started = true
      try {
        await this.#tracker.start()
      } catch (error) {
        this.#started = false
        throw error
      }
    }
  }

  /** The node listens and may dial. */
  afterStart(): void {
    this.#transport.dial()
  }

  /** While the connections still work: in `stop` the goodbye would be lost. */
  async beforeStop(): Promise<void> {
    this.#transport.rest()
    await this.stop()
  }

  async stop(options: StopOptions = {}): Promise<void> {
    this.#started = false
    await this.#tracker.stop(options)
    // Another call may be in the middle of it.
    await this.#transport.stop()
  }

  get ready(): Promise<void> {
    return this.#tracker.ready
  }

  get partial(): boolean {
    return this.#tracker.partial
  }

  drain(): Promise<void> {
    return this.#tracker.drain()
  }

  connect(user: string, options?: ConnectOptions): Connection {
    return this.#tracker.connect(user, options)
  }

  heartbeat(connectionId: string): boolean {
    return this.#tracker.heartbeat(connectionId)
  }

  connection(connectionId: string): Connection | undefined {
    return this.#tracker.connection(connectionId)
  }

  batch<T>(run: () => T): T {
    return this.#tracker.batch(run)
  }

  kick(user: string): number {
    return this.#tracker.kick(user)
  }

  list(topic: string, options?: ListOptions): Map<string, Presence[]> {
    return this.#tracker.list(topic, options)
  }

  get(topic: string, key: string): Presence[] {
    return this.#tracker.get(topic, key)
  }

  count(topic: string): TopicCount {
    return this.#tracker.count(topic)
  }

  topics(options?: { readonly prefix?: string; readonly limit?: number; readonly cursor?: string }): Map<string, TopicCount> {
    return this.#tracker.topics(options)
  }

  connectionsOf(user: string): Presence[] {
    return this.#tracker.connectionsOf(user)
  }

  topicsOf(user: string): Map<string, Presence[]> {
    return this.#tracker.topicsOf(user)
  }

  isOnline(user: string): boolean | undefined {
    return this.#tracker.isOnline(user)
  }

  user(user: string): UserStatus {
    return this.#tracker.user(user)
  }

  users(): IterableIterator<string> {
    return this.#tracker.users()
  }

  watch(topic: string, options?: WatchOptions): AsyncIterableIterator<WatchEvent> {
    return this.#tracker.watch(topic, options)
  }

  watchCount(topic: string, options?: { readonly signal?: AbortSignal }): AsyncIterableIterator<CountEvent> {
    return this.#tracker.watchCount(topic, options)
  }

  watchUsers(users: readonly string[], options?: { readonly signal?: AbortSignal }): AsyncIterableIterator<UserEvent> {
    return this.#tracker.watchUsers(users, options)
  }

  addEventListener<N extends TrackerEventName>(name: N, listener: TrackerListener<N>): void {
    this.#tracker.addEventListener(name, listener)
  }

  removeEventListener<N extends TrackerEventName>(name: N, listener: TrackerListener<N>): void {
    this.#tracker.removeEventListener(name, listener)
  }

  version(): string {
    return this.#tracker.version()
  }

  waitFor(version: string, options?: WaitOptions): Promise<void> {
    return this.#tracker.waitFor(version, options)
  }

  replicas(): ReplicaInfo[] {
    return this.#tracker.replicas()
  }

  forget(replicaId: ReplicaId): boolean {
    return this.#tracker.forget(replicaId)
  }

  /** The tracker's numbers, and those of the transport: `transport…`. */
  stats(): TrackerStats {
    const { links, members, opening, waitingStreams, waitingBytes, timers } = this.#transport.sizes
    const { dials, dialsFailed, linksLost } = this.#transport.traffic
    return {
      ...this.#tracker.stats(),
      transportLinks: links,
      transportMembers: members,
      transportOpening: opening,
      transportWaitingStreams: waitingStreams,
      transportWaitingBytes: waitingBytes,
      transportTimers: timers,
      transportDials: dials,
      transportDialsFailed: dialsFailed,
      transportLinksLost: linksLost
    }
  }
}
