import { describe, expect, it } from 'vitest'
import { ref } from '../support/crdt/builders.ts'
import { type SearchConfig, searchAll } from '../support/crdt/exhaustive-search.ts'
import { LONG, makeOrMap, makeReference, makeWithout } from '../support/crdt/make-map.ts'
import type { Receivers } from '../support/crdt/receiver-states.ts'
import { RULES, type Rule } from '../support/crdt/rules.ts'

const BASE: Omit<SearchConfig, 'events' | 'messages' | 'limits'> = {
  updates: true,
  states: [1, 2, 3],
  budgets: [undefined, { adds: 1, marks: 1 }],
  pushes: true,
  composed: false,
  repairs: false
}

/** Seconds in all. */
const SMALL: readonly SearchConfig[] = [
  { ...BASE, events: 3, messages: 3, limits: { logLimit: 9 } },
  { ...BASE, events: 3, messages: 3, limits: { logLimit: 0, parkLimit: 1 } },
  { ...BASE, events: 3, messages: 3, limits: { logLimit: 1, parkLimit: 0 } },
  { ...BASE, events: 3, messages: 3, limits: { logLimit: 2 }, states: [3], repairs: true },
  { ...BASE, events: 3, messages: 2, limits: { logLimit: 9 }, composed: true, repairs: true },
  { ...BASE, events: 4, messages: 2, limits: { logLimit: 1 } },
  { ...BASE, events: 4, messages: 3, limits: { logLimit: 2 }, states: [3], pushes: false }
]

/** Minutes, and up to 4 GB. */
const LARGE: readonly SearchConfig[] = [0, 1, 2, 9].flatMap(logLimit => [
  { ...BASE, events: 4, messages: 3, limits: { logLimit } },
  { ...BASE, events: 4, messages: 4, limits: { logLimit, parkLimit: 1 }, states: [3], pushes: false },
  { ...BASE, events: 5, messages: 3, limits: { logLimit, parkLimit: 0 }, states: [3], pushes: false },
  { ...BASE, events: 4, messages: 3, limits: { logLimit }, composed: true, states: [3], pushes: false },
  { ...BASE, events: 3, messages: 4, limits: { logLimit }, repairs: true, states: [1, 3], pushes: false }
])

function titleOf({ events, messages, limits, states, pushes, composed, repairs }: SearchConfig): string {
  const what = [`states ${states.join()}`, pushes ? 'pushes' : 'pulls', composed && 'composed', repairs && 'repairs']
    .filter(Boolean)
    .join(', ')
  return `${events} events, ${messages} messages, log ${limits.logLimit}, parking ${limits.parkLimit ?? 4}, ${what}`
}

function searchAndReport(config: SearchConfig): void {
  const startMs = performance.now()
  const { histories, states, transitions, receiverStates } = searchAll(makeOrMap, config)
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1)
  console.log(
    `${titleOf(config)}: ${histories} histories, ${states} states (${receiverStates} of one receiver), ${transitions} transitions, ${seconds} s`
  )
  expect(states).toBeGreaterThan(histories * 100)
}

describe('map: an owner and two receivers, each serving each, everything in flight for ever', () => {
  it.each(SMALL.map(config => [titleOf(config), config] as const))('%s: every state keeps the invariants', (_, config) => {
    searchAndReport(config)
  })

  it.runIf(LONG).each(LARGE.map(config => [titleOf(config), config] as const))(
    '%s: every state keeps the invariants',
    (_, config) => {
      searchAndReport(config)
    },
    1_800_000
  )
})

/** Where a fault shows first, when not with the first configuration. */
const WHERE: Partial<Record<Rule, SearchConfig>> = {
  'the floor is the evicted event': { ...BASE, events: 3, messages: 2, limits: { logLimit: 1 } },
  'marks carry their event': { ...BASE, events: 4, messages: 2, limits: { logLimit: 9 }, states: [3] },
  'a plain cut hides no later mark': { ...BASE, events: 4, messages: 2, limits: { logLimit: 9 }, states: [3] },
  'a repair never goes back': { ...BASE, events: 3, messages: 3, limits: { logLimit: 9 }, states: [3], repairs: true },
  'a repair overwrites content': { ...BASE, events: 3, messages: 2, limits: { logLimit: 9 }, states: [1], repairs: true },
  'a repair sweeps with plain intervals too': {
    ...BASE,
    events: 3,
    messages: 2,
    limits: { logLimit: 9 },
    states: [3],
    composed: true,
    repairs: true
  },
  'a repair sweeps what is above': { ...BASE, events: 3, messages: 2, limits: { logLimit: 9 }, states: [3], repairs: true }
}

describe('search: what it can see', () => {
  const first: SearchConfig = { ...BASE, events: 3, messages: 3, limits: { logLimit: 9 } }

  it('finds nothing in the reference', () => {
    expect(searchAll(makeReference, first).states).toBeGreaterThan(10_000)
    expect(searchAll(makeReference, { ...first, messages: 2, states: [3], composed: true, repairs: true }).states).toBeGreaterThan(1000)
  })

  it.each(Object.keys(RULES) as Rule[])('finds a history that breaks the reference without the rule: %s', rule => {
    const search = (): unknown => searchAll(makeWithout(rule), WHERE[rule] ?? first)
    expect(search).toThrow(/history: /)
  })

  it('remembers of a receiver what a replay of its messages gives', () => {
    let walks = 0
    const replayed: (receivers: Receivers) => void = receivers => {
      for (let seed = 1; seed <= 10; seed++) {
        walks += walk(receivers, seed)
      }
    }
    searchAll(
      makeOrMap,
      { ...BASE, events: 4, messages: 2, limits: { logLimit: 2, parkLimit: 1 }, states: [1, 3], updates: false },
      replayed
    )
    expect(walks).toBe(29 * 10)
  })
})

/** Twelve messages in any order, with repetition: the remembered state is that of one map that merges them all. */
function walk(receivers: Receivers, seed: number): number {
  const map = makeOrMap(ref('R'), { logLimit: 2, parkLimit: 1 })
  let state = 0
  for (let step = 0; step < 12; step++) {
    const message = Math.imul(seed * 31 + step, 0x9e3779b1) >>> 8
    const number = message % receivers.messageCount
    state = receivers.deliver(state, number)
    map.merge(receivers.message(number))
    expect(receivers.describe(map)).toBe(receivers.describe(receivers.map(state)))
  }
  return 1
}
