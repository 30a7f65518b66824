import type { ReplicaId } from '../../crdt/dot.ts'
import type { Cancel, Environment, Random } from '../../tracker/environment.ts'
import type { MemberAddress } from './addresses.ts'
import { firstDelayMs, redialDelayMs } from './back-off.ts'
import { DialPace } from './dial-pace.ts'
import { addPinned, keeps, type Member, MemberTable, nextBare } from './members.ts'

export interface DialTarget {
  /** Who must answer; undefined: whoever does. */
  readonly id: ReplicaId | undefined
  readonly addresses: readonly string[]
}

/** Why a dial came to nothing. `refused`: nobody listens at any of the addresses; `self`: we answered; `foreign`: somebody who is no replica. */
export type DialFailure = 'refused' | 'self' | 'foreign' | 'failed'

/** What the dialer drives. */
export interface DialPort {
  /** Resolves with the proven id once there is a link with whom was found. May never settle: the dialer does not wait for it. */
  reach(target: DialTarget, signal: AbortSignal): Promise<ReplicaId>
  failure(error: unknown): DialFailure
  isLinked(id: ReplicaId): boolean
  /** Links that are up. */
  linkCount(): number
  /** A dial of `id` was refused. */
  refused(id: ReplicaId): void
  began(): void
  failed(): void
}

export interface DialerOptions {
  readonly self: ReplicaId
  readonly environment: Environment
  readonly random: Random
  readonly dialTimeoutMs: number
  /** With so many links, only configured members are dialled: the mesh is partial, and who is new links itself. */
  readonly maxLinks: number
  readonly maxMembers: number
  /** A member that was learned, not configured, is forgotten when it was out of reach for so long while others were not. */
  readonly forgetAfterMs: number
}

/** A link that was up for less is no success: it counts as a failed dial, or two replicas that reject each other would spin. */
const STABLE_MS = 10_000
/** As many failures at most are made of links that did not last: on a bad network links are lost often, and wanted back in 8 s. */
const UNSTABLE_FAILURES_MAX = 5
/** What others say of a member that is out of reach brings its next dial forward at most so often. */
const HINT_EVERY_MS = 60_000

/**
 * Keeps the replica linked with every member it has heard of, for ever: whoever is not linked is dialled, one dial per member at a time,
 * each with a timeout of its own, with back-off and jitter (`redialDelayMs`).
 */
export class Dialer {
  readonly #options: DialerOptions
  readonly #port: DialPort
  readonly #members: MemberTable
  #running = false
  readonly #pace = new DialPace()
  #cancelWake: Cancel | undefined

  constructor(port: DialPort, options: DialerOptions) {
    this.#port = port
    this.#options = options
    this.#members = new MemberTable(options.maxMembers)
  }

  get memberCount(): number {
    return this.#members.size
  }

  get dialing(): number {
    return this.#pace.size
  }

  /** Begins to dial. What was learned before, in an earlier life too, is dialled at once. */
  start(): void {
    this.#running = true
    for (const member of this.#members) {
      member.failures = 0
      member.dueMs = this.#now + this.#firstDelayMs(member)
    }
    this.#plan()
  }

  /** Ends all dials. Members are kept for a later start. */
  stop(): void {
    this.#running = false
    this.#cancelWake?.()
    this.#cancelWake = undefined
    for (const member of this.#members) {
      this.#endDial(member)
    }
  }

  /** A configured address. */
  configure({ id, address }: MemberAddress): void {
    if (id === this.#options.self) {
      return
    }
    const member = id === undefined ? this.#members.addAnonymous(address, this.#now) : this.#add(id, true)
    if (member !== undefined) {
      if (id !== undefined) {
        addPinned(member, [address])
      }
      this.#due(member, this.#firstDelayMs(member))
      this.#plan()
    }
  }

  /** `id` is said to be at `addresses`. New addresses are tried at once; known ones bring the next dial forward now and then. */
  learn(id: ReplicaId, addresses: readonly string[]): void {
    if (id === this.#options.self || addresses.length === 0) {
      return
    }
    const member = this.#add(id, false)
    if (member === undefined) {
      return
    }
    const isNew = addPinned(member, addresses)
    if (isNew || this.#now - member.hintedAtMs >= HINT_EVERY_MS) {
      member.hintedAtMs = this.#now
      this.#due(member, this.#firstDelayMs(member))
      this.#plan()
    }
  }

  /** A link with `id` is up, whoever dialled. The first one after having had none says that the network is back. */
  linked(id: ReplicaId): void {
    const member = this.#add(id, false)
    if (member !== undefined) {
      this.#endDial(member)
      member.linkedAtMs = this.#now
      member.dueMs = Number.POSITIVE_INFINITY
    }
    if (this.#port.linkCount() === 1) {
      for (const other of this.#members) {
        other.failures = Math.min(other.failures, 1)
        this.#due(other, this.#options.random.below(2_000))
      }
    }
    this.#plan()
  }

  /** The link with `id` is gone. */
  lost(id: ReplicaId): void {
    const member = this.#members.get(id)
    if (member === undefined) {
      return
    }
    const now = this.#now
    member.unlinkedSinceMs = now
    const unstable = member.linkedAtMs !== undefined && now - member.linkedAtMs < STABLE_MS
    member.failures = unstable ? Math.min(member.failures + 1, UNSTABLE_FAILURES_MAX) : 0
    this.#due(member, member.failures === 0 ? this.#firstDelayMs(member) : this.#redialDelayMs(member.failures))
    if (this.#alone) {
      for (const other of this.#members) {
        this.#due(other, this.#redialDelayMs(Math.max(1, other.failures)))
      }
    }
    this.#plan()
  }

