import { createRandom, type Random } from '../../tracker/environment.ts'
import { type Ledger, placeOf, type Span } from './ledger.ts'
import type { TraceEvent } from './trace.ts'
import type { Op, OpKind, WorkerEvents } from './worker-protocol.ts'

/** The clients of one run. */
export interface CrowdOptions {
  readonly seed: number
  readonly replicas: number
  readonly ledger: Ledger
}

/** How a client finds its way: most come to their usual replica, some roam; some vanish instead of leaving. */
const HOME_SHARE = 0.7
const VANISH_SHARE = 0.1
/** After its replica died, a client redials within this time. */
const RETURN_MIN_MS = 100
const RETURN_MAX_MS = 2_000
/** Of the clients of a paused replica, this share loses patience and moves. */
const MOVE_SHARE = 0.3

interface Person {
  readonly user: string
  /** Topics in which the trace says he is now. */
  readonly wants: Map<string, Span | undefined>
  /** The replica of his connection; −1 when he has none. */
  replica: number
  connectSeq: number
}

interface Pending {
  readonly person: Person
  readonly replica: number
  readonly connectSeq: number
  /** What it begins, and what it ends, when it is done. */
  readonly begins: Span | undefined
  readonly ends: readonly Span[]
}

/**
 * The clients of a simulation. Follows the trace and the faults as real clients would, one connection each, and writes into the ledger
 * what it told whom. Operations to be sent collect in `outbox`, per replica.
 */
export class Crowd {
  readonly outbox: Op[][]
  readonly #ledger: Ledger
  readonly #random: Random
  readonly #seed: number
  readonly #people = new Map<string, Person>()
  readonly #available: boolean[]
  readonly #pending = new Map<number, Pending>()
  #returns: { readonly atMs: number; readonly person: Person; readonly connectSeq: number }[] = []
  #nextSeq = 1
  /** Connections that ended though neither the trace nor a fault ended them: why, and how often. */
  readonly surprises = new Map<string, number>()

  constructor({ seed, replicas, ledger }: CrowdOptions) {
    this.#ledger = ledger
    this.#seed = seed
    this.#random = createRandom(`crowd/${seed}`)
    this.outbox = Array.from({ length: replicas }, () => [])
    this.#available = Array.from({ length: replicas }, () => false)
  }

  get present(): number {
    let present = 0
    for (const person of this.#people.values()) {
      present += person.wants.size
    }
    return present
  }

  /** Users with an open connection. */
  connectedUsers(): string[] {
    return [...this.#people.values()].filter(person => person.replica >= 0).map(person => person.user)
  }

  /** The users whose connection a replica holds. */
  usersOn(replica: number): string[] {
    return [...this.#people.values()].filter(person => person.replica === replica).map(person => person.user)
  }

  /** −1 while he has no connection. */
  replicaOf(user: string): number {
    return this.#people.get(user)?.replica ?? -1
  }

  /** Where the trace says he is. */
  topicsOf(user: string): string[] {
    return [...(this.#people.get(user)?.wants.keys() ?? [])]
  }

  /** One line of the trace. */
  follow({ topic, user, kind }: Pick<TraceEvent, 'topic' | 'user' | 'kind'>, nowMs: number): void {
    const person = this.#person(user)
    if (kind === 'join' && !person.wants.has(topic)) {
      person.wants.set(topic, undefined)
      if (person.replica >= 0) {
        this.#track(person, topic, nowMs)
      } else if (person.connectSeq === 0) {
        this.#connect(person, nowMs)
      }
    } else if (kind === 'leave' && person.wants.has(topic)) {
      this.#leave(person, topic, nowMs)
    }
  }

  /** Clients whose time to redial has come. */
  tick(nowMs: number): void {
    const due = this.#returns.filter(({ atMs }) => atMs <= nowMs)
    if (due.length > 0) {
      this.#returns = this.#returns.filter(({ atMs }) => atMs > nowMs)
    }
    for (const { person, connectSeq } of due) {
      if (person.connectSeq !== connectSeq) {
        continue
      }
      if (person.wants.size > 0) {
        this.#move(person, nowMs)
      } else {
        person.connectSeq = 0
      }
    }
  }

  /** Whether clients can connect to it. */
  setAvailable(replica: number, available: boolean): void {
    this.#available[replica] = available
  }

  /** Its process is gone, and all its sockets. */
  replicaDied(replica: number, nowMs: number): void {
    this.#available[replica] = false
    this.outbox[replica] = []
    for (const person of this.#people.values()) {
      if (person.replica === replica) {
        this.#endSpans(person, 'died', nowMs, nowMs)
        this.#hangUp(person, nowMs)
      }
    }
    for (const [seq, pending] of this.#pending) {
      if (pending.replica === replica) {
        this.#pending.delete(seq)
        finish(pending.ends, nowMs)
      }
    }
  }

  /** It does not answer: some of its clients go elsewhere. */
  replicaPaused(replica: number, nowMs: number): void {
    this.#available[replica] = false
    for (const person of this.#people.values()) {
      if (person.replica === replica && this.#random.nextFloat() < MOVE_SHARE) {
        this.#returns.push({ atMs: nowMs + 500 + this.#random.nextFloat() * 2_000, person, connectSeq: person.connectSeq })
      }
    }
  }

  /** What a worker has done, could not do, or saw end. */
  heard(events: WorkerEvents, nowMs: number): void {
    for (const [index, seq] of events.didSeqs.entries()) {
      const pending = this.#pending.get(seq)
      const atMs = events.didAtMs[index] as number
      this.#pending.delete(seq)
      finish(pending?.ends ?? [], atMs)
      if (pending?.begins !== undefined) {
        pending.begins.heldMs = atMs
      }
    }
    for (const { seq, code } of events.failures) {
      const pending = this.#pending.get(seq)
      this.#pending.delete(seq)
      if (pending !== undefined && pending.person.connectSeq === pending.connectSeq) {
        this.#surprised(pending.person, code, nowMs)
      }
    }
    for (const { user, end, connectSeq, atMs } of events.ended) {
      const person = this.#people.get(user)
      if (person !== undefined && person.connectSeq === connectSeq && person.replica >= 0) {
        this.#surprised(person, end, atMs)
      }
    }
  }

  #surprised(person: Person, why: string, nowMs: number): void {
    this.surprises.set(why, (this.surprises.get(why) ?? 0) + 1)
    this.#endSpans(person, 'lost', nowMs, nowMs)
    this.#hangUp(person, nowMs)
  }

  #person(user: string): Person {
    let person = this.#people.get(user)
    if (person === undefined) {
      person = { user, wants: new Map(), replica: -1, connectSeq: 0 }
      this.#people.set(user, person)
    }
    return person
  }

  #leave(person: Person, topic: string, nowMs: number): void {
    const span = person.wants.get(topic)
    person.wants.delete(topic)
    if (person.replica < 0) {
      // He is away: what his last replica holds ends with its grace.
      return
    }
    const vanishes = person.wants.size === 0 && this.#random.nextFloat() < VANISH_SHARE
    if (span !== undefined) {
      span.endMs = nowMs
      span.how = vanishes ? 'lost' : 'left'
    }
    const ends = span === undefined ? [] : [span]
    if (person.wants.size > 0) {
      this.#send(person, 'untrack', nowMs, { ends, topic })
    } else {
      this.#send(person, vanishes ? 'lost' : 'close', nowMs, { ends })
      person.replica = -1
      person.connectSeq = 0
    }
  }

  #connect(person: Person, nowMs: number): void {
    const replica = this.#choose(person)
    if (replica < 0) {
      this.#hangUp(person, nowMs)
      return
    }
    person.replica = replica
    person.connectSeq = this.#nextSeq
    this.#send(person, 'connect', nowMs)
    for (const topic of person.wants.keys()) {
      this.#track(person, topic, nowMs)
    }
  }

