import { describe, expect, it } from 'vitest'
import { diffText, stateText } from '../../../src/net/gateway/protocol/presence-json.ts'
import type { Presence } from '../../../src/tracker/types.ts'
import { presenceOf } from './fakes.ts'

const NOTHING = { joins: [], leaves: [], updates: [] }
const stateOf = (...presences: readonly Presence[]): unknown => JSON.parse(stateText(presences.map(presence => [presence.key, [presence]])))

describe('presence as JSON', () => {
  it('a state is keys with their metas, in the order given, each with its ref', () => {
    const old = presenceOf('ann', 'a', 0, { meta: { tab: 1 } })
    const young = presenceOf('ann', 'b', 0, { meta: { tab: 2 } })
    expect(JSON.parse(stateText(new Map([['ann', [old, young]]])))).toEqual({
      ann: {
        metas: [
          { tab: 1, phx_ref: old.ref },
          { tab: 2, phx_ref: young.ref }
        ]
      }
    })
    expect(stateText(new Map())).toBe('{}')
  })

  it('an empty meta has its ref alone', () => {
    expect(stateOf(presenceOf('ann'))).toEqual({ ann: { metas: [{ phx_ref: presenceOf('ann').ref }] } })
  })

  it('pub-F3: keys that name built-in properties are ordinary keys', () => {
    for (const key of ['__proto__', 'constructor', 'toString', '"', '\\', '\u2028', '\u0000', '😀']) {
      const state = stateOf(presenceOf(key)) as Record<string, unknown>
      expect(Object.getOwnPropertyNames(state)).toEqual([key])
      const diff = JSON.parse(diffText({ ...NOTHING, joins: [presenceOf(key)] }) ?? '')
      expect(Object.getOwnPropertyNames(diff.joins)).toEqual([key])
    }
    const meta = JSON.parse('{"__proto__":{"polluted":1},"toString":2}')
    const text = stateText([['ann', [presenceOf('ann', 'a', 0, { meta })]]])
    expect(text).toContain('"__proto__":{"polluted":1}')
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })

  it('a meta that names phx_ref or phx_ref_prev itself cannot pass for another presence; every name stands once', () => {
    const meta = { phx_ref: 'stolen', phx_ref_prev: 'stolen', n: 1 }
    const presence = presenceOf('mallory', 'm', 1, { meta })
    const state = stateText([['mallory', [presence]]])
    expect(state).toBe(`{"mallory":{"metas":[{"n":1,"phx_ref":"${presence.ref}"}]}}`)
    const prev = presenceOf('mallory', 'm', 0, { meta })
    const update = diffText({ ...NOTHING, updates: [{ prev, next: presence }] })
    expect(update).not.toContain('stolen')
    expect(JSON.parse(update ?? '').joins.mallory.metas).toEqual([{ n: 1, phx_ref: presence.ref, phx_ref_prev: prev.ref }])
    const only = presenceOf('mallory', 'm', 2, { meta: { phx_ref: 'stolen' } })
    expect(stateText([['mallory', [only]]])).toBe(`{"mallory":{"metas":[{"phx_ref":"${only.ref}"}]}}`)
  })

  it('an update is a join with phx_ref_prev and a leave, in one diff', () => {
    const prev = presenceOf('ann', 'a', 0, { meta: { n: 0 } })
    const next = presenceOf('ann', 'a', 1, { meta: { n: 1 } })
    expect(JSON.parse(diffText({ ...NOTHING, updates: [{ prev, next }] }) ?? '')).toEqual({
      joins: { ann: { metas: [{ n: 1, phx_ref: next.ref, phx_ref_prev: prev.ref }] } },
      leaves: { ann: { metas: [{ n: 0, phx_ref: prev.ref }] } }
    })
  })

  it('several metas of a key come together; a later join of the same presence carries no phx_ref_prev', () => {
    const one = presenceOf('ann', 'a')
    const two = presenceOf('ann', 'b')
    const diff = JSON.parse(diffText({ joins: [one, two], leaves: [{ presence: presenceOf('bob') }], updates: [] }) ?? '')
    expect(diff).toEqual({
      joins: { ann: { metas: [{ phx_ref: one.ref }, { phx_ref: two.ref }] } },
      leaves: { bob: { metas: [{ phx_ref: presenceOf('bob').ref }] } }
    })
  })

  it('nothing is told of a presence that is the same to clients: moved, doubted, or of another time', () => {
    const presence = presenceOf('ann')
    expect(diffText(NOTHING)).toBeUndefined()
    expect(diffText({ ...NOTHING, updates: [{ prev: presence, next: { ...presence, joinedAt: 5 } }] })).toBeUndefined()
  })
})
