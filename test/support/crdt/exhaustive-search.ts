import type { Budget, DeltaInterval, PullRequest } from '../../../src/crdt/index.ts'
import { ref } from './builders.ts'
import { demand, Violation } from './invariants.ts'
import type { MakeMap, MapLimits } from './map-like.ts'
import { intervalText, show } from './notation.ts'
import { type Alphabet, modelOf, type OwnerOp, ownerHistories, showOps } from './owner-histories.ts'
import { REPAIR, Receivers } from './receiver-states.ts'

export interface SearchConfig extends Alphabet {
  /** Events that the owner makes. */
  readonly events: number
  /** Messages that are ever cut; each may then arrive anywhere, in any order, any number of times. */
  readonly messages: number
  readonly budgets: readonly (Budget | undefined)[]
  readonly limits: MapLimits
  /** Whether senders also send from any earlier head on, as one does who does not know what was lost. */
  readonly pushes: boolean
  /** Whether plain intervals between any two events are in flight too, as one makes who composes what he kept. */
  readonly composed: boolean
  /** Whether receivers take in lies and are repaired, at any time. */
  readonly repairs: boolean
}

export interface SearchCounts {
  histories: number
  states: number
  transitions: number
  /** Different states of one receiver, over all histories. */
  receiverStates: number
}

/** Four numbers of a state are packed into one: the set of messages, the owner's events so far, the two receivers' states. */
const EVENTS = 8
const RECEIVERS = 2 ** 13

/**
 * Walks every state that an owner and two receivers, each serving each, can reach, for every history of the owner: its
 * events happen at any time, any of the three cuts a message for any request, and every message ever cut stays in
 * flight for ever. What one receiver does on one message depends on that receiver's state only, so it is worked out
 * once, by replay, and then remembered.
 *
 * @param inspect is called after each history with the states that its receivers were found in
 * @throws Violation, with the history and the messages that lead there
 */
export function searchAll(make: MakeMap, config: SearchConfig, inspect: (receivers: Receivers) => void = () => {}): SearchCounts {
  const counts: SearchCounts = { histories: 0, states: 0, transitions: 0, receiverStates: 0 }
  for (const ops of ownerHistories(config.events, config)) {
    try {
      inspect(searchHistory(make, config, ops, counts))
    } catch (error) {
      throw error instanceof Violation ? new Violation(`${error.message}\nhistory: ${showOps(ops)}`) : error
    }
  }
  return counts
}

function searchHistory(make: MakeMap, config: SearchConfig, ops: readonly OwnerOp[], counts: SearchCounts): Receivers {
  const receivers = new Receivers(make, config.limits, modelOf(ops), ops)
  const sets = new MessageSets()
  const answers = new Answers(receivers, config)
  const seen = new Set<number>([0])
  let frontier = [0]
  while (frontier.length > 0) {
    const next: number[] = []
    const reach = (set: number, events: number, a: number, b: number): void => {
      counts.transitions++
      // R and X are alike: which of them is in which state makes no difference.
      const key = ((set * EVENTS + events) * RECEIVERS + Math.min(a, b)) * RECEIVERS + Math.max(a, b)
      if (!seen.has(key)) {
        seen.add(key)
        next.push(key)
      }
    }
    for (const key of frontier) {
      const b = key % RECEIVERS
      const a = Math.floor(key / RECEIVERS) % RECEIVERS
      const events = Math.floor(key / RECEIVERS ** 2) % EVENTS
      const set = Math.floor(key / RECEIVERS ** 2 / EVENTS)
      if (events < ops.length) {
        reach(set, events + 1, a, b)
      }
      const messages = sets.of(set)
      if (messages.length < config.messages) {
        for (const message of answers.all(events, a, b)) {
          if (!messages.includes(message)) {
            reach(sets.with(set, message), events, a, b)
          }
        }
      }
      for (const message of config.repairs ? [...messages, REPAIR] : messages) {
        reach(set, events, receivers.deliver(a, message), b)
        reach(set, events, a, receivers.deliver(b, message))
      }
    }
    frontier = next
  }
  counts.histories++
  counts.states += seen.size
  counts.receiverStates += receivers.count
  demand(receivers.count < RECEIVERS, 'the states fit their key', () => `${receivers.count}`)
  return receivers
}

/** Sets of message numbers, numbered themselves: 0 is the empty one. */
class MessageSets {
  readonly #sets: (readonly number[])[] = [[]]
  readonly #numbers = new Map<string, number>([['', 0]])
  readonly #next = new Map<number, number>()

  of(set: number): readonly number[] {
    return this.#sets[set]!
  }

  with(set: number, message: number): number {
    const step = set * 4096 + message
    let number = this.#next.get(step)
    if (number === undefined) {
      const messages = [...this.of(set), message].sort((x, y) => x - y)
      number = this.#numbers.get(messages.join()) ?? this.#sets.push(messages) - 1
      this.#numbers.set(messages.join(), number)
      this.#next.set(step, number)
    }
    return number
  }
}

/** What anyone may cut in a state, as message numbers. */
class Answers {
  readonly #receivers: Receivers
  readonly #config: SearchConfig
  readonly #all = new Map<number, readonly number[]>()
  readonly #served = new Map<string, string>()

  constructor(receivers: Receivers, config: SearchConfig) {
    this.#receivers = receivers
    this.#config = config
  }

  all(events: number, a: number, b: number): readonly number[] {
    const key = (events * RECEIVERS + a) * RECEIVERS + b
    let all = this.#all.get(key)
    if (all === undefined) {
      const requests = [this.#receivers.request(a), this.#receivers.request(b), ...this.#pushes(events)]
      all = [...new Set([...requests.flatMap(request => this.#cut(events, a, b, request)), ...this.#composed(events)])]
      this.#all.set(key, all)
    }
    return all
  }

  #pushes(events: number): PullRequest[] {
    const heads = this.#config.pushes ? Array.from({ length: events }, (_, head) => head) : []
    return heads.map(head => ({ replica: ref('O'), shard: 0, head, cursor: null }))
  }

  #composed(events: number): number[] {
    const starts = this.#config.composed ? Array.from({ length: events }, (_, from) => from) : []
    return starts.flatMap(from =>
      Array.from({ length: events - from }, (_, index) => this.#receivers.number(this.#receivers.model.interval(from, from + 1 + index)))
    )
  }

  #cut(events: number, a: number, b: number, request: PullRequest): number[] {
    const servers = [this.#receivers.owner(events), this.#receivers.map(a), this.#receivers.map(b)]
    return servers.flatMap(server =>
      this.#config.budgets.flatMap(budget => {
        const interval = server.serve(request, budget)
        if (interval === undefined) {
          return []
        }
        this.#checkAnswer(interval, server.record(ref('O'))!.head, budget)
        return this.#receivers.number(interval)
      })
    )
  }

  /** Minimal and whole, and the same whoever of those at this head answers from this point. */
  #checkAnswer(interval: DeltaInterval, head: number, budget: Budget | undefined): void {
    const { from, to, since, asOf } = interval
    const due = this.#receivers.model.interval(from, to, since, asOf)
    demand(
      intervalText(interval) === intervalText(due),
      'what is served is minimal and whole',
      () => `${show(interval)}, should be ${show(due)}`
    )
    demand(to > from || asOf > since, 'an empty interval is never served', () => show(interval))
    const point = JSON.stringify([head, from, since, budget])
    const other = this.#served.get(point) ?? show(interval)
    demand(other === show(interval), 'equal heads and points give equal answers', () => `${show(interval)} and ${other}`)
    this.#served.set(point, other)
  }
}