  // The old replica sees the socket die when it runs again.
  #move(person: Person, nowMs: number): void {
    if (person.replica >= 0) {
      const ends = this.#endSpans(person, 'lost', nowMs, Number.POSITIVE_INFINITY)
      this.#send(person, 'lost', nowMs, { ends })
      person.replica = -1
    }
    this.#connect(person, nowMs)
  }

  #track(person: Person, topic: string, nowMs: number): void {
    const span = this.#ledger.open(placeOf(topic, person.user), person.replica, nowMs)
    person.wants.set(topic, span)
    this.#send(person, 'track', nowMs, { begins: span, topic })
  }

  #endSpans(person: Person, how: 'lost' | 'died', endMs: number, endedMs: number): Span[] {
    const spans = [...person.wants.values()].filter(span => span !== undefined && span.how === 'open') as Span[]
    for (const span of spans) {
      span.how = how
      span.endMs = endMs
      span.endedMs = endedMs
    }
    return spans
  }

  #hangUp(person: Person, nowMs: number): void {
    person.replica = -1
    // Not 0: he is between two connections, and joins wait for the next.
    person.connectSeq = this.#nextSeq++
    const waitMs = RETURN_MIN_MS + this.#random.nextFloat() * (RETURN_MAX_MS - RETURN_MIN_MS)
    this.#returns.push({ atMs: nowMs + waitMs, person, connectSeq: person.connectSeq })
  }

  #choose(person: Person): number {
    const available = this.#available.flatMap((is, replica) => (is ? [replica] : []))
    const home = createRandom(`${this.#seed}/${person.user}`).below(this.#available.length)
    if (this.#available[home] && this.#random.nextFloat() < HOME_SHARE) {
      return home
    }
    return available.length === 0 ? -1 : (available[this.#random.below(available.length)] as number)
  }

  #send(
    person: Person,
    kind: OpKind,
    atMs: number,
    { begins, ends = [], topic }: { readonly begins?: Span; readonly ends?: readonly Span[]; readonly topic?: string } = {}
  ): void {
    const seq = this.#nextSeq++
    const { user, replica, connectSeq } = person
    this.#pending.set(seq, { person, replica, connectSeq, begins, ends })
    this.outbox[replica]?.push({ seq, atMs, kind, user, ...(topic !== undefined && { topic }) })
  }
}

function finish(spans: readonly Span[], atMs: number): void {
  for (const span of spans) {
    span.endedMs = atMs
  }
}
