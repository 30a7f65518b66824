import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type DeltaInterval, InvalidIntervalError, OrMap } from '../../src/crdt/index.ts'
import { owners, within } from '../support/crdt/arbitraries.ts'
import { SPOILERS, type Spoiler } from '../support/crdt/bad-intervals.ts'
import { ref } from '../support/crdt/builders.ts'
import { mapText } from '../support/crdt/fingerprint.ts'
import { LONG } from '../support/crdt/make-map.ts'
import type { OwnerModel } from '../support/crdt/owner-model.ts'

const RUNS = LONG ? 5_000 : 100

const numbers = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255))

/** Any lawful step of an owner: plain, whole or slice. */
function lawfulOf(model: OwnerModel, [a, b, c, d]: readonly number[]): DeltaInterval {
  const asOf = within(a!, 1, model.head)
  const from = within(b!, 0, asOf - 1)
  return model.interval(from, within(c!, from + 1, asOf), within(d!, from, asOf), asOf)
}

/** A map that holds something: complete, in transfer, with something parked, or under repair. */
function receiverOf(model: OwnerModel, [a, b]: readonly number[]): OrMap {
  const map = new OrMap({ self: ref('R'), logLimit: 5 })
  const head = within(a!, 1, model.head)
  map.merge(model.interval(0, within(b!, 1, head), head, head))
  if (head > 2) {
    map.merge(model.interval(head - 1, head))
  }
  if (b! % 5 === 0) {
    map.invalidate(model.ref)
  }
  return map
}

describe('map: an interval that no honest replica sends is refused and changes nothing', () => {
  it.each(Object.entries(SPOILERS))('%s', (_, spoil: Spoiler) => {
    let tried = 0
    const property = fc.property(owners(), numbers, numbers, fc.nat(10_000), (model, span, state, pick) => {
      const bad = spoil(lawfulOf(model, span), pick)
      fc.pre(bad !== undefined)
      tried++
      const map = receiverOf(model, state)
      const before = mapText(map)
      let refusal: unknown
      try {
        map.merge(bad[0] as DeltaInterval)
      } catch (error) {
        refusal = error
      }
      expect(refusal).toBeInstanceOf(InvalidIntervalError)
      expect(refusal).toMatchObject({
        name: 'InvalidIntervalError',
        code: 'ERR_INVALID_INTERVAL',
        field: expect.any(String),
        allowed: expect.any(String)
      })
      expect((refusal as Error).message.length).toBeLessThan(400)
      expect(mapText(map)).toBe(before)
    })
    fc.assert(property, { numRuns: RUNS, seed: 52, maxSkipsPerRun: 200 })
    expect(tried).toBeGreaterThanOrEqual(RUNS)
  })

  it('what was spoilt above is taken when it is left as it was', () => {
    const property = fc.property(owners(), numbers, numbers, (model, span, state) => {
      const { outcome } = receiverOf(model, state).merge(lawfulOf(model, span))
      expect(['applied', 'old', 'gap']).toContain(outcome)
    })
    fc.assert(property, { numRuns: RUNS * 5, seed: 52 })
  })

  it('nothing reaches Object.prototype', () => {
    expect('polluted' in {}).toBe(false)
    expect('kills' in {}).toBe(false)
  })

  it('an id that is a name of Object.prototype is an ordinary id', () => {
    for (const id of ['__proto__', 'constructor', 'toString']) {
      const [a, b] = [new OrMap({ self: ref(id) }), new OrMap({ self: ref('B') })]
      a.add({
        topic: '__proto__',
        key: id,
        user: id,
        session: 'ssssssssssssssss',
        connection: 1,
        meta: '{}',
        joinedAt: 1,
        revision: 0,
        epoch: 1,
        over: []
      })
      expect(b.record(a.self)).toBeUndefined()
      expect(b.merge(a.serve(b.request(a.self))!).added.map(({ key }) => key)).toEqual([id])
      expect(b.record(a.self)!.hash).toEqual(a.record(a.self)!.hash)
      expect(b.drop(a.self)).toBe(1)
    }
  })
})
