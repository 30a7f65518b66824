/**
 * The defaults of the failure detector between replicas, for heartbeats every second.
 *
 * With mean μ and deviation σ of the intervals, a peer is *suspect* (its presences are `unknown`) and *down* (they
 * enter grace) when it was silent for
 *
 *     μ + acceptablePauseMs + z · σ        z: where the normal tail is 10^−φ, so φ 2 → 2.33, φ 16 → 8.22
 *
 * which is 1,000 + 2,000 + 2.33 · 500 = 4.2 s and 1,000 + 2,000 + 8.22 · 500 = 7.1 s. From the crash on it is less, by
 * the age of the last heartbeat, and up to one tick of the caller more.
 *
 * What these numbers keep, each a test or a row of the bench `detection`:
 * - two lost heartbeats, or a peer that stands still for 2 s, is not even suspect; 3 s of standstill (silent for 4 s,
 *   plus jitter) is never down: there are 2.9 s in reserve, which a peer that stands still for 5.8 s uses up;
 * - a black hole is suspect within 6 s and down within 10 s, from any window that up to 20 % loss leaves behind
 *   (μ 1,250, σ 560: 4.6 s and 7.9 s). A process that is killed closes its connections, and is suspect at once;
 * - with 1 % loss and 200 ms jitter there is less than one false death per node and day: none in 4,000 peer-hours.
 *   Where the same losses come in bursts, about one per peer and day: then the network itself is away for 7 s that often.
 *
 * `minDeviationMs` is what spreads the two thresholds. The deviations of real windows are mostly far below it (LAN
 * 60 ms, 1 % loss 140 ms, seldom above 350 ms), so on a healthy network both times are constant; the window matters
 * on a bad one, where it adds patience.
 *
 * The pause and the deviation are absolute: a garbage collector does not stop for a shorter time because heartbeats
 * come more often. For another interval keep acceptablePauseMs ≥ 2 × the interval, so that two may be lost.
 */
export const DETECTOR_DEFAULTS = {
  /** φ from which a peer is suspect. Higher: fewer false suspicions, later. */
  suspectPhi: 2,
  /** φ from which a peer is down. Higher: fewer false deaths, later. Must be above `suspectPhi`. */
  downPhi: 16,
  /** Added to the mean interval. Higher: longer stalls are forgiven, and every detection is so much later. */
  acceptablePauseMs: 2_000,
  /** The deviation is at least this. Higher: φ climbs more slowly, and suspect and down lie further apart. */
  minDeviationMs: 500,
  /** Intervals that are remembered. Higher: steadier, and slower to follow the network. 8 bytes each, per peer. */
  windowSize: 100
} as const
