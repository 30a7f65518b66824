import { expect, test } from 'vitest'
import { detect } from '../../bench/support/detection-run.ts'
import { PROFILES } from '../../bench/support/heartbeat-stream.ts'
import { DETECTOR_DEFAULTS } from '../../src/tracker/membership/detector-defaults.ts'

const { suspectPhi, downPhi, ...knobs } = DETECTOR_DEFAULTS
const PULSE_MS = 250

// The bench `detection` does the same for ten times as long, and draws the curve.
test.each(PROFILES.filter(({ name }) => name !== 'bursty'))(
  'F1: detector defaults, $name link for 400 peer-hours: no false death; a crash is suspect in 6 s and down in 10 s',
  profile => {
    const options = { ...knobs, firstEstimateMs: 1_000 }
    const outcomes = detect({ profile, options, suspectPhi, thresholds: [suspectPhi, downPhi], hours: 400 })
    const [suspect, down] = outcomes
    expect(down?.falseAlarmsPerDay).toBe(0)
    expect(suspect?.detectionMs.max).toBeLessThan(6_000 - PULSE_MS)
    expect(down?.detectionMs.max).toBeLessThan(10_000 - PULSE_MS)
    expect(suspect?.detectionMs.min).toBeGreaterThan(0)
  }
)
