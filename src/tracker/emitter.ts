import type { TrackerEventDetails, TrackerEventName, TrackerListener } from './types.ts'

type AnyListener = (event: { readonly type: TrackerEventName; readonly detail: unknown }) => unknown

/**
 * Plain callbacks, called in the order of registration. One that throws, or whose promise rejects, never reaches the caller: it is counted and told to
 * the listeners of `error`. A listener is not waited for.
 */
export class Emitter {
  readonly #listeners = new Map<TrackerEventName, readonly AnyListener[]>()
  #errors = 0

  get errors(): number {
    return this.#errors
  }

  has(name: TrackerEventName): boolean {
    return this.#listeners.has(name)
  }

  add<N extends TrackerEventName>(name: N, listener: TrackerListener<N>): void {
    const current = this.#listeners.get(name) ?? []
    if (!current.includes(listener as AnyListener)) {
      this.#listeners.set(name, [...current, listener as AnyListener])
    }
  }

  remove<N extends TrackerEventName>(name: N, listener: TrackerListener<N>): void {
    const left = (this.#listeners.get(name) ?? []).filter(known => known !== listener)
    if (left.length === 0) {
      this.#listeners.delete(name)
    } else {
      this.#listeners.set(name, left)
    }
  }

  emit<N extends TrackerEventName>(name: N, detail: TrackerEventDetails[N]): void {
    const listeners = this.#listeners.get(name)
    if (listeners === undefined) {
      return
    }
    const event = Object.freeze({ type: name, detail })
    for (const listener of listeners) {
      try {
        const result = listener(event)
        if (result instanceof Promise) {
          result.catch(error => this.#failed(name, error))
        }
      } catch (error) {
        this.#failed(name, error)
      }
    }
  }

  #failed(name: TrackerEventName, error: unknown): void {
    this.#errors++
    if (name !== 'error') {
      this.emit('error', { error })
    }
  }
}
