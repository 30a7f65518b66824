import type { ReplicaId } from '../crdt/dot.ts'
import { EntryState } from '../crdt/entry.ts'
import { Emitter } from './emitter.ts'
import { VersionError } from './errors.ts'
import { Life } from './life.ts'
import { checkName, USERS_TOPIC } from './names.ts'
import { type ResolvedOptions, resolveOptions, type TrackerOptions } from './options.ts'
import { listKeys, presencesOf } from './queries.ts'
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
} from './types.ts'
import { startWatch } from './watch/start-watch.ts'
import { waitForVersion } from './watch/wait-for.ts'

/**
 * A tracker: one replica's presences, and its view of all others'. Without a transport it is a lone replica.
 *
 * @throws InvalidOptionsError, naming the option, its value and what is allowed.
 */
export function createTracker(options: TrackerOptions = {}): Tracker {
  return new RollcallTracker(resolveOptions(options))
}

class RollcallTracker implements Tracker {
  readonly id: ReplicaId
  readonly #options: ResolvedOptions
  readonly #emitter = new Emitter()
  #life: Life
  #running = false
  #used = false
  #isReady = false
  #ready: PromiseWithResolvers<void> = withResolvers()

  constructor(options: ResolvedOptions) {
    this.#options = options
    this.id = options.transport?.self ?? `lone-${options.environment.random.fork('id').nextUint32().toString(36)}`
    this.#life = new Life(options, this.id, this.#emitter)
  }

  get ready(): Promise<void> {
    return this.#ready.promise
  }

  get partial(): boolean {
    return this.#life.cluster.partial
  }

  async start(): Promise<void> {
    if (this.#running) {
      return
    }
    this.#running = true
    if (this.#used) {
      this.#life = new Life(this.#options, this.id, this.#emitter)
      this.#ready = withResolvers()
    }
    this.#used = true
    const life = this.#life
    const ready = this.#ready
    life.connections.state = 'open'
    life.pulse.start()
    try {
      await life.cluster.start()
    } catch (error) {
      life.pulse.stop()
      life.connections.state = 'stopped'
      this.#running = false
      throw error
    }
    life.cluster.ready.then(() => {
      if (this.#life === life) {
        this.#isReady = true
        ready.resolve()
      }
    }, ready.reject)
  }

  async stop(options: StopOptions = {}): Promise<void> {
    if (!this.#running) {
      return
    }
    this.#running = false
    this.#isReady = false
    const life = this.#life
    const drained = life.connections.state === 'draining'
    life.connections.endAll('stopped')
    life.connections.state = 'stopped'
    life.pulse.stop()
    life.cluster.bye(options.announce === true && !drained)
    await life.cluster.stop()
    life.endAll()
  }

  async drain(): Promise<void> {
    if (this.#running) {
      this.#life.connections.state = 'draining'
    }
  }

  connect(user: string, options: ConnectOptions = {}): Connection {
    return this.#life.connections.connect(user, options)
  }

  heartbeat(connectionId: string): boolean {
    return this.#life.connections.heartbeat(connectionId)
  }

  connection(connectionId: string): Connection | undefined {
    return this.#life.connections.find(connectionId)
  }

  batch<T>(run: () => T): T {
    return this.#life.step(run)
  }

  kick(user: string): number {
    return this.#life.connections.kick(user)
  }

