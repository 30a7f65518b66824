import type { ReplicaId, ReplicaRef } from '../crdt/dot.ts'
import type { OrMap } from '../crdt/or-map.ts'
import { EMPTY_HASH, hashText } from '../crdt/state-hash.ts'
import type { ClusterListener, ClusterPort } from './cluster-port.ts'
import type { Environment } from './environment.ts'
import type { Member } from './membership/member.ts'
import type { ResolvedOptions } from './options.ts'
import { type Core, createCore } from './replication/core.ts'
import { Readiness } from './replication/readiness.ts'
import { StepListener } from './replication/step-listener.ts'
import { Replication } from './replication.ts'
import type { Transport } from './transport.ts'
import type { ReplicaInfo } from './types.ts'

export interface ClusterInit {
  /** Its own record is ours; all others are filled and dropped here. */
  readonly map: OrMap
  readonly options: ResolvedOptions
  readonly environment: Environment
  readonly transport: Transport
  readonly listener: ClusterListener
}

/** The other replicas, as this one sees them: everything between the transport and the map. */
export function createCluster(init: ClusterInit): ClusterPort {
  return new Cluster(init)
}

class Cluster implements ClusterPort {
  readonly #core: Core
  readonly #replication: Replication
  readonly #readiness: Readiness
  #state: 'new' | 'running' | 'left' | 'stopped' = 'new'
  #depth = 0

  constructor({ map, options, environment, transport, listener }: ClusterInit) {
    const step = (run: () => void): void => this.#step(run)
    this.#core = createCore({
      map,
      options,
      environment,
      transport,
      listener: new StepListener(listener),
      step,
      onReincarnated: before => {
        this.#core.peers.forget(before)
        this.#core.flush.restarted()
        this.#replication.greeting.sendAll()
      }
    })
    this.#replication = new Replication(this.#core, step)
    this.#readiness = new Readiness(this.#core)
  }

  get self(): ReplicaRef {
    return this.#core.map.self
  }

  get ready(): Promise<void> {
    return this.#readiness.ready
  }

  get partial(): boolean {
    return this.#readiness.partial
  }

  get isolated(): boolean {
    return this.#core.judge.isolated
  }

  async start(): Promise<void> {
    if (this.#state !== 'new') {
      return
    }
    this.#state = 'running'
    this.#replication.start()
    this.#readiness.start()
    await this.#core.transport.start(this.#replication)
  }

  changed(): void {
    this.#step(() => this.#core.flush.changed())
  }

  tick(nowMs: number): void {
    this.#step(() => {
      this.#core.judge.tick(nowMs)
      this.#core.returns.tick(nowMs)
      this.#replication.tick(nowMs)
    })
  }

  paused(byMs: number): void {
    this.#core.judge.paused(byMs)
    this.#core.sources.paused(byMs)
  }

  bye(announce: boolean): void {
    if (this.#state !== 'running') {
      return
    }
    const { flush, outbox, peers, transport, map, digests, timers } = this.#core
    flush.flush()
    outbox.drainAll()
    for (const peer of peers.all()) {
      transport.send(peer.id, { type: 'bye', replica: map.self, head: digests.ownHead(), announce })
    }
    // Nothing is said after a goodbye, and nothing heard changes anything.
    this.#state = 'left'
    timers.stop()
    this.#readiness.stop()
  }

  async stop(): Promise<void> {
    this.#state = 'stopped'
    this.#core.timers.stop()
    this.#readiness.stop()
    await this.#core.transport.stop()
  }

  replicas(): ReplicaInfo[] {
    const { map, environment, membership, digests } = this.#core
    const nowMs = environment.monotonicMs()
    const self: ReplicaInfo = {
      ...map.self,
      status: 'up',
      phi: 0,
      head: digests.ownHead(),
      lagMs: 0,
      complete: true,
      silentMs: 0,
      hash: hashText(digests.ownHash()),
      agrees: null
    }
    return [self, ...[...membership.members.values()].map(member => this.#info(member, nowMs))]
  }

  forget(id: ReplicaId): boolean {
    let known = false
    this.#step(() => {
      known = this.#core.membership.forget(id, this.#core.environment.monotonicMs())
    })
    return known
  }

  isHidden(ref: ReplicaRef): boolean {
    const member = this.#core.membership.members.get(ref.id)
    return member?.hidden === true && member.ref.incarnation === ref.incarnation
  }

  isForgotten(ref: ReplicaRef): boolean {
    return this.#core.membership.isForgotten(ref)
  }

  stats(): Record<string, number> {
    const { counters, membership, sources, peers, timers } = this.#core
    return {
      ...counters.toRecord(),
      members: membership.members.size,
      held: membership.held.size,
      graves: membership.graveyard.size,
      transfers: sources.size,
      links: peers.size,
      points: peers.points,
      timers: timers.size
    }
  }

  #info(member: Member, nowMs: number): ReplicaInfo {
    const { map, lags, peers } = this.#core
    const record = map.record(member.ref)
    const complete = record?.complete ?? true
    return {
      ...member.ref,
      status: member.status,
      phi: member.left ? 0 : member.phi(nowMs),
      head: record?.head ?? 0,
      lagMs: lags.lagMs(member.ref, nowMs),
      complete,
      silentMs: Math.max(0, nowMs - member.lastSignMs),
      hash: complete ? hashText(record?.hash ?? EMPTY_HASH) : null,
      agrees: peers.get(member.ref.id)?.sameDigest ?? null
    }
  }

  /** A call from outside. What it makes due is sent when it is over, and what it told is settled then. */
  #step(run: () => void): void {
    if (this.#state !== 'running') {
      return
    }
    this.#depth++
    try {
      run()
    } finally {
      this.#depth--
      if (this.#depth === 0) {
        this.#settle()
      }
    }
  }

  #settle(): void {
    const { sources, outbox, listener } = this.#core
    if (this.#state === 'running') {
      sources.sendAsks()
      outbox.pump()
      this.#readiness.check()
    }
    listener.settled()
  }
}
