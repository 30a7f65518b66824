/**
 * Deterministic simulation of a fleet: real trackers, virtual time, a network that does what networks do. See docs/testing.md.
 *
 * @example
 * const sim = createSimulation({ seed: 1, replicas: 3 })
 * const [a, b] = sim.replicas
 * a.tracker.connect('user:42').track('room:1')
 * await sim.settle()
 * b.tracker.list('room:1')        // user:42 at a
 * sim.kill(a)
 * await sim.run(60_000)
 * sim.transitions(b)              // online, then offline
 *
 * @module
 */

export type { LinkConditions, LossMode } from '../net/simulated/conditions.ts'
export type { Latency } from '../net/simulated/latency.ts'
export type { Traffic } from '../net/simulated/traffic.ts'
export { SimulatedNetwork, type SimulatedNetworkOptions } from '../net/simulated-network.ts'
export { createRandom, type Environment, type Random } from '../tracker/environment.ts'
export { arbitraryFaultSchedule, arbitraryWorkload } from './arbitraries.ts'
export { Client, type ClientLink, type Wish } from './client.ts'
export { Clients, type ClientsOptions } from './clients.ts'
export type { SimObserver } from './engine.ts'
export { FaultInjector } from './fault-injector.ts'
export { type Fault, type FaultKind, type FaultSchedule, type FaultShape, randomFaultSchedule } from './faults.ts'
export { differences, presenceLine, TopicFold } from './fold.ts'
export { InvariantError } from './invariant-error.ts'
export { NotSettledError } from './not-settled-error.ts'
export { Oracle, type OracleOptions } from './oracle.ts'
export { randomScenario } from './random-scenario.ts'
export { type ExpectedPresence, type ReplayOptions, replay, type TraceEvent } from './replay.ts'
export { runScenario, type Scenario, type ScenarioResult, type ScenarioTimes } from './scenario.ts'
export { shrinkList } from './shrink.ts'
export { failureOf, kindOf, shrinkScenario } from './shrink-scenario.ts'
export type { SimReplica, SimReplicas, Transition } from './simulated-replica.ts'
export { createSimulation, type Simulation } from './simulation.ts'
export type { SimTrackerOptions, SimulationOptions, Topology } from './simulation-options.ts'
export { VirtualClock } from './virtual-clock.ts'
export { VirtualProcess, type VirtualProcessOptions } from './virtual-process.ts'
export { Watchers, type WatchersOptions } from './watchers.ts'
export { OP_KINDS, type OpKind, type OpWeights, randomWorkload, type Workload, type WorkloadOp, type WorkloadShape } from './workload.ts'
