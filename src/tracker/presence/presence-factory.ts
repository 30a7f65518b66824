import type { ReplicaId } from '../../crdt/dot.ts'
import type { Entry } from '../../crdt/entry.ts'
import type { Certainty, Presence } from '../types.ts'
import { changedNames, type MetaDecoder } from './meta.ts'
import type { Origin, OriginTable } from './origin.ts'
import { refOf } from './ref.ts'

/** Makes the frozen objects that are handed out: none of them is our own state. */
export class PresenceFactory {
  readonly #metas: MetaDecoder
  readonly #origins: OriginTable

  constructor(metas: MetaDecoder, origins: OriginTable) {
    this.#metas = metas
    this.#origins = origins
  }

  presence(entry: Entry, origin: Origin, prevRef: string | null): Presence {
    return Object.freeze({
      ref: refOf(entry),
      prevRef,
      key: entry.key,
      user: entry.user,
      meta: this.#metas.decode(entry.meta),
      replica: origin.ref.id,
      state: origin.replica.certainty,
      joinedAt: entry.joinedAt
    })
  }

  certainty(id: ReplicaId): Certainty {
    return this.#origins.certainty(id)
  }

  changed(prev: Presence, next: Presence): readonly string[] {
    return Object.freeze(changedNames(prev.meta, next.meta))
  }
}
