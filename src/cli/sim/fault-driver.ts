import type { Crowd } from './crowd.ts'
import { describeFault, type Fault } from './faults.ts'
import { type Fleet, replicaName } from './fleet.ts'
import type { Disturbance, Ledger } from './ledger.ts'
import type { LinkMode } from './proxy.ts'
import { sharedNowMs } from './shared-clock.ts'

/** One fault as it was really done. Shared clock, in ms. */
export interface FaultRecord {
  readonly fault: Fault
  readonly label: string
  readonly beganMs: number
  /** When it was mended and, for a restart, the replica was ready. Infinity until then. */
  endedMs: number
}

type LinkFault = Extract<Fault, { groups: unknown }>

/** Does to the fleet what the schedule says, tells the crowd what its clients notice, and logs both for the oracle. */
export class FaultDriver {
  readonly log: FaultRecord[] = []
  readonly #fleet: Fleet
  readonly #crowd: Crowd
  readonly #ledger: Ledger
  readonly #linkFaults = new Set<LinkFault>()
  /** Per replica that is being started: what `ready` completes. */
  readonly #starting = new Map<number, () => void>()
  readonly #paused = new Set<number>()
  /** Replicas that a fault has its hands on, until they are ready again. */
  readonly #busy = new Set<number>()

  constructor(fleet: Fleet, crowd: Crowd, ledger: Ledger) {
    this.#fleet = fleet
    this.#crowd = crowd
    this.#ledger = ledger
  }

  isPaused(replica: number): boolean {
    return this.#paused.has(replica)
  }

  /** Whether a pause of the replica lies within, or around, that time. */
  wasPaused(replica: number, fromMs: number, toMs: number): boolean {
    return this.log.some(
      ({ fault, beganMs, endedMs }) => fault.kind === 'pause' && fault.replica === replica && beganMs < toMs && endedMs > fromMs
    )
  }

  /**
   * Begins the fault, waits `untilMs − atMs`, mends it. Resolves when it is mended; at once, with nothing done, when its replica has not
   * yet come back from the fault before.
   *
   * @throws CommandError when a replica cannot be started again.
   */
  async run(fault: Fault, wait: (ms: number) => Promise<void>): Promise<void> {
    if ('replica' in fault && this.#busy.has(fault.replica)) {
      return
    }
    const beganMs = sharedNowMs()
    const record: FaultRecord = { fault, label: describeFault(fault, replicaName), beganMs, endedMs: Number.POSITIVE_INFINITY }
    this.log.push(record)
    const disturbance =
      'replica' in fault
        ? this.#ledger.disturbReplica(record.label, fault.replica, beganMs, fault.kind !== 'pause')
        : this.#ledger.disturbLinks(record.label, fault.groups, beganMs)
    if ('replica' in fault) {
      this.#busy.add(fault.replica)
      await this.#disturbReplica(fault.kind, fault.replica, () => wait(fault.untilMs - fault.atMs))
      this.#busy.delete(fault.replica)
    } else {
      await this.#disturbLinks(fault, () => wait(fault.untilMs - fault.atMs))
    }
    this.#mended(record, disturbance)
  }

  /** A replica's process says that it is ready. */
  ready(replica: number): void {
    this.#crowd.setAvailable(replica, true)
    this.#starting.get(replica)?.()
    this.#starting.delete(replica)
  }

  #mended(record: FaultRecord, disturbance: Disturbance): void {
    record.endedMs = sharedNowMs()
    disturbance.untilMs = record.endedMs
  }

  async #disturbReplica(kind: 'kill' | 'stop' | 'pause', replica: number, wait: () => Promise<void>): Promise<void> {
    if (kind === 'pause') {
      this.#crowd.replicaPaused(replica, sharedNowMs())
      this.#paused.add(replica)
      this.#fleet.worker(replica)?.signal('SIGSTOP')
      await wait()
      this.#fleet.worker(replica)?.signal('SIGCONT')
      this.#paused.delete(replica)
      this.#crowd.setAvailable(replica, true)
      return
    }
    this.#crowd.replicaDied(replica, sharedNowMs())
    await (kind === 'kill' ? this.#fleet.killReplica(replica) : this.#fleet.stopReplica(replica, false))
    await wait()
    const ready = new Promise<void>(resolve => this.#starting.set(replica, resolve))
    await this.#fleet.startReplica(replica)
    await ready
  }

  async #disturbLinks(fault: LinkFault, wait: () => Promise<void>): Promise<void> {
    this.#linkFaults.add(fault)
    await this.#fleet.setLinks(fault.groups, fault.kind)
    await wait()
    this.#linkFaults.delete(fault)
    const [left, right] = fault.groups
    await Promise.all(left.flatMap(a => right.map(b => this.#fleet.setLinks([[a], [b]], this.#modeOf(a, b)))))
  }

  /** By the youngest of the faults that still lie on the link. */
  #modeOf(a: number, b: number): LinkMode {
    const covers = ({ groups: [left, right] }: LinkFault): boolean =>
      (left.includes(a) && right.includes(b)) || (left.includes(b) && right.includes(a))
    return [...this.#linkFaults].findLast(covers)?.kind ?? 'open'
  }
}
