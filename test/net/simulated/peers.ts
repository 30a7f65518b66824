import type { SimulatedTransport } from '../../../src/net/simulated/simulated-transport.ts'
import { SimulatedNetwork, type SimulatedNetworkOptions } from '../../../src/net/simulated-network.ts'
import { VirtualClock } from '../../../src/testing/virtual-clock.ts'
import { VirtualProcess } from '../../../src/testing/virtual-process.ts'
import { createRandom } from '../../../src/tracker/environment.ts'
import type { Message } from '../../../src/tracker/messages.ts'

/** A replica without a tracker: it writes down what its transport says. */
export interface Peer {
  readonly name: string
  readonly process: VirtualProcess
  readonly transport: SimulatedTransport
  /** `+b`, `-b closed`, `b: 7` for a bye with head 7, `b! 7` for a heartbeat with counter 7, `b drained`. */
  readonly log: string[]
}

export interface Peers {
  readonly clock: VirtualClock
  readonly network: SimulatedNetwork
  join(name: string, id?: string): Peer
  run(ms: number): void
}

export function setUp(options: Partial<SimulatedNetworkOptions> & { seed?: number } = {}): Peers {
  const { seed = 1, ...rest } = options
  const clock = new VirtualClock()
  const random = createRandom(seed)
  const network = new SimulatedNetwork({
    environment: {
      monotonicMs: () => clock.nowMs,
      wallClockMs: () => clock.nowMs,
      random: random.fork('network'),
      schedule: (delayMs, task) => clock.after(delayMs, task)
    },
    ...rest
  })
  return {
    clock,
    network,
    join(name, id = name) {
      const process = new VirtualProcess({ clock, random: random.fork(name), wallClockMs: 0 })
      const transport = network.join(name, id, process)
      const log: string[] = []
      void transport.start({
        connected: peer => log.push(`+${peer}`),
        disconnected: (peer, loss) => log.push(`-${peer} ${loss}`),
        received: (peer, message) => log.push(show(peer, message)),
        drained: peer => log.push(`${peer} drained`),
        invalid: (peer, error) => log.push(`${peer} invalid ${error.message}`)
      })
      return { name, process, transport, log }
    },
    run(ms) {
      const untilMs = clock.nowMs + ms
      while (clock.step(untilMs)) {}
    }
  }
}

/** A frame in the lane of state, with a number in it. */
export function bye(id: string, head: number): Message {
  return { type: 'bye', replica: { id, incarnation: 1 }, head, announce: false }
}

/** A frame in the lane of heartbeats. */
export function beat(id: string, counter: number): Message {
  const hash = { high: 0, low: 0 }
  return { type: 'heartbeat', replica: { id, incarnation: 1 }, counter, ageMs: 0, head: 0, hash, digestHash: 0, relayed: [] }
}

/** The numbers of state frames that came from `peer`. */
export function numbers(log: readonly string[], peer: string): number[] {
  return log.filter(line => line.startsWith(`${peer}: `)).map(line => Number(line.slice(peer.length + 2)))
}

function show(peer: string, message: Message): string {
  return message.type === 'bye' ? `${peer}: ${message.head}` : message.type === 'heartbeat' ? `${peer}! ${message.counter}` : message.type
}
