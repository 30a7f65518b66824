import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { refKey, sameRef } from '../../src/crdt/index.ts'
import { type History, histories, runHistory } from '../support/crdt/history.ts'
import { LONG, makeOrMap, makeReference, makeWithout } from '../support/crdt/make-map.ts'
import { RULES, type Rule } from '../support/crdt/rules.ts'

const RUNS = LONG ? 100_000 : 1_000
const SEED = LONG ? Date.now() % 2 ** 31 : 4_711

/** Everything is asserted inside: `World` holds each answer and `Witness` each record against the owner's events. */
describe('map: a plain list of all events agrees with every replica at every step', () => {
  it('records, states, logs, hashes, and the entries that the results of the merges fold to', () => {
    const property = fc.property(histories(), history => {
      runHistory(makeOrMap, history, world => {
        for (const { witnesses } of world.processes) {
          for (const witness of witnesses.values()) {
            witness.check()
          }
        }
      })
    })
    fc.assert(property, { numRuns: RUNS / 2, seed: SEED })
  }, 1_800_000)

  it('without parking and repairs: every record is the pointwise maximum of what it was told, incomplete ones too', () => {
    fc.assert(
      fc.property(histories({ parkLimits: [0], repairs: false }), history => {
        runHistory(makeOrMap, history)
      }),
      { numRuns: RUNS, seed: SEED }
    )
  }, 1_800_000)

  it('long histories', () => {
    let longest = 0
    fc.assert(
      fc.property(histories({ commandsMax: 600 }), history => {
        longest = Math.max(longest, runHistory(makeOrMap, history).counts.events)
      }),
      { numRuns: RUNS / 10, seed: SEED }
    )
    expect(longest).toBeGreaterThan(60)
  }, 1_800_000)

  it('I4: in the end everyone shows of an owner what it shows of itself', () => {
    const property = fc.property(histories(), history => {
      const world = runHistory(makeOrMap, history)
      for (const owner of world.processes) {
        const shown = world.processes.map(({ map }) =>
          [...map.entries(owner.map.self)].map(({ counter, state }) => `${counter}:${state}`).join()
        )
        expect(new Set(shown).size).toBe(1)
        const heads = world.processes.map(({ map }) => map.record(owner.map.self)?.head ?? 0)
        expect(new Set(heads).size).toBe(1)
      }
    })
    fc.assert(property, { numRuns: RUNS / 2, seed: SEED })
  })

  it('nobody but its owner changes a record: one who merges about itself changes nothing', () => {
    const property = fc.property(histories(), history => {
      const world = runHistory(makeOrMap, history)
      for (const process of world.processes) {
        const { self } = process.map
        const others = world.processes.filter(other => other !== process && other.map.record(self)?.complete === true)
        for (const other of others) {
          const before = JSON.stringify([process.map.record(self)?.head, process.map.record(self)?.hash])
          const about = other.map.serve({ replica: self, shard: 0, head: 0, cursor: null })
          if (about !== undefined) {
            expect(process.map.merge(about).outcome).toBe('own')
          }
          expect(JSON.stringify([process.map.record(self)?.head, process.map.record(self)?.hash])).toBe(before)
          expect(sameRef(process.map.self, self), refKey(self)).toBe(true)
        }
      }
    })
    fc.assert(property, { numRuns: RUNS / 5, seed: SEED })
  })
})

/** Rare faults need more histories: they concern repairs of repairs. */
const RARE: Partial<Record<Rule, number>> = { 'a repair sweeps what is above': 100_000 }

describe('random search: what it can see', () => {
  const search = (run: (history: History) => void, numRuns: number): fc.RunDetails<[History]> =>
    fc.check(fc.property(histories(), run), { numRuns, seed: SEED, endOnFailure: true })

  it('finds nothing in the reference', () => {
    const details = search(history => {
      runHistory(makeReference, history)
    }, 1000)
    expect(details.failed, fc.defaultReportMessage(details)).toBe(false)
  })

  it.each(Object.keys(RULES) as Rule[])('finds a history that breaks the reference without the rule: %s', rule => {
    const details = search(history => {
      runHistory(makeWithout(rule), history)
    }, RARE[rule] ?? 20_000)
    expect(details.failed).toBe(true)
    expect(String(details.errorInstance)).toMatch(/^Violation: /)
  })
})
