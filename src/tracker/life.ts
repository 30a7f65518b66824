import type { ReplicaRef } from '../crdt/dot.ts'
import { OrMap } from '../crdt/or-map.ts'
import { createCluster } from './cluster.ts'
import { createClusterListener } from './cluster-listener.ts'
import type { ClusterPort } from './cluster-port.ts'
import { Connections } from './connections/connections.ts'
import type { Emitter } from './emitter.ts'
import { createLoneCluster } from './lone-cluster.ts'
import { newIncarnation } from './membership/incarnation.ts'
import { USERS_TOPIC } from './names.ts'
import type { ResolvedOptions } from './options.ts'
import type { DiffBuilder } from './presence/diff-builder.ts'
import { LastSeen } from './presence/last-seen.ts'
import { MetaDecoder } from './presence/meta.ts'
import { PresenceFactory } from './presence/presence-factory.ts'
import { PresenceIndex, type TopicNode } from './presence/presence-index.ts'
import { PresenceView, type Step } from './presence/presence-view.ts'
import { crossing, keyChanges } from './presence/transitions.ts'
import { Pulse } from './pulse.ts'
import { statsOf } from './stats.ts'
import type { TrackerStats } from './types.ts'
import { ChangeLog } from './watch/change-log.ts'
import { CountHub } from './watch/count-hub.ts'
import { TopicHub } from './watch/topic-hub.ts'
import { UserHub } from './watch/user-hub.ts'
import { TokenCodec, type Version, type VersionEntry } from './watch/version.ts'
import { Waiting } from './watch/waiting.ts'

/** Replicas whose certainty nobody needs any more are looked for every so many pulses. */
const PRUNE_PULSES = 240

/**
 * One life of a tracker, from start to stop: its state, and the order in which a step of it is done. A change of state first, then the events that
 * answer it (a rival entry), then what is shown, then those who are told. Nobody is told within a change.
 */
export class Life {
  readonly options: ResolvedOptions
  readonly map: OrMap
  readonly index = new PresenceIndex()
  readonly view: PresenceView
  readonly metas = new MetaDecoder()
  readonly factory: PresenceFactory
  readonly connections: Connections
  readonly cluster: ClusterPort
  readonly tokens: TokenCodec
  readonly log: ChangeLog
  readonly topics: TopicHub
  readonly counts: CountHub
  readonly users: UserHub
  readonly lastSeen: LastSeen
  readonly waiting: Waiting
  readonly pulse: Pulse
  readonly #emitter: Emitter
  #depth = 0
  #version: Version | null = null
  #outbox: (() => void)[] = []
  /** What changed in the step, by topic. */
  #untold = new Map<TopicNode, DiffBuilder>()
  #draining = false
  #pulses = 0
  #ownHead = 0
  #diffs = 0

  constructor(options: ResolvedOptions, id: string, emitter: Emitter) {
    const { environment, limits, graceMs, gossip } = options
    const self = { id, incarnation: newIncarnation(environment) }
    this.options = options
    this.#emitter = emitter
    this.map = new OrMap({ self, logLimit: limits.markLog })
    this.view = new PresenceView(this.index, self, Math.max(graceMs, 2 * gossip.periodMs), () => environment.monotonicMs())
    this.view.onFlush = step => this.#flushed(step)
    this.factory = new PresenceFactory(this.metas, this.view.origins)
    this.tokens = new TokenCodec(options.cluster, options.secret)
    this.log = new ChangeLog(this.map, this.index, limits.changeLog)
    this.lastSeen = new LastSeen(options.lastSeenMs, environment)
    this.users = new UserHub(() => this.index.find(USERS_TOPIC), this.lastSeen)
    this.counts = new CountHub(this.index)
    this.topics = new TopicHub({
      factory: this.factory,
      index: this.index,
      tokens: this.tokens,
      version: () => this.version(),
      busy: () => this.busy
    })
    this.waiting = new Waiting(environment)
    this.connections = new Connections({
      map: this.map,
      view: this.view,
      metas: this.metas,
      options,
      environment,
      step: run => this.step(run)
    })
    this.cluster =
      options.transport === undefined
        ? createLoneCluster(this.map)
        : createCluster({
            map: this.map,
            options,
            environment,
            transport: options.transport,
            listener: createClusterListener({
              life: this,
              take: change => this.#take(change),
              emit: (name, detail) => void this.#outbox.push(() => this.#emitter.emit(name, detail))
            })
          })
    this.pulse = new Pulse(environment, { paused: byMs => this.#paused(byMs), tick: nowMs => this.#tick(nowMs) })
  }

  /** Within a change of state: what is listed is ahead of what was told. */
  get busy(): boolean {
    return this.#depth > 0
  }

  /** Runs a change of state. The outermost one ends the step. */
  step<T>(run: () => T): T {
    this.#depth++
    try {
      return run()
    } finally {
      if (this.#depth === 1) {
        this.#settle()
      }
      this.#depth--
      if (this.#depth === 0) {
        this.#told()
      }
    }
  }

  #settle(): void {
    while (this.connections.own.settleRivals()) {
      // Each removal may bring another rival to light.
    }
    this.view.flush()
    const head = this.map.record(this.map.self)?.head ?? 0
    if (head !== this.#ownHead) {
      this.#ownHead = head
      this.#version = null
      this.cluster.changed()
    }
  }

  /** After the step: those who watch, those who wait, then the listeners, each of whom may begin a step of his own. */
  #told(): void {
    this.#tell()
    this.view.prune()
    this.waiting.stepped()
    this.topics.settled()
    if (this.#draining) {
      return
    }
    this.#draining = true
    try {
      while (this.#outbox.length > 0) {
        const outbox = this.#outbox
        this.#outbox = []
        for (const tell of outbox) {
          tell()
        }
      }
    } finally {
      this.#draining = false
    }
  }

