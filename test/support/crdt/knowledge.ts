import type { DeltaInterval, Entry, EntryState } from '../../../src/crdt/index.ts'
import type { OwnerModel } from './owner-model.ts'

/**
 * What one who was told some intervals knows of each dot, from the four numbers of the intervals and the owner's events
 * only: the furthest state that any of them spoke of. No record, head, cursor or log.
 */
export class Knowledge {
  readonly #model: OwnerModel
  readonly #states = new Map<number, EntryState>()
  #known = 0

  constructor(model: OwnerModel) {
    this.#model = model
  }

  learn({ from, to, since, asOf }: Pick<DeltaInterval, 'from' | 'to' | 'since' | 'asOf'>): void {
    for (let dot = from + 1; dot <= to; dot++) {
      const state = this.#model.stateAt(dot, asOf)
      if (state !== undefined) {
        this.#raise(dot, state)
      }
    }
    this.#known = Math.max(this.#known, to)
    for (const { counter, state } of this.#model.marks(since, asOf)) {
      if (counter <= this.#known) {
        this.#raise(counter, state)
      }
    }
  }

  held(): Entry[] {
    return [...this.#states]
      .filter(([, state]) => state < 3)
      .sort(([a], [b]) => a - b)
      .map(([dot, state]) => this.#model.entryAt(dot, state))
  }

  #raise(dot: number, state: EntryState): void {
    this.#states.set(dot, Math.max(state, this.#states.get(dot) ?? 0) as EntryState)
  }
}
