import { OrMap } from '../../../src/crdt/index.ts'
import type { MakeMap } from './map-like.ts'
import { ReferenceMap } from './reference-map.ts'
import type { Rule } from './rules.ts'

/** Whether the long runs are wanted: ROLLCALL_LONG=1. */
export const LONG = process.env.ROLLCALL_LONG !== undefined

export const makeOrMap: MakeMap = (self, limits) => new OrMap({ self, ...limits })

export const makeReference: MakeMap = (self, limits) => new ReferenceMap(self, limits)

export function makeWithout(rule: Rule): MakeMap {
  return (self, limits) => new ReferenceMap(self, limits, [rule])
}