  list(topic: string, options: ListOptions = {}): Map<string, Presence[]> {
    return listKeys(this.#life, topic, options)
  }

  get(topic: string, key: string): Presence[] {
    return topic === USERS_TOPIC ? [] : presencesOf(this.#life, topic, key)
  }

  count(topic: string): TopicCount {
    const node = topic === USERS_TOPIC ? undefined : this.#life.index.find(topic)
    return { keys: node?.shownKeys ?? 0, presences: node?.shownPresences ?? 0 }
  }

  topics(options: { readonly prefix?: string; readonly limit?: number; readonly cursor?: string } = {}): Map<string, TopicCount> {
    const { prefix = '', limit = Infinity, cursor } = options
    const nodes = [...this.#life.index.topics()]
      .filter(
        node =>
          node.shownKeys > 0 && node.name !== USERS_TOPIC && node.name.startsWith(prefix) && (cursor === undefined || node.name > cursor)
      )
      .sort((a, b) => (a.name < b.name ? -1 : 1))
    return new Map(nodes.slice(0, limit).map(node => [node.name, { keys: node.shownKeys, presences: node.shownPresences }]))
  }

  topicsOf(user: string): Map<string, Presence[]> {
    const topics = new Map<string, Presence[]>()
    for (const slot of this.#life.index.ofUser(user)) {
      if (slot.shown !== null && slot.shownOrigin !== null) {
        const presences = topics.get(slot.topic.name) ?? []
        presences.push(this.#life.factory.presence(slot.shown, slot.shownOrigin, slot.prevRef))
        topics.set(slot.topic.name, presences)
      }
    }
    return topics
  }

  connectionsOf(user: string): Presence[] {
    return presencesOf(this.#life, USERS_TOPIC, user)
  }

  isOnline(user: string): boolean | undefined {
    return this.#isReady ? this.#shownConnections(user) > 0 : undefined
  }

  #shownConnections(user: string): number {
    return this.#life.index.find(USERS_TOPIC)?.shownOf(user) ?? 0
  }

  user(user: string): UserStatus {
    let connections = 0
    for (const slot of this.#life.index.find(USERS_TOPIC)?.slotsOf(user) ?? []) {
      connections += Number(slot.shown?.state === EntryState.live)
    }
    const lastSeen = connections > 0 ? this.#options.environment.wallClockMs() : this.#life.lastSeen.get(user)
    return { online: this.isOnline(user), connections, lastSeen }
  }

  *users(): IterableIterator<string> {
    const node = this.#life.index.find(USERS_TOPIC)
    for (const user of node?.keys.keys() ?? []) {
      if (node?.shownOf(user)) {
        yield user
      }
    }
  }

  watch(topic: string, options: WatchOptions = {}): AsyncIterableIterator<WatchEvent> {
    checkName('topic', topic, this.#options.limits.topicBytes)
    return startWatch(this.#life, topic, options)
  }

  watchCount(topic: string, options: { readonly signal?: AbortSignal } = {}): AsyncIterableIterator<CountEvent> {
    checkName('topic', topic, this.#options.limits.topicBytes)
    return this.#life.counts.watch(this.#life.index.topic(topic), options.signal)
  }

  watchUsers(users: readonly string[], options: { readonly signal?: AbortSignal } = {}): AsyncIterableIterator<UserEvent> {
    for (const user of users) {
      checkName('user', user, this.#options.limits.userBytes)
    }
    return this.#life.users.watch(users, options.signal)
  }

  addEventListener<N extends TrackerEventName>(name: N, listener: TrackerListener<N>): void {
    this.#emitter.add(name, listener)
  }

  removeEventListener<N extends TrackerEventName>(name: N, listener: TrackerListener<N>): void {
    this.#emitter.remove(name, listener)
  }

  version(): string {
    return this.#life.tokens.encode(this.#life.version())
  }

  waitFor(version: string, options: WaitOptions = {}): Promise<void> {
    return this.#running
      ? waitForVersion(this.#life, version, options)
      : Promise.reject(new VersionError('BEHIND', 'the tracker is not running'))
  }

  replicas(): ReplicaInfo[] {
    return this.#life.cluster.replicas()
  }

  forget(replicaId: ReplicaId): boolean {
    return this.#life.step(() => this.#life.cluster.forget(replicaId))
  }

  stats(): TrackerStats {
    return this.#life.stats()
  }
}

/** `Promise.withResolvers`, which Node 20 lacks and browsers have only lately. */
function withResolvers(): PromiseWithResolvers<void> {
  let resolve: PromiseWithResolvers<void>['resolve'] = () => {}
  let reject: PromiseWithResolvers<void>['reject'] = () => {}
  const promise = new Promise<void>((ok, fail) => {
    resolve = ok
    reject = fail
  })
  return { promise, resolve, reject }
}
