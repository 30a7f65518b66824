import type { LinkConditions } from '../net/simulated/conditions.ts'
import type { Traffic } from '../net/simulated/traffic.ts'
import type { Wire } from '../net/simulated/wire.ts'
import type { SimulatedNetwork } from '../net/simulated-network.ts'
import type { Message, MessageType } from '../tracker/messages.ts'
import type { SimReplica } from './simulated-replica.ts'

/** What a script does to the network. All of it takes effect at once. */
export abstract class NetworkScript {
  /** For what has no method here. */
  abstract readonly network: SimulatedNetwork

  /** Stops all frames between two replicas, or from the first to the second. Links break only after their time-out. */
  cut(one: SimReplica, two: SimReplica, options: { oneWay?: boolean } = {}): void {
    this.network.cut(one.name, two.name, options)
  }

  /** Ends all cuts, slowness and holding by hand: everywhere, or between two replicas. What was stopped or held arrives. */
  heal(one?: SimReplica, two?: SimReplica): void {
    this.network.heal(one?.name, two?.name)
  }

  /** Both ways. */
  slow(one: SimReplica, two: SimReplica, conditions: LinkConditions): void {
    this.network.setConditions(one.name, two.name, conditions)
    this.network.setConditions(two.name, one.name, conditions)
  }

  /** Breaks the link between the two, which then dial again. What was on its way is lost. */
  breakLink(one: SimReplica, two: SimReplica): void {
    this.network.breakLink(one.name, two.name)
  }

  /** Frames from `from` to `to` wait until they are delivered by hand, `release` or `heal`. Default: all types. */
  hold(from: SimReplica, to: SimReplica, { types }: { types?: readonly MessageType[] } = {}): void {
    this.#wire(from, to).setHold(type => types?.includes(type) ?? true)
  }

  /** Ends the holding by hand, and nothing else. What is held still arrives, in order. */
  release(from: SimReplica, to: SimReplica): void {
    this.#wire(from, to).setHold(null)
  }

  /** What is held, oldest first. */
  held(from: SimReplica, to: SimReplica): readonly Message[] {
    return this.#wire(from, to).held.map(frame => frame.message)
  }

  /** A held frame arrives, over the present link if that which it was sent on is gone. False when there is none. */
  deliver(from: SimReplica, to: SimReplica, index: number): boolean {
    return this.#wire(from, to).takeHeld(index).arriveByHand()
  }

  /** A held frame is lost. */
  drop(from: SimReplica, to: SimReplica, index: number): void {
    this.#wire(from, to).takeHeld(index).settle()
  }

  /** A held frame arrives, and is still held. */
  duplicate(from: SimReplica, to: SimReplica, index: number): boolean {
    return this.#wire(from, to).heldFrame(index).arriveByHand()
  }

  /** Bytes sent from `from` to `to` so far, lost ones included; in detail: `traffic`. */
  bytes(from: SimReplica, to: SimReplica): number {
    return this.traffic(from, to).bytes
  }

  traffic(from: SimReplica, to: SimReplica): Traffic {
    return this.network.traffic(from.name, to.name)
  }

  #wire(from: SimReplica, to: SimReplica): Wire {
    return this.network.wire(from.name, to.name)
  }
}
