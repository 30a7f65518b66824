import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DETECTOR_DEFAULTS } from '../src/tracker/membership/detector-defaults.ts'
import type { PhiOptions } from '../src/tracker/membership/phi-accrual.ts'
import type { BenchOptions, Row } from './harness.ts'
import { atMost } from './harness.ts'
import { type Curve, drawFigure } from './support/detection-figure.ts'
import { detect, type Outcome } from './support/detection-run.ts'
import { type LinkProfile, PROFILES } from './support/heartbeat-stream.ts'

export const name = 'detection'
export const description =
  'the failure detector: detection time against false alarms, on simulated LAN, WAN and lossy links; draws figures/detection.svg'

const { suspectPhi, downPhi, ...KNOBS } = DETECTOR_DEFAULTS
const DEFAULTS: PhiOptions = { ...KNOBS, firstEstimateMs: 1_000 }
/** The formula as it stands in the paper, with the smallest deviation that other implementations use by default. */
const NO_PATIENCE: PhiOptions = { ...DEFAULTS, acceptablePauseMs: 0, minDeviationMs: 100 }
const THRESHOLDS = [0.5, 1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 20, 24, 30]
const SHOWN = [1, suspectPhi, 4, 8, 12, downPhi, 20]
/** A replica in a cluster of five is watched by four. */
const OBSERVERS = 4
/** A verdict waits for the tracker's pulse. */
const PULSE_MS = 250
const COLOURS = ['#1b7f4d', '#1f5fbf', '#b5480a', '#8a2f8f']
const FIGURE = join(import.meta.dirname, 'figures', 'detection.svg')

export async function run({ quick }: BenchOptions): Promise<Row[]> {
  const hours = quick ? 200 : 4_000
  const patient = PROFILES.map(profile => outcomesOf(profile, DEFAULTS, hours))
  const impatient = PROFILES.map(profile => outcomesOf(profile, NO_PATIENCE, hours))
  if (!quick) {
    mkdirSync(dirname(FIGURE), { recursive: true })
    writeFileSync(FIGURE, drawing([...curves(patient, false), ...curves(impatient, true)], hours))
  }
  return [
    ...PROFILES.flatMap((profile, at) => defaultRows(profile, patient[at] as Outcome[])),
    ...PROFILES.flatMap((profile, at) => sweepRows(profile, patient[at] as Outcome[])),
    ...PROFILES.map((profile, at) => impatientRow(profile, impatient[at] as Outcome[]))
  ]
}

function outcomesOf(profile: LinkProfile, options: PhiOptions, hours: number): Outcome[] {
  return detect({ profile, options, hours, thresholds: THRESHOLDS, suspectPhi })
}

function at(outcomes: readonly Outcome[], threshold: number): Outcome {
  return outcomes.find(outcome => outcome.threshold === threshold) as Outcome
}

/** F1. On links that lose bursts of heartbeats the network itself is away: no bar there. */
function defaultRows(profile: LinkProfile, outcomes: readonly Outcome[]): Row[] {
  const [suspect, down] = [at(outcomes, suspectPhi), at(outcomes, downPhi)]
  const deaths = alarms(`${profile.name}, defaults: false deaths`, down)
  const suspectMs = latest(`${profile.name}, defaults: crash to suspect, latest`, suspect)
  const downMs = latest(`${profile.name}, defaults: crash to down, latest`, down)
  const barred = profile.name !== 'bursty'
  return [
    alarms(`${profile.name}, defaults: false suspicions`, suspect),
    barred ? { ...deaths, bar: '< 1', ok: deaths.value < 1 } : deaths,
    atMost(suspectMs, 6_000),
    atMost(downMs, 10_000)
  ]
}

function sweepRows(profile: LinkProfile, outcomes: readonly Outcome[]): Row[] {
  return SHOWN.flatMap(threshold => {
    const outcome = at(outcomes, threshold)
    const { mean, min, max } = outcome.detectionMs
    const mark = threshold === suspectPhi ? ' (suspect)' : threshold === downPhi ? ' (down)' : ''
    return [
      alarms(`${profile.name}, φ ${threshold}${mark}: false alarms`, outcome),
      { name: `${profile.name}, φ ${threshold}${mark}: crash to alarm, mean`, value: mean, unit: 'ms', spread: [min, max] }
    ]
  })
}

function impatientRow(profile: LinkProfile, outcomes: readonly Outcome[]): Row {
  return alarms(`${profile.name}, no acceptable pause, deviation ≥ 100 ms, φ 8: false alarms`, at(outcomes, 8))
}

function alarms(name: string, { falseAlarmsPerDay }: Outcome): Row {
  return { name, value: OBSERVERS * falseAlarmsPerDay, unit: 'per node-day' }
}

function latest(name: string, { detectionMs }: Outcome): Row {
  return { name, value: detectionMs.max + PULSE_MS, unit: 'ms' }
}

function curves(outcomes: readonly Outcome[][], dashed: boolean): Curve[] {
  return PROFILES.map((profile, index) => ({
    label: dashed ? `${profile.name}, no pause, σ ≥ 100 ms` : profile.name,
    colour: COLOURS[index] as string,
    dashed,
    named: !dashed && index === PROFILES.length - 1,
    outcomes: outcomes[index] as Outcome[]
  }))
}

function drawing(lines: readonly Curve[], hours: number): string {
  return drawFigure({
    title: `Detection time against false alarms, φ from ${THRESHOLDS[0]} to ${THRESHOLDS.at(-1)}, ${hours.toLocaleString('en')} peer-hours each`,
    curves: lines,
    marks: new Map([
      [suspectPhi, 'suspect'],
      [downPhi, 'down']
    ]),
    floorPerDay: 24 / hours
  })
}
