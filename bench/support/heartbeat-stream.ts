import { createRandom, type Random } from '../../src/tracker/environment.ts'

/** How heartbeats travel from one replica to another. Times in ms. */
export interface LinkProfile {
  readonly name: string
  /** What the reader should picture. */
  readonly description: string
  /** One heartbeat's delay. */
  readonly delayMs: (random: Random) => number
  /** Each heartbeat is lost with this probability, where the one before was not. */
  readonly lossRate: number
  /** The probability that a loss is followed by another one. */
  readonly lossAfterLoss: number
}

export interface Arrival {
  readonly sentMs: number
  readonly arrivedMs: number
  readonly nextSendMs: number
}

const INTERVAL_MS = 1_000
/** Senders spread their heartbeats by so much, either way. */
const SEND_JITTER = 0.1
/** Now and then the sender's event loop stands still: once in 10 minutes, half of them longer than 80 ms, one in 550 for 3 s. */
const STALLS_PER_HEARTBEAT = 1 / 600
const STALL_MIN_MS = 50
const STALL_SHAPE = 1.5
const STALL_MAX_MS = 3_000

export const PROFILES: readonly LinkProfile[] = [
  {
    name: 'LAN',
    description: '0.3 ms and up, nothing lost',
    delayMs: random => 0.3 + exponential(random, 0.5),
    lossRate: 0,
    lossAfterLoss: 0
  },
  {
    name: 'WAN',
    description: 'about 60 ms, 1 heartbeat in 200 waits for a TCP retransmission',
    delayMs: random => 60 * Math.exp(0.35 * normal(random)) + retransmissions(random, 0.005, 300),
    lossRate: 0,
    lossAfterLoss: 0
  },
  {
    name: 'lossy',
    description: '200 ms jitter, 1 % lost, each on its own',
    delayMs: random => 1 + 200 * random.nextFloat(),
    lossRate: 0.01,
    lossAfterLoss: 0.01
  },
  {
    name: 'bursty',
    description: '200 ms jitter, 1 % lost, in bursts of 1.5',
    delayMs: random => 1 + 200 * random.nextFloat(),
    lossRate: 0.0067,
    lossAfterLoss: 1 / 3
  }
]

/** The heartbeats of one peer that arrive within `hours`, in the order they arrive. The same seed gives the same stream. */
export function* heartbeatStream(profile: LinkProfile, hours: number, seed: string): Generator<Arrival> {
  const random = createRandom(seed)
  let lost = false
  let lastArrivalMs = -1
  let sentMs = INTERVAL_MS * random.nextFloat()
  while (sentMs < hours * 3_600_000) {
    const nextSendMs = sentMs + INTERVAL_MS * (1 + SEND_JITTER * (2 * random.nextFloat() - 1)) + stallMs(random)
    lost = random.nextFloat() < (lost ? profile.lossAfterLoss : profile.lossRate)
    if (!lost) {
      // One stream, in order: a heartbeat never overtakes the one before.
      lastArrivalMs = Math.max(lastArrivalMs, sentMs + profile.delayMs(random))
      yield { sentMs, arrivedMs: lastArrivalMs, nextSendMs }
    }
    sentMs = nextSendMs
  }
}

function stallMs(random: Random): number {
  return random.nextFloat() < STALLS_PER_HEARTBEAT
    ? Math.min(STALL_MAX_MS, STALL_MIN_MS / (1 - random.nextFloat()) ** (1 / STALL_SHAPE))
    : 0
}

function exponential(random: Random, meanMs: number): number {
  return -meanMs * Math.log(1 - random.nextFloat())
}

/** Box and Muller. */
function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random.nextFloat())) * Math.cos(2 * Math.PI * random.nextFloat())
}

/** Each lost segment waits twice as long as the one before. */
function retransmissions(random: Random, rate: number, firstMs: number): number {
  let delayMs = 0
  for (let waitMs = firstMs; random.nextFloat() < rate; waitMs *= 2) {
    delayMs += waitMs
  }
  return delayMs
}
