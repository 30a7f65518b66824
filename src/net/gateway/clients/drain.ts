import type { Registry } from './registry.ts'

const STEP_MS = 20
/** A timer may fire so much too early by another clock. */
const EARLY_MS = 1

/**
 * Says goodbye to all clients, evenly over at least `overMs`, and at most `perSecond`: client libraries come back within some ten ms, all at once otherwise.
 * However late timers fire, nobody is hurried for it. Newcomers meanwhile are sent on at the end.
 */
export async function drainClients(clients: Registry, overMs: number, perSecond: number, isStopped: () => boolean): Promise<void> {
  const durationMs = Math.max(overMs, (clients.size * 1_000) / perSecond)
  const perStep = clients.size / Math.max(1, Math.ceil(durationMs / STEP_MS))
  for (let step = 0; clients.size > 0 && !isStopped(); step++) {
    endSome(clients, Math.ceil((step + 1) * perStep) - Math.ceil(step * perStep))
    if (clients.size > 0) {
      await new Promise(resolve => setTimeout(resolve, STEP_MS + EARLY_MS))
    }
  }
}

function endSome(clients: Registry, count: number): void {
  let left = count
  for (const client of clients) {
    if (left-- <= 0) {
      break
    }
    client.end('draining')
  }
}
