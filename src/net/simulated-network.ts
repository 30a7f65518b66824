import type { ReplicaId } from '../crdt/dot.ts'
import type { Environment } from '../tracker/environment.ts'
import type { Message } from '../tracker/messages.ts'
import { CALM, type LinkConditions, type ResolvedConditions, resolveConditions } from './simulated/conditions.ts'
import type { Address, RedialOptions } from './simulated/dialler.ts'
import type { Frame } from './simulated/frame.ts'
import type { LinkEnd } from './simulated/link-end.ts'
import { type SimulatedHost, SimulatedTransport } from './simulated/simulated-transport.ts'
import { type Traffic, TrafficCount } from './simulated/traffic.ts'
import { Wire } from './simulated/wire.ts'

/** A frame that was read. */
export interface Delivery {
  readonly from: Address
  readonly to: Address
  readonly message: Message
  readonly bytes: Uint8Array
}

export interface SimulatedNetworkOptions {
  /** Time and randomness of the network itself: virtual in tests, the system's in a demo. */
  readonly environment: Environment
  /** Every direction begins with these. Default: 1 ms, nothing lost. */
  readonly conditions?: LinkConditions
  /** Whether two addresses know each other; called with both orders. Default: everybody. */
  readonly topology?: (one: Address, two: Address) => boolean
  /** Default 65,536. */
  readonly maxFrameBytes?: number
  /** Per link and direction: what may be sent and not yet read. Default 262,144. */
  readonly sendBufferBytes?: number
  /** Who sends into silence gives the link up after so long. Default 15,000 ms. */
  readonly linkTimeoutMs?: number
  /** Default 5,000 ms. */
  readonly dialTimeoutMs?: number
  readonly redial?: Partial<RedialOptions>
  /** Told of every frame that is read, before its listener. */
  readonly onDelivered?: (delivery: Delivery) => void
}

/**
 * A network in memory for any number of replicas: links that open, break and are dialled again, with latency, loss, duplication,
 * reordering, partitions in one direction or both, and limited capacity. Every message goes through the real codec.
 *
 * All that happens follows from the environment's time and generator: the same seed gives the same run.
 */
export class SimulatedNetwork {
  readonly environment: Environment
  readonly maxFrameBytes: number
  readonly sendBufferBytes: number
  readonly linkTimeoutMs: number
  readonly dialTimeoutMs: number
  readonly redial: RedialOptions
  readonly #conditions: ResolvedConditions
  readonly #topology: (one: Address, two: Address) => boolean
  readonly #onDelivered: (delivery: Delivery) => void
  readonly #wires = new Map<string, Wire>()
  readonly #traffic = new Map<string, TrafficCount>()
  readonly #joined = new Map<Address, SimulatedTransport>()
  readonly #listening = new Map<Address, SimulatedTransport>()
  readonly #dark = new Set<Address>()
  readonly #ends = new Set<LinkEnd>()
  #lives = 0

  constructor(options: SimulatedNetworkOptions) {
    this.environment = options.environment
    this.maxFrameBytes = options.maxFrameBytes ?? 65_536
    this.sendBufferBytes = options.sendBufferBytes ?? 262_144
    this.linkTimeoutMs = options.linkTimeoutMs ?? 15_000
    this.dialTimeoutMs = options.dialTimeoutMs ?? 5_000
    this.redial = { initialMs: 100, maxMs: 1_000, resetAfterMs: 5_000, ...options.redial }
    this.#conditions = resolveConditions(options.conditions ?? {}, CALM)
    this.#topology = options.topology ?? (() => true)
    this.#onDelivered = options.onDelivered ?? (() => {})
  }

