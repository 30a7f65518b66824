import type { ReplicaId } from '../../crdt/dot.ts'
import type { Cancel } from '../../tracker/environment.ts'
import type { Message } from '../../tracker/messages.ts'
import type { LinkLoss, Transport, TransportListener } from '../../tracker/transport.ts'
import type { SimulatedNetwork } from '../simulated-network.ts'
import { type Address, Dialler } from './dialler.ts'
import { LinkEnd } from './link-end.ts'

/** The process in which a transport lives: what arrives while it stands still waits, and is lost when it dies. */
export interface SimulatedHost {
  input(task: () => void): void
  schedule(delayMs: number, task: () => void): Cancel
}

/** A dial under way. Settled when a link came of it, or it was given up. */
interface Attempt {
  settled: boolean
  fail(refused: boolean): void
}

/** One replica's end of a simulated network. */
export class SimulatedTransport implements Transport {
  readonly self: ReplicaId
  readonly address: Address
  readonly network: SimulatedNetwork
  readonly host: SimulatedHost
  readonly #ends = new Map<ReplicaId, LinkEnd>()
  /** Accepted by the peer; the news of it is on its way. */
  readonly #announced = new Set<LinkEnd>()
  readonly #attempts = new Map<Address, Attempt>()
  readonly #dialler: Dialler
  #listener: TransportListener | undefined

  /** Made by `network.join`. */
  constructor(network: SimulatedNetwork, address: Address, self: ReplicaId, host: SimulatedHost, life: number) {
    this.network = network
    this.address = address
    this.self = self
    this.host = host
    this.#dialler = new Dialler({
      redial: network.redial,
      random: network.environment.random.fork(`dial/${address}/${life}`),
      schedule: (delayMs, task) => host.schedule(delayMs, task),
      dial: target => this.#dial(target)
    })
  }

  get maxFrameBytes(): number {
    return this.network.maxFrameBytes
  }

  get running(): boolean {
    return this.#listener !== undefined
  }

  async start(listener: TransportListener): Promise<void> {
    this.#listener = listener
    this.network.started(this)
    for (const address of this.network.neighbours(this.address)) {
      this.watch(address)
    }
  }

  async stop(): Promise<void> {
    this.#leave(end => end.close())
  }

  send(peer: ReplicaId, message: Message): boolean {
    return this.#ends.get(peer)?.send(message) ?? false
  }

  disconnect(peer: ReplicaId, _reason: string): void {
    const end = this.#ends.get(peer)
    if (end !== undefined) {
      end.close()
      this.host.schedule(0, () => this.lost(end, 'closed'))
    }
  }

  /** The open link to `peer`. */
  end(peer: ReplicaId): LinkEnd | undefined {
    const end = this.#ends.get(peer)
    return end?.open === true ? end : undefined
  }

  get ends(): Iterable<LinkEnd> {
    return this.#ends.values()
  }

  /** Another address is in reach: dial it until there is a link. */
  watch(address: Address): void {
    if (this.running) {
      this.#dialler.watch(address, 10)
    }
  }

  /** The process is gone, in mid-sentence. */
  crash(silent: boolean): void {
    this.#leave(end => end.die(silent))
  }

  received(end: LinkEnd, message: Message): void {
    this.#listener?.received(end.other.transport.self, message)
  }

  invalid(end: LinkEnd, error: Error): void {
    this.#listener?.invalid(end.other.transport.self, error)
  }

  drained(end: LinkEnd): void {
    this.host.input(() => {
      if (end.open) {
        this.#listener?.drained(end.other.transport.self)
      }
    })
  }

  lost(end: LinkEnd, loss: LinkLoss): void {
    const peer = end.other.transport
    if (this.#ends.get(peer.self) === end) {
      this.#ends.delete(peer.self)
      this.#dialler.lost(peer.address, this.network.environment.monotonicMs() - end.openedAtMs)
      this.#listener?.disconnected(peer.self, loss)
    }
  }

  #leave(end: (end: LinkEnd) => void): void {
    this.#listener = undefined
    this.network.stopped(this)
    this.#dialler.stop()
    for (const attempt of this.#attempts.values()) {
      attempt.settled = true
    }
    this.#attempts.clear()
    for (const known of [...this.#ends.values(), ...this.#announced]) {
      end(known)
    }
    this.#ends.clear()
    this.#announced.clear()
  }

  #dial(address: Address): void {
    const peer = this.network.idAt(address)
    const known = this.end(peer)
    if (known !== undefined) {
      // Another process proves the same id: this one's turn comes when that link is gone.
      if (known.other.transport.address !== address) {
        this.#dialler.failed(address)
      }
      return
    }
    const attempt: Attempt = { settled: false, fail: () => {} }
    const giveUp = this.host.schedule(this.network.dialTimeoutMs, () => attempt.fail(false))
    attempt.fail = refused => {
      giveUp()
      if (this.#settle(address, attempt) && this.end(peer) === undefined) {
        this.#dialler.failed(address)
        if (refused) {
          this.#listener?.disconnected(peer, 'refused')
        }
      }
    }
    this.#attempts.set(address, attempt)
    this.#knock(address, attempt)
  }

  #knock(address: Address, attempt: Attempt): void {
    const there = this.network.wire(this.address, address)
    const back = this.network.wire(address, this.address)
    there.control(() => {
      const target = this.network.listening(address)
      if (target !== undefined) {
        target.host.input(() => target.#accept(this, attempt, busy => back.control(() => this.host.input(() => attempt.fail(!busy)))))
      } else if (!this.network.isDark(address)) {
        back.control(() => this.host.input(() => attempt.fail(true)))
      }
    })
  }

  /** True for the first to settle it. */
  #settle(address: Address, attempt: Attempt): boolean {
    if (attempt.settled) {
      return false
    }
    attempt.settled = true
    this.#attempts.delete(address)
    return true
  }

  #accept(dialler: SimulatedTransport, attempt: Attempt, refuse: (busy: boolean) => void): void {
    if (!this.running) {
      refuse(false)
      return
    }
    if (attempt.settled) {
      return
    }
    const known = this.#ends.get(dialler.self)
    const mine = this.#attempts.get(dialler.address)
    // Both dial at once: the link that the lower id dials is the one that stays.
    if ((known?.open === true && known.other.open) || (mine !== undefined && this.self < dialler.self)) {
      refuse(true)
      return
    }
    if (mine !== undefined) {
      this.#settle(dialler.address, mine)
    }
    if (known !== undefined) {
      known.close()
      this.lost(known, 'closed')
    }
    const [here, there] = LinkEnd.pair(this, dialler)
    dialler.#announced.add(there)
    here.announce(() => dialler.#established(attempt, there))
    this.#opened(here)
  }

  #established(attempt: Attempt, end: LinkEnd): void {
    const peer = end.other.transport
    this.#announced.delete(end)
    if (!this.running || this.end(peer.self) !== undefined || !this.#settle(peer.address, attempt)) {
      end.close()
      return
    }
    this.#opened(end)
  }

  #opened(end: LinkEnd): void {
    const peer = end.other.transport
    this.#ends.set(peer.self, end)
    this.#dialler.linked(peer.address)
    this.#listener?.connected(peer.self)
  }
}
