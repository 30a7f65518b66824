import { setTimeout } from 'node:timers/promises'
import type { Registry } from './registry.ts'

const BATCHES_PER_SECOND = 10

/**
 * Says goodbye to all clients, evenly over at least `overMs`, and at most `perSecond`: client libraries come back within some ten ms, all at once otherwise.
 * Newcomers meanwhile are sent on at the end.
 */
export async function drainClients(clients: Registry, overMs: number, perSecond: number, isStopped: () => boolean): Promise<void> {
  const durationMs = Math.max(overMs, (clients.size * 1_000) / perSecond)
  const batches = Math.max(1, Math.ceil((durationMs * BATCHES_PER_SECOND) / 1_000))
  const batch = Math.max(1, Math.ceil(clients.size / batches))
  while (clients.size > 0 && !isStopped()) {
    let ended = 0
    for (const client of clients) {
      client.end('draining')
      if (++ended === batch) {
        break
      }
    }
    if (clients.size > 0) {
      await setTimeout(durationMs / batches)
    }
  }
}