  /** The transport of a process that lives at `address` and proves `id`. Without `host` it never stands still. */
  join(address: Address, id: ReplicaId, host?: SimulatedHost): SimulatedTransport {
    const transport = new SimulatedTransport(this, address, id, host ?? this.#plainHost(), this.#lives++)
    this.#joined.set(address, transport)
    return transport
  }

  /** The process of `transport` dies. Its peers are told by their systems, or not at all when its machine dies with it. */
  crash(transport: SimulatedTransport, { silent = false }: { silent?: boolean } = {}): void {
    transport.crash(silent)
    if (silent) {
      this.#dark.add(transport.address)
    }
  }

  /** Cuts from `one` to `two`, and back unless `oneWay`. */
  cut(one: Address, two: Address, { oneWay = false }: { oneWay?: boolean } = {}): void {
    this.setCut(one, two, true)
    if (!oneWay) {
      this.setCut(two, one, true)
    }
  }

  /** Cuts or mends one direction, and leaves all else as it is. */
  setCut(one: Address, two: Address, cut: boolean): void {
    this.wire(one, two).setCut(cut)
  }

  /** Ends what `cut`, `setConditions` and `hold` did: between two addresses, or everywhere. */
  heal(one?: Address, two?: Address): void {
    const wires = one === undefined || two === undefined ? this.#wires.values() : [this.wire(one, two), this.wire(two, one)]
    for (const wire of wires) {
      wire.setConditions(this.#conditions)
      wire.setHold(null)
      wire.setCut(false)
    }
  }

  /** Breaks the link between two addresses now. Both dial again. */
  breakLink(one: Address, two: Address): boolean {
    const end = this.#endBetween(one, two)
    end?.break()
    return end !== undefined
  }

  /** From `one` to `two` only; what is not given is as it was when the network was made. */
  setConditions(one: Address, two: Address, conditions: LinkConditions): void {
    const plain = Object.keys(conditions).length === 0
    this.wire(one, two).setConditions(plain ? this.#conditions : resolveConditions(conditions, this.#conditions))
  }

  /** Both ends are open, and frames pass both ways. */
  connected(one: Address, two: Address): boolean {
    return this.#endBetween(one, two) !== undefined && this.passable(one, two)
  }

  /** Both directions are as the network was made: neither slow, nor lossy, nor held by hand. */
  calm(one: Address, two: Address): boolean {
    return [this.wire(one, two), this.wire(two, one)].every(wire => wire.conditions === this.#conditions && !wire.holding)
  }

  /** Nothing is cut between the two, and they know each other. */
  passable(one: Address, two: Address): boolean {
    return this.#topology(one, two) && !this.wire(one, two).cut && !this.wire(two, one).cut
  }

  /** Frames other than heartbeats that were sent and are not read yet. Those held by hand count. */
  get inFlight(): number {
    let frames = 0
    for (const end of this.#ends) {
      frames += end.unread
      if (!end.open && !end.other.open) {
        this.#ends.delete(end)
      }
    }
    return frames
  }

  /** What was sent from `one` to `two` since the network was made. */
  traffic(one: Address, two: Address): Traffic {
    return this.#count(one, two)
  }

  /** One direction. */
  wire(from: Address, to: Address): Wire {
    const name = `${from}>${to}`
    let wire = this.#wires.get(name)
    if (wire === undefined) {
      wire = new Wire(this.environment, this.environment.random.fork(`wire/${name}`), this.#conditions)
      this.#wires.set(name, wire)
    }
    return wire
  }

  neighbours(address: Address): Address[] {
    return [...this.#joined.keys()].filter(other => other !== address && this.#topology(address, other))
  }

  /** The id of whoever joined at `address` last. */
  idAt(address: Address): ReplicaId {
    return (this.#joined.get(address) as SimulatedTransport).self
  }

  listening(address: Address): SimulatedTransport | undefined {
    return this.#listening.get(address)
  }

  /** No machine answers there: dials are not even refused. */
  isDark(address: Address): boolean {
    return this.#dark.has(address)
  }

  started(transport: SimulatedTransport): void {
    this.#listening.set(transport.address, transport)
    this.#dark.delete(transport.address)
    for (const address of this.neighbours(transport.address)) {
      this.#listening.get(address)?.watch(transport.address)
    }
  }

  stopped(transport: SimulatedTransport): void {
    if (this.#listening.get(transport.address) === transport) {
      this.#listening.delete(transport.address)
    }
  }

  opened(end: LinkEnd): void {
    this.#ends.add(end)
  }

  sent(from: LinkEnd, frame: Frame): void {
    this.#count(from.transport.address, from.other.transport.address).add(frame.type, frame.size)
  }

  delivered(frame: Frame, to: LinkEnd, message: Message): void {
    this.#onDelivered({ from: frame.from.transport.address, to: to.transport.address, message, bytes: frame.bytes })
  }

  #endBetween(one: Address, two: Address): LinkEnd | undefined {
    const there = this.#listening.get(two)
    const end = there === undefined ? undefined : this.#listening.get(one)?.end(there.self)
    return end?.other.open === true && end.other.transport === there ? end : undefined
  }

  #count(one: Address, two: Address): TrafficCount {
    const name = `${one}>${two}`
    let count = this.#traffic.get(name)
    if (count === undefined) {
      count = new TrafficCount()
      this.#traffic.set(name, count)
    }
    return count
  }

  #plainHost(): SimulatedHost {
    return { input: task => task(), schedule: (delayMs, task) => this.environment.schedule(delayMs, task) }
  }
}
