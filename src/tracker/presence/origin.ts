import { type ReplicaId, type ReplicaRef, refKey } from '../../crdt/dot.ts'
import type { Certainty } from '../types.ts'
import type { Slot, TopicNode } from './presence-index.ts'

/** One replica id as the presence layer sees it: all its incarnations share one certainty. */
export interface ReplicaNode {
  readonly id: ReplicaId
  certainty: Certainty
  /** How many presences of it are shown, per topic. */
  readonly topics: Map<TopicNode, number>
}

/** One replica ref whose entries stand in the map. */
export interface Origin {
  readonly ref: ReplicaRef
  readonly key: string
  readonly replica: ReplicaNode
  readonly self: boolean
  /** Judged down, and its grace is over: its entries are known and not shown. */
  hidden: boolean
  /** Slots in which a presence of this origin is held though its entry is gone. */
  readonly heldSlots: Set<Slot>
}

/** All origins, by ref; nothing of a dropped one stays behind. */
export class OriginTable {
  readonly #origins = new Map<string, Origin>()
  readonly #replicas = new Map<ReplicaId, ReplicaNode>()
  #self: Origin

  constructor(self: ReplicaRef) {
    this.#self = this.#add(self, true)
  }

  get self(): Origin {
    return this.#self
  }

  /** Our own record goes on under `self`. The old origin is to be deleted. */
  rename(self: ReplicaRef): void {
    this.#self = this.#add(self, true)
  }

  find(ref: ReplicaRef): Origin | undefined {
    return this.#origins.get(refKey(ref))
  }

  get(ref: ReplicaRef): Origin {
    return this.find(ref) ?? this.#add(ref, false)
  }

  #add(ref: ReplicaRef, self: boolean): Origin {
    const origin: Origin = { ref, key: refKey(ref), replica: this.replica(ref.id), self, hidden: false, heldSlots: new Set() }
    this.#origins.set(origin.key, origin)
    return origin
  }

  replica(id: ReplicaId): ReplicaNode {
    let replica = this.#replicas.get(id)
    if (replica === undefined) {
      replica = { id, certainty: 'online', topics: new Map() }
      this.#replicas.set(id, replica)
    }
    return replica
  }

  certainty(id: ReplicaId): Certainty {
    return this.#replicas.get(id)?.certainty ?? 'online'
  }

  delete(origin: Origin): void {
    this.#origins.delete(origin.key)
    if (origin.replica.certainty === 'online') {
      this.#forgetReplica(origin.replica)
    }
  }

  /** Forgets the certainty of replicas that nobody knows any more. */
  prune(known: (id: ReplicaId) => boolean): void {
    for (const replica of this.#replicas.values()) {
      if (!known(replica.id)) {
        this.#forgetReplica(replica)
      }
    }
  }

  #forgetReplica(replica: ReplicaNode): void {
    for (const origin of this.#origins.values()) {
      if (origin.replica === replica) {
        return
      }
    }
    this.#replicas.delete(replica.id)
  }

  values(): IterableIterator<Origin> {
    return this.#origins.values()
  }

  get size(): number {
    return this.#origins.size
  }
}

/** One presence of `replica` more or less is shown in `topic`. */
export function countTopic(replica: ReplicaNode, topic: TopicNode, by: 1 | -1): void {
  const count = (replica.topics.get(topic) ?? 0) + by
  if (count === 0) {
    replica.topics.delete(topic)
  } else {
    replica.topics.set(topic, count)
  }
}
