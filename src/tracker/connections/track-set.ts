import type { Track } from './own-entries.ts'

const LINEAR_MAX = 16

/** The presences of one connection: nearly always a few, so a list; a Map beside it once they are many. */
export class TrackSet {
  readonly #list: Track[] = []
  #byName: Map<string, Track> | null = null

  get size(): number {
    return this.#list.length
  }

  find(topic: string, key: string): Track | undefined {
    if (this.#byName !== null) {
      return this.#byName.get(name(topic, key))
    }
    return this.#list.find(track => track.topic === topic && track.key === key)
  }

  /** The presences in `topic`, under whatever key. */
  inTopic(topic: string): Track[] {
    return this.#list.filter(track => track.topic === topic)
  }

  add(track: Track): void {
    track.place = this.#list.length
    this.#list.push(track)
    if (this.#byName !== null) {
      this.#byName.set(name(track.topic, track.key), track)
    } else if (this.#list.length > LINEAR_MAX) {
      this.#byName = new Map(this.#list.map(known => [name(known.topic, known.key), known]))
    }
  }

  delete(track: Track): boolean {
    if (this.#list[track.place] !== track) {
      return false
    }
    const last = this.#list.pop() as Track
    if (last !== track) {
      this.#list[track.place] = last
      last.place = track.place
    }
    track.place = -1
    this.#byName?.delete(name(track.topic, track.key))
    return true
  }

  values(): readonly Track[] {
    return this.#list
  }
}

const name = (topic: string, key: string): string => `${topic}\u0000${key}`
