import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'

/** Waits for what can be seen. Fails after `patienceMs`, which is far more than it ever takes, so that no outcome depends on it. */
export async function until(what: string, condition: () => boolean, patienceMs = 20_000): Promise<void> {
  const endMs = performance.now() + patienceMs
  while (!condition()) {
    if (performance.now() > endMs) {
      expect.fail(`not within ${patienceMs} ms: ${what}`)
    }
    await sleep(5)
  }
}
