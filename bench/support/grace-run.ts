import { DeadlineQueue } from '../../src/tracker/deadlines.ts'
import { heldBytes, timeMs } from '../harness.ts'
import type { Add } from './fleet.ts'

const GRACE_MS = 15_000
const SPREAD_MS = 10_000
const KEYS_PER_SLICE = 2_000

/** Everybody is lost within 10 s; every second one is back within grace; the others' grace ends. `order`: keys in random order. */
export function measureGrace(add: Add, order: Uint32Array): void {
  const count = order.length
  const before = heldBytes()
  const queue = new DeadlineQueue()
  const scheduleMs = timeMs(() => {
    for (let i = 0; i < count; i++) {
      queue.schedule(order[i] as number, (i / count) * SPREAD_MS + GRACE_MS)
    }
  })
  add('grace: schedule', (scheduleMs * 1e6) / count)
  add('grace: memory', (heldBytes() - before) / count)
  let cancelled = 0
  const cancelMs = timeMs(() => {
    for (let key = 0; key < count; key += 2) {
      cancelled += queue.cancel(key) ? 1 : 0
    }
  })
  add('grace: cancel', (cancelMs * 1e6) / cancelled)
  let [drained, drainMs, longestMs] = [0, 0, 0]
  for (let done = false; !done; ) {
    const ms = timeMs(() => {
      done = queue.drain(SPREAD_MS + GRACE_MS, KEYS_PER_SLICE, () => drained++)
    })
    drainMs += ms
    longestMs = Math.max(longestMs, ms)
  }
  if (drained !== count - cancelled) {
    throw new Error(`${drained} keys were due, expected were ${count - cancelled}: the bench measures something else than it says`)
  }
  add('grace: drain', (drainMs * 1e6) / drained)
  add('grace: longest slice', longestMs)
}
