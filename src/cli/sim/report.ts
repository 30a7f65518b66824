import type { CheckResult } from './checks.ts'
import type { FaultRecord } from './fault-driver.ts'
import type { FaultKind } from './faults.ts'
import type { MeasuresSummary } from './measures.ts'
import type { RunNumbers } from './run-log.ts'
import type { Simulation, SimulationOptions } from './simulation.ts'

/** All detections of one kind of fault. */
export interface DetectionSummary {
  readonly kind: FaultKind
  readonly pairs: number
  /** In how many of them the other's presences stayed online: short faults need not be noticed, and who holds nobody cannot be seen to be gone. */
  readonly unnoticed: number
  readonly unknownMedianMs: number | null
  readonly unknownMaxMs: number | null
  readonly downMedianMs: number | null
  readonly downMaxMs: number | null
}

/** Everything a run has to tell: what `report.json` holds, and what the page is drawn from. */
export interface SimReport {
  readonly ok: boolean
  readonly startedAt: string
  readonly version: string
  readonly node: string
  readonly settings: {
    readonly replicas: number
    readonly trace: string
    readonly traceEvents: number
    readonly speed: number
    readonly seed: number
    readonly faults: readonly FaultKind[]
    readonly graceMs: number
  }
  readonly checks: readonly CheckResult[]
  readonly numbers: RunNumbers & {
    readonly operations: number
    readonly operationsPerSecondMean: number
    /** Wire bytes for each operation and each replica that had to learn of it. */
    readonly bytesPerOperationAndPeer: number
    /** Times that a process had no processor, or collected garbage, for over a quarter of a second; they excuse what a pause would. */
    readonly stalls: number
    readonly stalledSeconds: number
    readonly surprises: Readonly<Record<string, number>>
  }
  readonly measures: MeasuresSummary
  readonly detection: readonly DetectionSummary[]
  readonly faults: readonly { readonly label: string; readonly kind: FaultKind; readonly fromSeconds: number; readonly toSeconds: number }[]
}

/** What only the command knows. */
export interface ReportContext {
  readonly version: string
  readonly startedAt: Date
  readonly startMs: number
  readonly interrupted: boolean
}

/** Gathers what a finished run has to tell. */
export function makeReport(simulation: Simulation, options: SimulationOptions, context: ReportContext): SimReport {
  const checks = simulation.checker.results()
  const numbers = simulation.log.summary()
  const measures = simulation.measures.summary(simulation.driver.log, options.replicas)
  const { operations } = simulation
  return {
    ok: !context.interrupted && checks.every(check => check.ok),
    startedAt: context.startedAt.toISOString(),
    version: context.version,
    node: process.version,
    settings: {
      replicas: options.replicas,
      trace: options.trace.name,
      traceEvents: options.trace.events.length,
      speed: options.speed,
      seed: options.seed,
      faults: options.faults,
      graceMs: options.bounds.graceMs
    },
    checks,
    numbers: {
      ...numbers,
      operations,
      operationsPerSecondMean: operations / Math.max(0.001, numbers.droveSeconds),
      bytesPerOperationAndPeer: numbers.wireBytes / Math.max(1, operations * (options.replicas - 1)),
      stalls: simulation.ledger.stallCount,
      stalledSeconds: simulation.ledger.stallMs / 1_000,
      surprises: Object.fromEntries(simulation.crowd.surprises)
    },
    measures,
    detection: summarizeDetections(measures),
    faults: simulation.driver.log.map(record => faultLine(record, context.startMs))
  }
}

function faultLine({ label, fault, beganMs, endedMs }: FaultRecord, startMs: number): SimReport['faults'][number] {
  return { label, kind: fault.kind, fromSeconds: (beganMs - startMs) / 1_000, toSeconds: (endedMs - startMs) / 1_000 }
}

function summarizeDetections({ detections }: MeasuresSummary): DetectionSummary[] {
  const kinds = [...new Set(detections.map(detection => detection.kind))]
  return kinds.map(kind => {
    const ofKind = detections.filter(detection => detection.kind === kind)
    const unknowns = sorted(ofKind.map(detection => detection.unknownMs))
    const downs = sorted(ofKind.map(detection => detection.downMs))
    return {
      kind,
      pairs: ofKind.length,
      unnoticed: ofKind.length - unknowns.length,
      unknownMedianMs: middle(unknowns),
      unknownMaxMs: unknowns.at(-1) ?? null,
      downMedianMs: middle(downs),
      downMaxMs: downs.at(-1) ?? null
    }
  })
}

const sorted = (values: readonly (number | null)[]): number[] => values.filter(value => value !== null).sort((a, b) => a - b)
const middle = (values: readonly number[]): number | null => values[Math.floor((values.length - 1) / 2)] ?? null
