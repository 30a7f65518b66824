import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DETECTOR_DEFAULTS } from '../../src/tracker/membership/detector-defaults.ts'
import { logNormalTail } from '../../src/tracker/membership/normal-tail.ts'
import { MAX_PHI, PhiAccrualDetector, type PhiOptions, phi, silenceForPhi } from '../../src/tracker/membership/phi-accrual.ts'

const HEARTBEAT_MS = 1_000
const { suspectPhi, downPhi, ...KNOBS } = DETECTOR_DEFAULTS

/** A detector that has heard `beats` heartbeats, one each second, the last at 0 ms. */
function regular(beats: number, options: Partial<PhiOptions> = {}): PhiAccrualDetector {
  const detector = new PhiAccrualDetector({ ...KNOBS, firstEstimateMs: HEARTBEAT_MS, ...options })
  for (let beat = 1 - beats; beat <= 0; beat++) {
    detector.heartbeat(beat * HEARTBEAT_MS)
  }
  return detector
}

describe('normal tail', () => {
  test.each([
    // To 12 digits, from an evaluation with 50.
    [-8, -6.22096057427e-16],
    [-2.5, -0.00622902548586],
    [-1, -0.172753779023],
    [0, -Math.LN2],
    [1, -1.84102164501],
    [2.4999999, -5.081647995],
    [2.5, -5.08164827728],
    [3, -6.60772622151],
    [5, -15.064998394],
    [10, -53.2312851505],
    [38, -726.557216019],
    [100, -5005.52420869],
    [1e6, -500000000014.734]
  ])('ln(1 − F(%d)) is %d', (z, expected) => {
    expect(Math.abs(logNormalTail(z) / expected - 1)).toBeLessThan(5e-12)
  })
})

describe('phi', () => {
  test.each([
    [1_000, 0.301],
    [1_200, 0.7995],
    [1_400, 1.643],
    [2_000, 6.543],
    [10_000, 441.8]
  ])('mean 1,000, deviation 200, silent for %d ms: φ is %d', (silenceMs, expected) => {
    expect(phi(silenceMs, 1_000, 200)).toBeCloseTo(expected, expected > 100 ? 1 : 3)
  })

  test('a deviation of 0 is a step, from 0 to the maximum', () => {
    expect(phi(999, 1_000, 0)).toBe(0)
    expect(phi(1_001, 1_000, 0)).toBe(MAX_PHI)
    expect(phi(1_001, 1_000, -5)).toBe(MAX_PHI)
  })

  const anyNumber = fc.oneof(
    fc.double(),
    fc.double({ min: 0, max: 1e5 }),
    fc.constantFrom(0, -0, NaN, Infinity, -Infinity, 5e-324, 1.7e308)
  )

  test('INV-65: φ of whatever numbers is finite, from 0 to its maximum', () => {
    fc.assert(
      fc.property(anyNumber, anyNumber, anyNumber, (silenceMs, meanMs, deviationMs) => {
        const value = phi(silenceMs, meanMs, deviationMs)
        expect(value >= 0 && value <= MAX_PHI).toBe(true)
      }),
      { numRuns: 20_000 }
    )
  })

  test('INV-65: φ never falls as the silence grows, be it by the smallest step there is', () => {
    const silence = fc.double({ min: -1e4, max: 1e5, noNaN: true })
    const step = fc.oneof(fc.double({ min: 0, max: 1e5, noNaN: true }), fc.double({ min: 0, max: 1e-3, noNaN: true }), fc.constant(0))
    const deviation = fc.double({ min: 1e-3, max: 1e4, noNaN: true })
    fc.assert(
      fc.property(silence, step, fc.double({ min: 0, max: 1e4, noNaN: true }), deviation, (silenceMs, stepMs, meanMs, deviationMs) => {
        const later = stepMs === 0 ? nextDouble(silenceMs) : silenceMs + stepMs
        expect(phi(later, meanMs, deviationMs)).toBeGreaterThanOrEqual(phi(silenceMs, meanMs, deviationMs))
      }),
      { numRuns: 50_000 }
    )
    fc.assert(
      fc.property(anyNumber, anyNumber, anyNumber, anyNumber, (one, other, meanMs, deviationMs) => {
        fc.pre(one <= other)
        expect(phi(other, meanMs, deviationMs)).toBeGreaterThanOrEqual(phi(one, meanMs, deviationMs))
      }),
      { numRuns: 20_000 }
    )
  })

  test('φ goes on growing where 1 − F has long been 0', () => {
    const values = [5, 10, 40, 100, 1_000, 10_000].map(seconds => phi(seconds * 1_000, 1_000, 100))
    expect(new Set(values).size).toBe(values.length)
    expect(values.at(-1)).toBeGreaterThan(1e8)
  })

  test('its inverse is the first silence at which φ reaches the threshold', () => {
    const threshold = fc.double({ min: 0.001, max: 1_000, noNaN: true })
    const ms = fc.double({ min: 1, max: 10_000, noNaN: true })
    fc.assert(
      fc.property(threshold, ms, ms, (wanted, meanMs, deviationMs) => {
        const silenceMs = silenceForPhi(wanted, meanMs, deviationMs)
        expect(phi(silenceMs, meanMs, deviationMs)).toBeGreaterThanOrEqual(wanted)
        expect(silenceMs === 0 || phi(silenceMs * (1 - 1e-12), meanMs, deviationMs) < wanted).toBe(true)
      }),
      { numRuns: 300 }
    )
    expect(silenceForPhi(0, 1_000, 200)).toBe(0)
    expect(silenceForPhi(2 * MAX_PHI, 1_000, 200)).toBe(Infinity)
    expect(silenceForPhi(NaN, 1_000, 200)).toBe(Infinity)
  })
})

