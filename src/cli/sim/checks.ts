import { type Ledger, placeOf } from './ledger.ts'
import type { Oracle } from './oracle.ts'
import type { WorkerSnapshot } from './worker-protocol.ts'

/** How a promise fared. */
export interface CheckResult {
  readonly name: string
  readonly ok: boolean
  /** How often it was looked at. */
  readonly looked: number
  readonly failures: number
  /** The first failures, in words. */
  readonly examples: readonly string[]
}

const EXAMPLES_MAX = 10

/** One promise, looked at many times. */
export class Check {
  readonly name: string
  #looked = 0
  #failures = 0
  readonly #examples: string[] = []

  constructor(name: string) {
    this.name = name
  }

  get failures(): number {
    return this.#failures
  }

  passed(times = 1): void {
    this.#looked += times
  }

  failed(example: string): void {
    this.#looked++
    this.#failures++
    if (this.#examples.length < EXAMPLES_MAX) {
      this.#examples.push(example)
    }
  }

  result(): CheckResult {
    return { name: this.name, ok: this.#failures === 0, looked: this.#looked, failures: this.#failures, examples: this.#examples }
  }
}

/** Compares what replicas list with what the oracle says, during the run and at its end. */
export class Checker {
  readonly ghosts = new Check('no ghost: nobody is listed who is not, or no longer, there')
  readonly losses = new Check('no loss: everybody is listed who is there, wherever nothing is broken')
  readonly folds = new Check('the diffs fold: applied one after the other they give what is listed, on every replica')
  readonly equal = new Check('after the faults, every replica lists exactly what the oracle says')
  readonly crashes = new Check('no replica crashed')
  readonly falseLeaves = new Check('no flicker: nobody is shown as leaving who is there, wherever nothing is broken')
  /** When driving began, for the examples. */
  startMs = 0
  readonly #ledger: Ledger
  readonly #oracle: Oracle
  readonly #name: (replica: number) => string

  constructor(ledger: Ledger, oracle: Oracle, name: (replica: number) => string) {
    this.#ledger = ledger
    this.#oracle = oracle
    this.#name = name
  }

  results(): CheckResult[] {
    return [this.ghosts, this.losses, this.folds, this.falseLeaves, this.crashes, this.equal].map(check => check.result())
  }

  /** During the run: what must be listed is, what must not is not. `when` is for the examples. */
  during(observer: number, snapshot: WorkerSnapshot, when: string): void {
    const listed = new Set(snapshot.topics.map((topic, index) => placeOf(topic, snapshot.keys[index] as string)))
    for (const place of listed) {
      if (this.#oracle.verdict(place, observer, snapshot.atMs) === 'never') {
        this.ghosts.failed(`${when}: ${this.#name(observer)} lists ${this.#show(place)}`)
      } else {
        this.ghosts.passed()
      }
    }
    if (listed.size < snapshot.topics.length) {
      this.ghosts.failed(`${when}: ${this.#name(observer)} lists ${snapshot.topics.length - listed.size} presences twice`)
    }
    for (const place of this.#ledger.spans.keys()) {
      if (this.#oracle.verdict(place, observer, snapshot.atMs) === 'must') {
        if (listed.has(place)) {
          this.losses.passed()
        } else {
          this.losses.failed(`${when}: ${this.#name(observer)} does not list ${this.#show(place)}`)
        }
      }
    }
    this.#fold(observer, snapshot, when)
  }

  /** Differences from the oracle after settling, in words; empty when equal. Records nothing. */
  differences(observer: number, snapshot: WorkerSnapshot, idOf: (replica: number) => string, users: readonly string[]): string[] {
    const found: string[] = []
    const expected = this.#oracle.expected()
    const left = new Map(expected)
    for (const [index, topic] of snapshot.topics.entries()) {
      const place = placeOf(topic, snapshot.keys[index] as string)
      const replica = expected.get(place)
      if (replica === undefined) {
        found.push(`${this.#name(observer)} lists ${this.#show(place)}, who is not there`)
      } else if (!left.has(place)) {
        found.push(`${this.#name(observer)} lists ${show(place)} twice`)
      } else if (snapshot.replicas[index] !== idOf(replica)) {
        found.push(`${this.#name(observer)} lists ${show(place)} on another replica than ${this.#name(replica)}`)
      } else if (snapshot.unknown[index]) {
        found.push(`${this.#name(observer)} lists ${show(place)} as unknown`)
      }
      left.delete(place)
    }
    for (const [place, replica] of left) {
      found.push(`${this.#name(observer)} does not list ${this.#show(place)}, who is on ${this.#name(replica)}`)
    }
    return [...found, ...compareUsers(this.#name(observer), snapshot.usersOnline, users)]
  }

  #show(place: string): string {
    return `${show(place)} (${this.#ledger.explain(place, this.startMs, this.#name)})`
  }

  #fold(observer: number, snapshot: WorkerSnapshot, when: string): void {
    if (snapshot.contradictions.length === 0) {
      this.folds.passed()
    }
    for (const contradiction of snapshot.contradictions) {
      this.folds.failed(`${when}: ${this.#name(observer)}: ${contradiction}`)
    }
  }
}

const show = (place: string): string => place.replace('\u0000', ': ')

function compareUsers(name: string, online: readonly string[], expected: readonly string[]): string[] {
  const has = new Set(online)
  const wants = new Set(expected)
  return [
    ...online.filter(user => !wants.has(user)).map(user => `${name} holds ${user} online, who is not connected`),
    ...expected.filter(user => !has.has(user)).map(user => `${name} does not hold ${user} online, who is connected`)
  ]
}
