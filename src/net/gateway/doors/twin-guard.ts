import { BoundedMap } from '../bounded-map.ts'

const WINDOW_MS = 10_000
const MAX_TAKEOVERS = 3
const MAX_REMEMBERED = 10_000

/**
 * Two living sockets of one session (a duplicated browser tab copies its session storage) take it from each other for ever, as client libraries reconnect at
 * once. One that was taken over too often of late is shared no more: newcomers get a session of their own.
 */
export class TwinGuard {
  readonly #takeovers = new BoundedMap<readonly number[]>(MAX_REMEMBERED)

  takenOver(user: string, session: string, nowMs: number): void {
    this.#takeovers.set(nameOf(user, session), [...this.#recent(user, session, nowMs), nowMs])
  }

  isShared(user: string, session: string, nowMs: number): boolean {
    return this.#recent(user, session, nowMs).length >= MAX_TAKEOVERS
  }

  #recent(user: string, session: string, nowMs: number): number[] {
    return (this.#takeovers.get(nameOf(user, session)) ?? []).filter(atMs => nowMs - atMs < WINDOW_MS)
  }
}

const nameOf = (user: string, session: string): string => JSON.stringify([user, session])