  /**
   * A part of a step, which the view ends where the origin or the cause changes. Nobody is told before the whole step is over: two parts of one
   * topic are one diff, and a listener who lists sees what he was told.
   */
  #flushed(part: Step): void {
    this.#version = null
    this.log.record(part)
    for (const [topic, builder] of part.builders) {
      const known = this.#untold.get(topic)
      if (known === undefined) {
        this.#untold.set(topic, builder)
      } else {
        known.absorb(builder)
      }
    }
  }

  #tell(): void {
    const builders = this.#untold
    if (builders.size === 0) {
      return
    }
    this.#untold = new Map()
    this.topics.stepped(builders)
    this.counts.stepped(builders)
    for (const [topic, builder] of builders) {
      if (topic.name === USERS_TOPIC) {
        this.#tellUsers(builder)
      } else {
        this.#tellDiff(topic, builder)
        this.#tellKeys(builder)
      }
    }
  }

  #tellUsers(builder: DiffBuilder): void {
    for (const { type, user } of this.users.stepped(builder)) {
      if (this.#emitter.has(type)) {
        this.#outbox.push(() => this.#emitter.emit(type, { user }))
      }
    }
  }

  #tellDiff(topic: TopicNode, builder: DiffBuilder): void {
    const diff = this.#emitter.has('diff') ? this.topics.event(topic, builder.cause, builder.build(this.factory)) : null
    if (diff !== null) {
      this.#diffs++
      this.#outbox.push(() => this.#emitter.emit('diff', diff))
    }
  }

  #tellKeys(builder: DiffBuilder): void {
    if (!this.#emitter.has('key:join') && !this.#emitter.has('key:leave')) {
      return
    }
    for (const change of keyChanges(builder)) {
      const crossed = crossing(change)
      if (crossed !== undefined) {
        const detail = Object.freeze({ topic: builder.topic.name, key: change.key })
        this.#outbox.push(() => this.#emitter.emit(`key:${crossed}`, detail))
      }
    }
  }

  /** Whether `ref` is a member of the cluster of which nothing came yet, or will soon be known as one. */
  awaits(ref: ReplicaRef): boolean {
    return this.cluster.replicas().some(({ id, incarnation }) => id === ref.id && incarnation <= ref.incarnation)
  }

  /** What is shown, as the number of events of each replica that are in it. */
  version(): Version {
    if (this.#version === null) {
      const version = new Map<string, VersionEntry>()
      for (const record of this.map.records()) {
        const origin = this.view.origins.find(record.ref)
        // In its first transfer a record has entries, which are shown, and no head yet.
        if ((record.head > 0 || record.count > 0) && origin?.hidden !== true) {
          const partial = !record.complete || (origin !== undefined && origin.heldSlots.size > 0)
          version.set(`${record.ref.id}#${record.ref.incarnation}`, { ref: record.ref, head: record.head, partial })
        }
      }
      this.#version = version
    }
    return this.#version
  }

  /** What the cluster tells is taken into the state at once, and shown when its step has settled. */
  #take(change: () => void): void {
    this.#depth++
    try {
      change()
    } finally {
      this.#depth--
    }
  }

  #tick(nowMs: number): void {
    this.step(() => {
      this.connections.tick()
      this.cluster.tick(nowMs)
      this.view.tick()
    })
    this.lastSeen.tick()
    if (++this.#pulses % PRUNE_PULSES === 0) {
      const known = new Set(this.cluster.replicas().map(({ id }) => id))
      this.view.origins.prune(id => known.has(id))
    }
  }

  #paused(byMs: number): void {
    this.connections.paused(byMs)
    this.view.paused(byMs)
    this.cluster.paused(byMs)
  }

  stats(): TrackerStats {
    return { ...statsOf(this), diffs: this.#diffs, listenerErrors: this.#emitter.errors }
  }

  endAll(): void {
    this.waiting.endAll()
    this.topics.endAll()
    this.counts.endAll()
    this.users.endAll()
  }
}
