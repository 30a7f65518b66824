import type { DiffBuilder, DiffParts } from '../presence/diff-builder.ts'
import type { Origin } from '../presence/origin.ts'
import type { PresenceFactory } from '../presence/presence-factory.ts'
import type { PresenceIndex, TopicNode } from '../presence/presence-index.ts'
import type { DiffCause, DiffEvent, Presence, SnapshotEvent, SnapshotReason } from '../types.ts'
import type { Missed } from './resume.ts'
import { TopicWatch } from './topic-watch.ts'
import type { TokenCodec, Version } from './version.ts'

interface Watched {
  readonly watches: Set<TopicWatch>
  /** The snapshot as of the last step that touched the topic: a thousand who come at once share it. */
  snapshot: readonly Presence[] | null
}

/** Who watches which topic. */
export class TopicHub {
  readonly factory: PresenceFactory
  readonly #index: PresenceIndex
  readonly #tokens: TokenCodec
  readonly #version: () => Version
  readonly #busy: () => boolean
  readonly #deferred = new Set<{ wake(): void }>()
  readonly #topics = new Map<TopicNode, Watched>()
  #snapshotsBuilt = 0

  constructor(init: { factory: PresenceFactory; index: PresenceIndex; tokens: TokenCodec; version: () => Version; busy: () => boolean }) {
    this.factory = init.factory
    this.#index = init.index
    this.#tokens = init.tokens
    this.#version = init.version
    this.#busy = init.busy
  }

  get size(): number {
    let size = 0
    for (const { watches } of this.#topics.values()) {
      size += watches.size
    }
    return size
  }

  get snapshotsBuilt(): number {
    return this.#snapshotsBuilt
  }

  /** Within a step nothing is built: it would show what no diff has told of. True: the iterator is woken after the step. */
  defers(iterator: { wake(): void }): boolean {
    if (this.#busy()) {
      this.#deferred.add(iterator)
      return true
    }
    return false
  }

  /** The step is over. */
  settled(): void {
    if (this.#deferred.size > 0) {
      const deferred = [...this.#deferred]
      this.#deferred.clear()
      for (const iterator of deferred) {
        iterator.wake()
      }
    }
  }

  add(topic: TopicNode, started: boolean, signal: AbortSignal | undefined): TopicWatch {
    let watched = this.#topics.get(topic)
    if (watched === undefined) {
      watched = { watches: new Set(), snapshot: null }
      this.#topics.set(topic, watched)
      topic.pins++
    }
    const watch = new TopicWatch(this, topic, started, signal)
    watched.watches.add(watch)
    if (watch.iterator.ended) {
      this.remove(topic, watch)
    }
    return watch
  }

  remove(topic: TopicNode, watch: TopicWatch): void {
    const watched = this.#topics.get(topic)
    if (watched?.watches.delete(watch) && watched.watches.size === 0) {
      this.#topics.delete(topic)
      topic.pins--
      this.#index.pruneTopic(topic)
    }
  }

  stepped(builders: ReadonlyMap<TopicNode, DiffBuilder>): void {
    for (const [topic, builder] of builders) {
      const watched = this.#topics.get(topic)
      if (watched !== undefined) {
        watched.snapshot = null
        this.#tell(watched, topic, builder)
      }
    }
  }

  #tell(watched: Watched, topic: TopicNode, builder: DiffBuilder): void {
    let built: DiffEvent | null | undefined
    const event = (): DiffEvent | null => {
      built ??= this.event(topic, builder.cause, builder.build(this.factory))
      return built
    }
    for (const watch of [...watched.watches]) {
      watch.stepped(builder, event)
    }
  }

  /** Null when nothing changed. */
  event(topic: TopicNode, cause: DiffCause, parts: DiffParts): DiffEvent | null {
    const { joins, leaves, updates, moves, replicas } = parts
    if (joins.length + leaves.length + updates.length + moves.length + replicas.length === 0) {
      return null
    }
    return this.#withToken({ type: 'diff' as const, topic: topic.name, cause, ...frozen(parts), replace: NOTHING, resets: NOTHING })
  }

  /** The first event after a resume: sent though it be empty, so that the client knows that it is level. */
  resumedEvent(topic: TopicNode, { parts, replace, resets }: Missed): DiffEvent {
    return this.#withToken({
      type: 'diff' as const,
      topic: topic.name,
      cause: 'transfer' as const,
      ...frozen(parts),
      replace: Object.freeze(replace),
      resets: Object.freeze(resets)
    })
  }

  snapshot(topic: TopicNode, reason: SnapshotReason): SnapshotEvent {
    const watched = this.#topics.get(topic)
    const presences = watched?.snapshot ?? this.#presences(topic)
    if (watched !== undefined) {
      watched.snapshot = presences
    }
    return this.#withToken({ type: 'snapshot' as const, topic: topic.name, presences, reason })
  }

  #presences(topic: TopicNode): readonly Presence[] {
    this.#snapshotsBuilt++
    const presences: Presence[] = []
    for (const slot of topic.slots()) {
      if (slot.shown !== null) {
        presences.push(this.factory.presence(slot.shown, slot.shownOrigin as Origin, slot.prevRef))
      }
    }
    return Object.freeze(presences)
  }

  /** The version is taken now; its text is made when somebody reads it. */
  #withToken<T extends object>(event: T): T & { readonly token: string } {
    const version = this.#version()
    const tokens = this.#tokens
    let token: string | undefined
    const withToken = Object.defineProperty(event, 'token', {
      enumerable: true,
      get: () => {
        token ??= tokens.encode(version)
        return token
      }
    })
    return Object.freeze(withToken) as T & { readonly token: string }
  }

  endAll(): void {
    for (const [, { watches }] of [...this.#topics]) {
      for (const watch of [...watches]) {
        watch.iterator.end()
      }
    }
  }
}

const NOTHING: readonly never[] = Object.freeze([])

const frozen = (parts: DiffParts): DiffParts => ({
  joins: Object.freeze(parts.joins),
  leaves: Object.freeze(parts.leaves),
  updates: Object.freeze(parts.updates),
  moves: Object.freeze(parts.moves),
  replicas: Object.freeze(parts.replicas)
})
