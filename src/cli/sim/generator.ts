import { createRandom, type Random } from '../../tracker/environment.ts'
import type { Trace, TraceEvent } from './trace.ts'

/** What a workload is drawn from. */
export interface GeneratorOptions {
  readonly seed: number
  readonly users: number
  readonly topics: number
  readonly lengthMs: number
  /** Joins and leaves per second, on average over the run, within a tenth; less when there are too few users for it. */
  readonly ratePerSecond: number
}

/** The whole run is one day: quiet at its ends, busiest in the middle. */
const NIGHT_SHARE = 0.25
/** One in so many leaves is back at once, as on a train. */
const FLAP_ONE_IN = 5
const FLAP_MS = 300
/** That often, per run, a share of all users leaves in one moment, and most of them come back. */
const MASS_LEAVES = 2
const MASS_SHARE = 0.4
const CALIBRATIONS = 4
const DRAWS_MAX = 20

type Place = Pick<TraceEvent, 'topic' | 'user'>

/**
 * A made-up workload with what breaks presence systems: diurnal churn, flapping clients, and mass leaves. The same options give the
 * same events.
 */
export function generateTrace(options: GeneratorOptions): Trace {
  const wanted = (options.lengthMs / 1_000) * options.ratePerSecond
  // Many drawn joins are of somebody who is there already, so the right number of draws is found by trying.
  let draws = wanted
  let events: TraceEvent[] = []
  for (let attempt = 0; attempt < CALIBRATIONS; attempt++) {
    events = drawEvents(options, Math.round(draws))
    draws = Math.min(draws * (wanted / Math.max(1, events.length)), wanted * DRAWS_MAX)
  }
  return { name: `generated, seed ${options.seed}`, events, lengthMs: options.lengthMs }
}

function drawEvents(options: GeneratorOptions, draws: number): TraceEvent[] {
  const random = createRandom(`generator/${options.seed}`)
  const places = makePlaces(options, random.fork('places'))
  const events: TraceEvent[] = []
  churn(options, draws, places, random.fork('churn'), events)
  const whole = [...events, ...massLeaves(options, places, random.fork('mass'))].sort((a, b) => a.ms - b.ms)
  return consistent(whole.filter(event => event.ms <= options.lengthMs))
}

// Two places for every user, in topics of very different sizes.
function makePlaces({ users, topics }: GeneratorOptions, random: Random): Place[] {
  const places: Place[] = []
  for (let u = 0; u < users; u++) {
    const first = Math.floor(topics * random.nextFloat() ** 2)
    const second = (first + 1 + random.below(Math.max(1, topics - 1))) % topics
    for (const topic of new Set([first, second])) {
      places.push({ topic: `room:${topic}`, user: `user:${u}` })
    }
  }
  return random.shuffle(places)
}

function churn({ lengthMs }: GeneratorOptions, draws: number, places: readonly Place[], random: Random, events: TraceEvent[]): void {
  for (let i = 0; i < draws; i++) {
    const place = places[random.below(places.length)] as Place
    const ms = diurnal(random) * lengthMs
    events.push({ ms, topic: place.topic, user: place.user, kind: 'join' })
    if (random.below(FLAP_ONE_IN) === 0) {
      const goneMs = ms + random.nextFloat() * FLAP_MS
      events.push({ ms: goneMs, topic: place.topic, user: place.user, kind: 'leave' })
      events.push({ ms: goneMs + random.nextFloat() * FLAP_MS, topic: place.topic, user: place.user, kind: 'join' })
    }
    const stayMs = -Math.log(1 - random.nextFloat()) * lengthMs * 0.2
    events.push({ ms: ms + stayMs, topic: place.topic, user: place.user, kind: 'leave' })
  }
}

// By rejection: sin² over the day, above a floor for the night.
function diurnal(random: Random): number {
  for (;;) {
    const at = random.nextFloat()
    if (random.nextFloat() < NIGHT_SHARE + (1 - NIGHT_SHARE) * Math.sin(Math.PI * at) ** 2) {
      return at
    }
  }
}

function massLeaves({ lengthMs }: GeneratorOptions, places: readonly Place[], random: Random): TraceEvent[] {
  const events: TraceEvent[] = []
  for (let i = 0; i < MASS_LEAVES; i++) {
    const ms = lengthMs * (0.3 + 0.5 * random.nextFloat())
    for (const place of places) {
      if (random.nextFloat() < MASS_SHARE) {
        events.push({ ms, topic: place.topic, user: place.user, kind: 'leave' })
        if (random.below(4) > 0) {
          events.push({ ms: ms + random.nextFloat() * lengthMs * 0.05, topic: place.topic, user: place.user, kind: 'join' })
        }
      }
    }
  }
  return events
}

// Drops joins of who is there, and leaves of who is not.
function consistent(events: readonly TraceEvent[]): TraceEvent[] {
  const present = new Set<string>()
  return events.filter(({ topic, user, kind }) => {
    const place = `${topic}\u0000${user}`
    if (kind === 'join') {
      const isNew = !present.has(place)
      present.add(place)
      return isNew
    }
    return present.delete(place)
  })
}