  get #now(): number {
    return this.#options.environment.monotonicMs()
  }

  get #alone(): boolean {
    return this.#port.linkCount() === 0
  }

  #add(id: ReplicaId, bootstrap: boolean): Member | undefined {
    return this.#members.add(id, bootstrap, this.#now, other => this.#port.isLinked(other))
  }

  #firstDelayMs(member: Member): number {
    const weAreSmaller = member.id === undefined || this.#options.self < member.id
    return firstDelayMs(weAreSmaller, this.#port.linkCount(), this.#options.random)
  }

  #redialDelayMs(failures: number): number {
    return redialDelayMs(failures, this.#alone, this.#options.random)
  }

  /** Brings the member's next dial forward to `delayMs` from now, if it needs one. */
  #due(member: Member, delayMs: number): void {
    if (member.dial === undefined && !this.#isLinked(member)) {
      member.dueMs = Math.min(member.dueMs, this.#now + delayMs)
    }
  }

  #isLinked(member: Member): boolean {
    return member.id !== undefined && this.#port.isLinked(member.id)
  }

  /** Sleeps until the next dial is due and there is room for it. */
  #plan(): void {
    this.#cancelWake?.()
    this.#cancelWake = undefined
    let dueMs = Number.POSITIVE_INFINITY
    for (const member of this.#running ? this.#members : []) {
      dueMs = Math.min(dueMs, this.#wants(member) ? member.dueMs : Number.POSITIVE_INFINITY)
    }
    const wakeMs = Math.max(dueMs, this.#pace.roomAtMs(this.#now), this.#now)
    if (wakeMs !== Number.POSITIVE_INFINITY) {
      this.#cancelWake = this.#options.environment.schedule(Math.max(0, wakeMs - this.#now), () => {
        this.#pace.ranLate(this.#now - wakeMs, this.#now)
        this.#pump()
      })
    }
  }

  #wants(member: Member): boolean {
    return member.dial === undefined && !this.#isLinked(member) && (keeps(member) || this.#port.linkCount() < this.#options.maxLinks)
  }

  #pump(): void {
    const now = this.#now
    const due = [...this.#members].filter(member => member.dueMs <= now)
    // Those that are members for certain go before those that somebody has named.
    for (const member of due.sort((a, b) => rank(a) - rank(b) || a.dueMs - b.dueMs)) {
      if (this.#wants(member) && this.#pace.roomAtMs(this.#now) <= now) {
        this.#dial(member)
      }
    }
    this.#plan()
  }

  #dial(member: Member): void {
    const bare = nextBare(member)
    const target: DialTarget = bare === undefined ? { id: member.id, addresses: [...member.pinned] } : { id: undefined, addresses: [bare] }
    const controller = new AbortController()
    const settle = (run: () => void): void => {
      // A dial that was given up may settle at any later time, and then says nothing about the present.
      if (member.dial?.controller === controller) {
        this.#endDial(member)
        run()
        this.#plan()
      }
    }
    const cancelTimeout = this.#options.environment.schedule(this.#options.dialTimeoutMs, () =>
      settle(() => this.#failed(member, bare, 'failed'))
    )
    member.dial = { controller, cancelTimeout }
    this.#pace.began(member, this.#now)
    this.#port.began()
    this.#port.reach(target, controller.signal).then(
      id => settle(() => this.#reached(member, bare, id)),
      error => settle(() => this.#failed(member, bare, this.#port.failure(error)))
    )
  }

  #reached(member: Member, bare: string | undefined, id: ReplicaId): void {
    member.dueMs = Number.POSITIVE_INFINITY
    const found = bare === undefined ? member : this.#members.found(member, bare, id, this.#now)
    if (!this.#port.isLinked(id)) {
      // Linked, and lost before the promise said so.
      this.#due(found, this.#redialDelayMs(++found.failures))
    }
    if (found !== member) {
      this.#due(member, this.#redialDelayMs(Math.max(1, member.failures)))
    }
  }

  #failed(member: Member, bare: string | undefined, failure: DialFailure): void {
    this.#port.failed()
    member.failures++
    member.dueMs = this.#now + this.#redialDelayMs(member.failures)
    if (failure === 'self' && bare !== undefined) {
      member.bare.delete(bare)
    } else if (failure === 'refused' && member.id !== undefined) {
      this.#port.refused(member.id)
    }
    const isStale = !this.#alone && this.#now - member.unlinkedSinceMs > this.#options.forgetAfterMs
    if (member.bare.size + member.pinned.size === 0 || (!keeps(member) && (isStale || failure === 'foreign'))) {
      this.#members.remove(member)
    }
  }

  #endDial(member: Member): void {
    const { dial } = member
    if (dial !== undefined) {
      member.dial = undefined
      this.#pace.ended(member)
      dial.cancelTimeout()
      dial.controller.abort(new Error('the dial was given up'))
    }
  }
}

const rank = (member: Member): number => (keeps(member) || member.linkedAtMs !== undefined ? 0 : 1)
