import { Presence } from 'phoenix'
import { expect } from 'vitest'
import type { Watcher } from '../../../src/net/gateway/feeds/watcher.ts'
import type { Frame } from '../../../src/net/gateway/protocol/wire.ts'

/** What a tracker listed between two changes: keys, with their refs oldest first. */
export type Listing = ReadonlyMap<string, readonly string[]>

interface ShownMeta {
  readonly phx_ref: string
  readonly phx_ref_prev?: string
}
type Shown = Readonly<Record<string, { readonly metas: readonly ShownMeta[] }>>
interface ShownDiff {
  readonly joins: Shown
  readonly leaves: Shown
}

/** The session and the key of a presence: what an update leaves as it is. */
const identityOf = (key: string, ref: string): string => `${ref.slice(0, ref.indexOf('.'))} ${key}`

function* flat(shown: Shown): IterableIterator<{ readonly key: string; readonly meta: ShownMeta }> {
  for (const key of Object.getOwnPropertyNames(shown)) {
    for (const meta of shown[key]?.metas ?? []) {
      yield { key, meta }
    }
  }
}

/** What is not so with a frame that a watcher was sent. */
export class WrongFrameError extends Error {
  override readonly name = 'WrongFrameError'
}

/**
 * One join of an unchanged client: the npm client's own `Presence`, fed with the frames that a feed sends. Each frame is held against what the client
 * lists before it, and what the client lists after it against what the tracker listed: at one point of time after another, none of them older than the last.
 */
export class Screen implements Watcher {
  readonly joinRef: string
  takes = true
  /** All frames that came, and those of them that tell of changes. */
  frames = 0
  diffs = 0
  states = 0
  mode: 'full' | 'interval' = 'full'
  counts: { readonly keys: number; readonly presences: number } | null = null
  readonly #listings: readonly Listing[]
  readonly #sample: number
  readonly #presence: Presence
  readonly #callbacks = new Map<string, (payload: unknown) => void>()
  /** Refs whose join was told and whose leave was not. */
  readonly #told = new Set<string>()
  #at = 0

  /** @param listings grows as the tracker changes @param sample how many keys are shown in interval mode */
  constructor(joinRef: string, listings: readonly Listing[], sample: number) {
    this.joinRef = joinRef
    this.#listings = listings
    this.#sample = sample
    const channel = {
      on: (event: string, callback: (payload: unknown) => void) => void this.#callbacks.set(event, callback),
      joinRef: () => joinRef
    }
    this.#presence = new Presence(channel as never)
    this.#presence.onJoin((_, __, joined) => this.#joined(joined.metas as ShownMeta[]))
    this.#presence.onLeave((_, __, left) => this.#left(left.metas as ShownMeta[]))
  }

  /** The refs that the client lists, by key. */
  get list(): Listing {
    const pairs = this.#presence.list((key, { metas }): [string, string[]] => [key, metas.map((meta: ShownMeta) => meta.phx_ref)])
    return new Map(pairs)
  }

  send(frame: Frame): void {
    this.#receive(frame.text)
  }

  sendParts(parts: readonly Buffer[]): void {
    this.#receive(Buffer.concat(parts).toString())
  }

  #receive(text: string): void {
    if (!this.takes) {
      throw new WrongFrameError('INV-94: sent to one who does not take anything')
    }
    const [joinRef, ref, , event, payload] = JSON.parse(text) as [string | null, null, string, string, never]
    this.frames++
    expect([ref, event === 'presence_state' ? joinRef : null]).toEqual([null, event === 'presence_state' ? this.joinRef : null])
    switch (event) {
      case 'presence_state':
        this.states++
        this.#checkState(payload)
        this.#apply(event, payload)
        break
      case 'presence_diff':
        this.diffs++
        this.#checkDiff(payload)
        this.#apply(event, payload)
        break
      case 'presence_mode':
        this.mode = (payload as { mode: 'full' | 'interval' }).mode
        break
      case 'presence_count':
        this.counts = payload
        break
      default:
        throw new WrongFrameError(`unknown event ${event}`)
    }
  }

  #apply(event: string, payload: unknown): void {
    this.#callbacks.get(event)?.(payload)
    this.#advance()
    expect([...this.#told].sort()).toEqual([...this.list.values()].flat().sort())
  }

  #checkState(state: Shown): void {
    const known = new Set<string>()
    for (const { key, meta } of flat(state)) {
      if (known.has(identityOf(key, meta.phx_ref))) {
        throw new WrongFrameError(`two presences of one session in a state: ${meta.phx_ref}`)
      }
      known.add(identityOf(key, meta.phx_ref))
    }
    const last = this.#listings.at(-1)
    for (const key of Object.getOwnPropertyNames(state)) {
      const refs = state[key]?.metas.map(meta => meta.phx_ref) ?? []
      const oldestFirst = last?.get(key)?.filter(ref => refs.includes(ref)) ?? []
      expect(refs.filter(ref => oldestFirst.includes(ref))).toEqual(oldestFirst)
    }
  }

  #checkDiff({ joins, leaves }: ShownDiff): void {
    if (this.states === 0) {
      throw new WrongFrameError('INV-91: a diff before the state')
    }
    const shown = new Set([...this.list.values()].flat())
    const left = new Map<string, string>()
    for (const { key, meta } of flat(leaves)) {
      if (!shown.has(meta.phx_ref)) {
        throw new WrongFrameError(`trap 2: a leave of ${meta.phx_ref}, which is not shown`)
      }
      left.set(identityOf(key, meta.phx_ref), meta.phx_ref)
    }
    let size = left.size
    for (const { key, meta } of flat(joins)) {
      size++
      if (shown.has(meta.phx_ref)) {
        throw new WrongFrameError(`trap 1: a join of ${meta.phx_ref}, which is shown`)
      }
      if (left.get(identityOf(key, meta.phx_ref)) !== meta.phx_ref_prev) {
        throw new WrongFrameError(`trap 3: ${meta.phx_ref} has phx_ref_prev ${meta.phx_ref_prev}`)
      }
    }
    if (size === 0) {
      throw new WrongFrameError('a diff that tells nothing')
    }
  }

  #joined(metas: readonly ShownMeta[]): void {
    for (const { phx_ref } of metas) {
      if (this.#told.has(phx_ref)) {
        throw new WrongFrameError(`trap 1: a second onJoin of ${phx_ref}`)
      }
      this.#told.add(phx_ref)
    }
  }

  #left(metas: readonly ShownMeta[]): void {
    for (const { phx_ref } of metas) {
      if (!this.#told.delete(phx_ref)) {
        throw new WrongFrameError(`an onLeave of ${phx_ref}, which never joined`)
      }
    }
  }

  /** Finds the point of time at which the tracker listed what the client lists now. */
  #advance(): void {
    const { list } = this
    while (!this.shows(this.#listings[this.#at], list)) {
      if (++this.#at >= this.#listings.length) {
        throw new WrongFrameError(`the client lists what was never listed since the last frame: ${JSON.stringify([...list])}`)
      }
    }
  }

  /** Whether a list is all of a listing, or a whole sample of it. */
  shows(listing: Listing | undefined, list: Listing = this.list): boolean {
    if (listing === undefined) {
      return false
    }
    const isPart = [...list].every(([key, refs]) => sameRefs(listing.get(key) ?? [], refs))
    return isPart && (list.size === listing.size || list.size === Math.min(this.#sample, listing.size))
  }
}

function sameRefs(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every(ref => other.includes(ref))
}