describe('detector', () => {
  test('pub-B1: nothing heard yet is no suspicion; one heartbeat, then silence, is suspect as soon as after many', () => {
    const detector = new PhiAccrualDetector({ ...KNOBS, firstEstimateMs: HEARTBEAT_MS })
    expect(detector.phi(1e9)).toBe(0)
    detector.heartbeat(0)
    expect(detector.phi(1_000)).toBeLessThan(suspectPhi)
    expect(detector.phi(4_200)).toBeGreaterThanOrEqual(suspectPhi)
    expect(detector.phi(7_200)).toBeGreaterThanOrEqual(downPhi)
    expect(regular(200).silenceFor(suspectPhi)).toBeCloseTo(detector.silenceFor(suspectPhi), 6)
  })

  test('pub-B1: perfectly regular heartbeats have no deviation, and one that is 20 ms late makes nobody suspect', () => {
    const strict = regular(300, { acceptablePauseMs: 0, minDeviationMs: 100 })
    expect(strict.deviationMs).toBe(100)
    expect(strict.phi(1_020)).toBeLessThan(0.5)
    expect(regular(300).phi(1_020)).toBeLessThan(0.001)
  })

  test.each([1, 5, 300])(
    'pub-B1: after %d heartbeats an acceptable pause is up; the interval and four deviations later it is down',
    beats => {
      const detector = regular(beats, { acceptablePauseMs: 5_000, minDeviationMs: 100 })
      expect(detector.phi(5_000 - 1)).toBeLessThan(1)
      expect(detector.phi(5_000 + 1_000 + 4 * detector.deviationMs)).toBeGreaterThan(4)
    }
  )

  test('pub-B1 INV-65: whatever it hears, and whenever it is asked, φ is a number from 0 to its maximum', () => {
    const time = fc.oneof(fc.double({ min: 0, max: 1e6 }), fc.double(), fc.constantFrom(0, NaN, Infinity, -Infinity, 2 ** 53))
    const step = fc.record({ op: fc.constantFrom('heartbeat', 'unsampled', 'alive', 'phi'), time })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60, size: 'max' }), steps => {
        const detector = regular(1, { windowSize: 5 })
        for (const { op, time } of steps) {
          if (op === 'alive') {
            detector.alive(time)
          } else if (op !== 'phi') {
            detector.heartbeat(time, op === 'heartbeat')
          }
          expect(detector.phi(time) >= 0 && detector.phi(time) <= MAX_PHI).toBe(true)
          expect(detector.expectedMs > 0 && detector.deviationMs > 0).toBe(true)
        }
      }),
      { numRuns: 500 }
    )
  })

  test('pub-B2: with the defaults, a peer that stands still for 3 s is never down, wherever in the second it began', () => {
    for (let sinceBeatMs = 0; sinceBeatMs <= 1_100; sinceBeatMs += 50) {
      const detector = regular(300)
      expect(detector.phi(sinceBeatMs + 3_000 + 200)).toBeLessThan(downPhi)
      detector.heartbeat(sinceBeatMs + 3_000 + 200)
      expect(detector.phi(sinceBeatMs + 4_400)).toBeLessThan(suspectPhi)
    }
  })

  test('pub-B2: an acceptable pause of 0 would call it dead', () => {
    expect(regular(300, { acceptablePauseMs: 0, minDeviationMs: 100 }).phi(4_000)).toBeGreaterThan(downPhi)
  })

  test('F1: with the defaults, silence is suspect within 6 s and down within 10 s, also after 20 % loss and 200 ms jitter', () => {
    const lossy = regular(1)
    for (let beat = 1; beat <= 500; beat++) {
      if (beat % 5 !== 0) {
        lossy.heartbeat(beat * HEARTBEAT_MS + (beat % 3) * 100)
      }
    }
    for (const detector of [regular(1), regular(300), lossy]) {
      expect(detector.silenceFor(suspectPhi)).toBeLessThan(6_000 - 250)
      expect(detector.silenceFor(downPhi)).toBeLessThan(10_000 - 250)
      expect(detector.silenceFor(downPhi)).toBeGreaterThan(7_000)
    }
  })

  test('pub-B5 INV-66: an outage is not learnt from, whether its caller or its length says so', () => {
    for (const outageMs of [4_300, 60_000]) {
      const detector = regular(300)
      const before = detector.silenceFor(downPhi)
      detector.heartbeat(outageMs, outageMs > 4_300)
      for (let beat = 1; beat <= 5; beat++) {
        detector.heartbeat(outageMs + beat * HEARTBEAT_MS)
      }
      expect(detector.silenceFor(downPhi)).toBeCloseTo(before, 6)
    }
  })

  test('pub-B5 INV-66: sixty heartbeats that an outage held up arrive together, and do not look like a faster peer', () => {
    const detector = regular(100)
    const before = detector.silenceFor(suspectPhi)
    for (let held = 0; held < 60; held++) {
      detector.heartbeat(60_000 + held)
    }
    expect(detector.silenceFor(suspectPhi)).toBe(before)
    detector.heartbeat(61_000)
    expect(Math.abs(detector.silenceFor(suspectPhi) / before - 1)).toBeLessThan(0.01)
  })

  test('lost heartbeats are learnt from: on a lossy link it waits longer', () => {
    const detector = regular(1, { minDeviationMs: 100 })
    const before = detector.silenceFor(downPhi)
    for (let beat = 1; beat <= 200; beat++) {
      if (beat % 3 !== 0) {
        detector.heartbeat(beat * HEARTBEAT_MS)
      }
    }
    expect(detector.silenceFor(downPhi)).toBeGreaterThan(before + 1_000)
  })

  test('other frames end the silence, and do not make heartbeats look frequent', () => {
    const detector = regular(300)
    const before = detector.expectedMs
    for (let beat = 1; beat <= 100; beat++) {
      detector.alive(beat * HEARTBEAT_MS - 10)
      expect(detector.phi(beat * HEARTBEAT_MS - 10)).toBeLessThan(0.001)
      detector.heartbeat(beat * HEARTBEAT_MS)
    }
    expect(detector.expectedMs).toBeCloseTo(before, 6)
    detector.alive(109_000)
    expect(detector.phi(110_000)).toBeLessThan(0.001)
  })

  test('a relayed heartbeat that is older than the last changes nothing', () => {
    const detector = regular(300)
    detector.heartbeat(-400)
    expect(detector.lastHeartbeatMs).toBe(0)
    expect(detector.expectedMs).toBeCloseTo(3_000, 6)
  })

  test('a time that is no finite number changes nothing', () => {
    const detector = regular(300)
    for (const time of [NaN, Infinity, -Infinity]) {
      detector.heartbeat(time)
      detector.alive(time)
    }
    expect(detector.lastHeartbeatMs).toBe(0)
    expect(detector.phi(9_000)).toBeGreaterThan(downPhi)
  })

  test('L5: a pause of this process is taken off the silence, and off the interval in progress', () => {
    const detector = regular(300)
    const [suspicion, expected] = [detector.phi(900), detector.expectedMs]
    detector.extend(60_000)
    expect(detector.phi(60_900)).toBe(suspicion)
    detector.heartbeat(61_000)
    detector.extend(300)
    detector.heartbeat(62_300)
    expect(detector.expectedMs).toBeCloseTo(expected, 6)
    expect(() => detector.extend(-1)).toThrow('ms is -1')
  })

  test('bad options are refused, with the value and what is allowed', () => {
    expect(() => regular(1, { acceptablePauseMs: -1 })).toThrow('acceptablePauseMs is -1')
    expect(() => regular(1, { minDeviationMs: 0 })).toThrow('minDeviationMs is 0, allowed is a number above 0')
    expect(() => regular(1, { windowSize: 1.5 })).toThrow('windowSize is 1.5')
  })
})

/** The next larger double. */
function nextDouble(value: number): number {
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, value + 0)
  view.setBigInt64(0, view.getBigInt64(0) + (value < 0 ? -1n : 1n))
  return view.getFloat64(0)
}
