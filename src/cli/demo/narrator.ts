import { formatDuration } from '../durations.ts'
import type { Crowd } from '../sim/crowd.ts'
import type { Fault } from '../sim/faults.ts'
import { replicaName } from '../sim/fleet.ts'
import { SAW_LEAVE, type WorkerEvents } from '../sim/worker-protocol.ts'

/** One thing that happened. */
export interface Sentence {
  readonly atMs: number
  readonly text: string
  /** `fault`: something broke. `good`: it was noticed, or mended. `life`: people come and go. */
  readonly mood: 'fault' | 'good' | 'life'
}

type ReplicaFault = Extract<Fault, { replica: number }>

/** What is being told of one fault. */
interface Plot {
  readonly fault: ReplicaFault
  readonly beganMs: number
  /** Whose connections the replica held. */
  readonly people: readonly string[]
  readonly observers: readonly number[]
  readonly noticedMs: Map<number, number>
  readonly falseLeaves: Set<string>
  toldNotice: boolean
  toldReturn: boolean
}

const SENTENCES_MAX = 50

const OPENINGS: Record<ReplicaFault['kind'], (name: string, people: string) => string> = {
  kill: (name, people) => `${name} is killed, as by kill -9, and says no goodbye. It held the connections of ${people}.`,
  stop: (name, people) => `${name} stops, as for a deploy, and says goodbye. It held the connections of ${people}.`,
  pause: (name, people) => `${name} stands still, as in a long collection. It holds the connections of ${people}.`
}

/** Says in words what one sees. */
export class Narrator {
  readonly sentences: Sentence[] = []
  readonly #crowd: Crowd
  readonly #tell: (sentence: Sentence) => void
  readonly #plots: Plot[] = []
  kills = 0
  shownLeaving = 0

  constructor(crowd: Crowd, tell: (sentence: Sentence) => void) {
    this.#crowd = crowd
    this.#tell = tell
  }

  say(atMs: number, mood: Sentence['mood'], text: string): void {
    const sentence = { atMs, mood, text }
    this.sentences.push(sentence)
    if (this.sentences.length > SENTENCES_MAX) {
      this.sentences.shift()
    }
    this.#tell(sentence)
  }

  /** Called before the fault is done. `observers`: the replicas that run and can notice. */
  begins(fault: ReplicaFault, observers: readonly number[], atMs: number): void {
    const people = this.#crowd.usersOn(fault.replica)
    this.#plots.push({
      fault,
      beganMs: atMs,
      people,
      observers,
      noticedMs: new Map(),
      falseLeaves: new Set(),
      toldNotice: false,
      toldReturn: people.length === 0 || fault.kind === 'pause'
    })
    this.kills++
    this.say(atMs, 'fault', OPENINGS[fault.kind](replicaName(fault.replica), peopleWord(people.length)))
  }

  ends(fault: ReplicaFault, atMs: number, listed: number): void {
    const name = replicaName(fault.replica)
    this.say(
      atMs,
      'good',
      fault.kind === 'pause'
        ? `${name} goes on. It empties no room for having slept ${formatDuration(atMs - fault.atMs)}.`
        : `${name} is started again, and lists ${peopleWord(listed)} as soon as it has met the others.`
    )
  }

  heard(observer: number, events: WorkerEvents, indexOf: (id: string) => number): void {
    for (const plot of this.#plots) {
      for (const { id, status, atMs } of events.judged) {
        const isNews = (status === 'unknown' || status === 'suspect' || status === 'down') && !plot.noticedMs.has(observer)
        if (isNews && indexOf(id) === plot.fault.replica && plot.observers.includes(observer) && atMs >= plot.beganMs) {
          plot.noticedMs.set(observer, atMs - plot.beganMs)
        }
      }
      for (const [index, user] of events.keys.entries()) {
        const isStillHere = this.#crowd.topicsOf(user).includes(events.topics[index] as string)
        if (events.kinds[index] === SAW_LEAVE && isStillHere && plot.people.includes(user) && !plot.toldReturn) {
          plot.falseLeaves.add(user)
        }
      }
    }
  }

  /** Tells what has come to pass since the last call. */
  tick(nowMs: number): void {
    for (const plot of this.#plots) {
      this.#tellNotice(plot, nowMs)
      this.#tellReturn(plot, nowMs)
    }
    const done = this.#plots.filter(plot => plot.toldNotice && plot.toldReturn)
    for (const plot of done) {
      this.#plots.splice(this.#plots.indexOf(plot), 1)
    }
  }

  #tellNotice(plot: Plot, nowMs: number): void {
    if (plot.toldNotice || plot.noticedMs.size < plot.observers.length) {
      return
    }
    plot.toldNotice = true
    const tookMs = Math.max(...plot.noticedMs.values())
    const who = nameList(plot.observers)
    this.say(nowMs, 'good', `${who} noticed after ${formatDuration(tookMs)}: its people are shown as unknown, not as gone.`)
  }

  #tellReturn(plot: Plot, nowMs: number): void {
    if (plot.toldReturn) {
      return
    }
    const wanting = plot.people.filter(user => this.#crowd.topicsOf(user).length > 0)
    if (wanting.some(user => this.#crowd.replicaOf(user) < 0)) {
      return
    }
    plot.toldReturn = true
    this.shownLeaving += plot.falseLeaves.size
    const where = nameList([...new Set(wanting.map(user => this.#crowd.replicaOf(user)))].sort())
    const outcome =
      plot.falseLeaves.size === 0
        ? 'Same presences as before: nobody was shown as leaving.'
        : `Shown as leaving meanwhile: ${peopleWord(plot.falseLeaves.size)}.`
    this.say(nowMs, 'good', wanting.length === 0 ? 'Its people have all gone home.' : `Its people are back, on ${where}. ${outcome}`)
  }
}

const peopleWord = (count: number): string => (count === 1 ? '1 person' : `${count} people`)

/** `a`, `a and c`, `a, b and c`. */
function nameList(replicas: readonly number[]): string {
  const names = replicas.map(replicaName)
  return names.length < 2 ? (names[0] ?? 'nobody') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
}
