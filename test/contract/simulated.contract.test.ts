import { expect } from 'vitest'
import type { SimulatedTransport } from '../../src/net/simulated/simulated-transport.ts'
import { SimulatedNetwork } from '../../src/net/simulated-network.ts'
import { VirtualClock } from '../../src/testing/virtual-clock.ts'
import { VirtualProcess } from '../../src/testing/virtual-process.ts'
import { createRandom } from '../../src/tracker/environment.ts'
import { type TransportPair, transportContract } from './transport-contract.ts'

const PATIENCE_MS = 60_000

transportContract('simulated network', async () => {
  const clock = new VirtualClock()
  const random = createRandom('contract')
  const environment = {
    monotonicMs: () => clock.nowMs,
    wallClockMs: () => clock.nowMs,
    random: random.fork('network'),
    schedule: (delayMs: number, task: () => void) => clock.after(delayMs, task)
  }
  const network = new SimulatedNetwork({ environment })
  const processes = new Map<string, VirtualProcess>()
  const join = (id: string): SimulatedTransport => {
    const process = new VirtualProcess({ clock, random: random.fork(id), wallClockMs: 0 })
    processes.set(id, process)
    return network.join(id, id, process)
  }
  const [a, b] = [join('a'), join('b')]
  const pair: TransportPair = {
    a,
    b,
    async until(condition, what) {
      const endMs = clock.nowMs + PATIENCE_MS
      for (;;) {
        if (condition()) {
          return
        }
        // Promises of the transports settle between two steps, as they would between two turns of the event loop.
        await new Promise(setImmediate)
        if (!clock.step(endMs)) {
          break
        }
      }
      expect(condition(), what).toBe(true)
    },
    async settle() {
      const endMs = clock.nowMs + 500
      while (clock.step(endMs)) {
        await new Promise(setImmediate)
      }
    },
    cut: () => void network.breakLink('a', 'b'),
    stall() {
      const process = processes.get('b') as VirtualProcess
      process.pause()
      return () => process.resume()
    },
    kill: () => network.crash(b),
    async end() {
      await a.stop()
      await b.stop()
    }
  }
  return pair
})
