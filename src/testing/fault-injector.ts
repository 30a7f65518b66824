import type { Fault, FaultSchedule } from './faults.ts'
import type { SimReplica } from './simulated-replica.ts'
import type { Simulation } from './simulation.ts'

/** Applies a fault schedule. Faults overlap: a link is as bad as all that are in force make it. */
export class FaultInjector {
  readonly #sim: Simulation
  readonly #replicas: readonly SimReplica[]
  readonly #active = new Set<Fault>()
  readonly #stopping = new Set<SimReplica>()
  #ended = false

  /** Times count from now. */
  constructor(sim: Simulation, schedule: FaultSchedule) {
    this.#sim = sim
    this.#replicas = [...sim.replicas]
    for (const fault of schedule) {
      sim.schedule(fault.atMs, () => this.#begin(fault))
    }
  }

  /** Ends all faults now: everything is healed, who stands still goes on, who is dead is started. Later ones do not come. */
  end(): void {
    this.#ended = true
    for (const fault of [...this.#active]) {
      this.#undo(fault)
    }
    this.#sim.heal()
  }

  #begin(fault: Fault): void {
    if (this.#ended) {
      return
    }
    this.#active.add(fault)
    this.#apply(fault)
    this.#sim.schedule(fault.forMs, () => {
      if (this.#active.has(fault)) {
        this.#undo(fault)
      }
    })
  }

  #apply(fault: Fault): void {
    switch (fault.kind) {
      case 'cut':
      case 'split':
      case 'slow':
        this.#renewLinks()
        return
      case 'shuffle':
        this.#sim.hold(this.#at(fault.one), this.#at(fault.two))
        return
      case 'break':
        this.#sim.breakLink(this.#at(fault.one), this.#at(fault.two))
        return
      case 'pause':
        this.#sim.pause(this.#at(fault.replica))
        return
      case 'kill':
        this.#kill(fault)
        return
      case 'stop':
        this.#stop(fault)
        return
      case 'clock':
        this.#sim.shiftWallClock(this.#at(fault.replica), fault.byMs)
    }
  }

  #undo(fault: Fault): void {
    this.#active.delete(fault)
    if (fault.kind === 'pause') {
      const replica = this.#at(fault.replica)
      if (![...this.#active].some(other => other.kind === 'pause' && this.#at(other.replica) === replica)) {
        this.#sim.resume(replica)
      }
    } else if (fault.kind === 'shuffle') {
      this.#shuffle(this.#at(fault.one), this.#at(fault.two))
    } else if (fault.kind === 'kill' || fault.kind === 'stop') {
      this.#revive(this.#at(fault.replica), fault.kind === 'kill' && fault.newId)
    } else {
      this.#renewLinks()
    }
  }

  #shuffle(from: SimReplica, to: SimReplica): void {
    const { random } = this.#sim
    for (let held = this.#sim.held(from, to).length; held > 0; held = this.#sim.held(from, to).length) {
      const index = random.below(held)
      const draw = random.below(10)
      if (draw === 0) {
        this.#sim.drop(from, to, index)
      } else if (draw === 1) {
        this.#sim.duplicate(from, to, index)
      } else {
        this.#sim.deliver(from, to, index)
      }
    }
    this.#sim.release(from, to)
  }

  #kill(fault: Extract<Fault, { kind: 'kill' }>): void {
    const replica = this.#at(fault.replica)
    if (replica.state !== 'dead') {
      this.#sim.kill(replica, { silent: fault.silent })
    }
  }

  #stop(fault: Extract<Fault, { kind: 'stop' }>): void {
    const replica = this.#at(fault.replica)
    if (replica.state !== 'running' || this.#stopping.has(replica)) {
      return
    }
    this.#stopping.add(replica)
    const { tracker } = replica
    this.#sim.request(replica, () => {
      void tracker.stop({ announce: fault.announce }).then(() => {
        this.#stopping.delete(replica)
        if (replica.tracker === tracker && replica.state !== 'dead') {
          this.#sim.end(replica)
        }
      })
    })
  }

  /** Unless another fault wants it dead still. */
  #revive(replica: SimReplica, newId: boolean): void {
    const wanted = [...this.#active].some(other => (other.kind === 'kill' || other.kind === 'stop') && this.#at(other.replica) === replica)
    if (!wanted && (replica.state === 'dead' || this.#stopping.has(replica))) {
      this.#stopping.delete(replica)
      this.#sim.restart(replica, { newId })
    }
  }

  #renewLinks(): void {
    const { network } = this.#sim
    for (const [i, from] of this.#replicas.entries()) {
      for (const [j, to] of this.#replicas.entries()) {
        if (i !== j) {
          const faults = [...this.#active].filter(fault => this.#concerns(fault, i, j))
          const slow = faults.findLast(fault => fault.kind === 'slow')
          network.setConditions(from.name, to.name, slow?.conditions ?? {})
          network.setCut(
            from.name,
            to.name,
            faults.some(fault => fault.kind !== 'slow')
          )
        }
      }
    }
  }

  #concerns(fault: Fault, i: number, j: number): boolean {
    const count = this.#replicas.length
    if (fault.kind === 'split') {
      return ((fault.group >> i) & 1) !== ((fault.group >> j) & 1)
    }
    if (fault.kind !== 'cut' && fault.kind !== 'slow') {
      return false
    }
    const [one, two] = [fault.one % count, fault.two % count]
    return (one === i && two === j) || (fault.kind === 'cut' && !fault.oneWay && one === j && two === i)
  }

  #at(index: number): SimReplica {
    return this.#replicas[index % this.#replicas.length] as SimReplica
  }
}
