/** A transport looks after its links once per tick. Deadlines are counted in ticks, see `Lane`. */
export const TICK_MS = 1_000

export interface LinkTimings {
  /** A frame that has begun must be whole after so many ticks. Raise for links slower than 50 kbit/s; each second more is one that a slow sender can hold a buffer. */
  readonly frameTicks: number
  /** A peer that reads nothing is let go after so many ticks. Raise for peers that pause longer; until then it is held for alive but hears nothing new. */
  readonly drainTicks: number
  /** A link on which nothing comes is half-open after so many ticks. At least ten heartbeats of the peer. */
  readonly silenceTicks: number
}

export interface ConnectTimings {
  /** From the first byte to both streams open and the peer's consent. */
  readonly openTimeoutMs: number
  /** A dial is given up after it, whatever it waits for. */
  readonly dialTimeoutMs: number
  /** An admission hook that has not answered by then has said no. */
  readonly admitTimeoutMs: number
  /** A stream whose twin has not come by then is reset. */
  readonly pairTicks: number
  /** The side that does not open links asks for one when it has none after so many ticks. */
  readonly askTicks: number
  /** What `stop` waits at most for frames to leave. */
  readonly flushTimeoutMs: number
}

/** @param heartbeatIntervalMs How often the peers promise to be heard. */
export function linkTimings(heartbeatIntervalMs: number): LinkTimings {
  return { frameTicks: 10, drainTicks: 20, silenceTicks: Math.ceil(Math.max(15_000, 10 * heartbeatIntervalMs) / TICK_MS) }
}

export const CONNECT_TIMINGS: ConnectTimings = {
  openTimeoutMs: 5_000,
  dialTimeoutMs: 10_000,
  admitTimeoutMs: 5_000,
  pairTicks: 5,
  askTicks: 3,
  flushTimeoutMs: 500
}
