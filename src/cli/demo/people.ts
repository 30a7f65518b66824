import { createRandom, type Random } from '../../tracker/environment.ts'
import type { TraceEvent } from '../sim/trace.ts'

const NAMES = 'ada ben cleo dev eva fay gil hana ivo jun kai lea mia nils ora pia quin rosa sam tara uma vito wei xan yara zoe'.split(' ')

/** The rooms, the most visited first. */
export const TOPICS = ['lobby', 'garden', 'kitchen', 'library'] as const

/** `ada` … `zoe`, then `ada2` and so on. */
export const personName = (index: number): string =>
  (NAMES[index % NAMES.length] as string) + (index < NAMES.length ? '' : String(Math.floor(index / NAMES.length) + 1))

type Step = Pick<TraceEvent, 'topic' | 'user' | 'kind'>

/** People who come, go, and walk between rooms; about two in three are there at any time. */
export class People {
  readonly #random: Random
  readonly #names: readonly string[]
  readonly #rooms = new Map<string, string>()

  constructor(users: number, seed: number) {
    this.#random = createRandom(`people/${seed}`)
    this.#names = Array.from({ length: users }, (_, index) => personName(index))
  }

  /** Two thirds of all come in. */
  arrive(): Step[] {
    return this.#names.filter((_, index) => index % 3 !== 2).map(user => this.#enter(user))
  }

  /** What somebody does next: comes in, goes home, or goes to another room. */
  step(): Step[] {
    const user = this.#names[this.#random.below(this.#names.length)] as string
    const room = this.#rooms.get(user)
    if (room === undefined) {
      return [this.#enter(user)]
    }
    if (this.#random.below(2) === 0) {
      this.#rooms.delete(user)
      return [{ topic: room, user, kind: 'leave' }]
    }
    const next = this.#enter(user)
    // Enters first: somebody who is in no room closes his connection.
    return next.topic === room ? [] : [next, { topic: room, user, kind: 'leave' }]
  }

  #enter(user: string): Step {
    const topic = TOPICS[Math.floor(TOPICS.length * this.#random.nextFloat() ** 1.5)] as string
    this.#rooms.set(user, topic)
    return { topic, user, kind: 'join' }
  }
}
