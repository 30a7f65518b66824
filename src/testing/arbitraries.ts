import type { Arbitrary } from 'fast-check'
import { createRandom } from '../tracker/environment.ts'
import { type Fault, type FaultSchedule, type FaultShape, randomFaultSchedule } from './faults.ts'
import { OP_KINDS, type Workload, type WorkloadShape } from './workload.ts'

/** The module `fast-check`: given by the caller, so that this one does not depend on it. */
type FastCheck = Pick<typeof import('fast-check'), 'array' | 'constantFrom' | 'nat' | 'record'>

/**
 * Fault schedules that shrink: to fewer faults, earlier and shorter ones.
 *
 * @example
 * import fc from 'fast-check'
 * fc.asyncProperty(arbitraryFaultSchedule(fc, { durationMs: 30_000, faults: 8, replicas: 3 }), async faults => { … })
 */
export function arbitraryFaultSchedule(fc: FastCheck, { durationMs, faults, replicas }: FaultShape): Arbitrary<FaultSchedule> {
  const fault: Arbitrary<Fault> = fc
    .record({ atMs: fc.nat({ max: durationMs }), forMs: fc.nat({ max: 20_000 }), draw: fc.nat({ max: 0xffff_ffff }) })
    .map(({ atMs, forMs, draw }) => {
      const [drawn] = randomFaultSchedule(createRandom(draw), { durationMs: 1, faults: 1, replicas })
      return { ...(drawn as Fault), atMs, forMs }
    })
  return fc.array(fault, { maxLength: faults }).map(schedule => schedule.sort((a, b) => a.atMs - b.atMs))
}

/** Workloads that shrink to fewer operations. */
export function arbitraryWorkload(fc: FastCheck, { durationMs, clients, operations }: WorkloadShape): Arbitrary<Workload> {
  const op = fc.record({
    atMs: fc.nat({ max: durationMs }),
    client: fc.nat({ max: clients - 1 }),
    kind: fc.constantFrom(...OP_KINDS),
    topic: fc.nat({ max: 9 }),
    replica: fc.nat({ max: 9 })
  })
  return fc.array(op, { maxLength: operations }).map(ops => ops.sort((a, b) => a.atMs - b.atMs))
}
