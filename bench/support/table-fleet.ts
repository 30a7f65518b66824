import { ConnectionTable, decodeConnectionId, encodeConnectionId, type Handle } from '../../src/tracker/connections/connection-table.ts'
import { UserTable } from '../../src/tracker/connections/user-table.ts'
import { type Fleet, fresh, SPREAD_MS, TTL_MS, type Workload } from './fleet.ts'

/** Rollcall's connection table and user table, put together as the tracker does. */
export class TableFleet implements Fleet {
  readonly #work: Workload
  readonly #table: ConnectionTable
  readonly #users = new UserTable()
  /** Connections per user that have not ended; his name is held until he is forgotten. */
  readonly #alive: Uint32Array
  readonly #handles: Float64Array
  readonly #shuffled: Float64Array
  #offline: number[] = []

  constructor(work: Workload) {
    this.#work = work
    this.#table = new ConnectionTable({ ttlMs: TTL_MS })
    this.#alive = new Uint32Array(work.count)
    this.#handles = new Float64Array(work.count)
    this.#shuffled = new Float64Array(work.count)
  }

  connectAll(nowMs: number): void {
    const { count, names } = this.#work
    const stepMs = SPREAD_MS / count
    for (let i = 0; i < count; i++) {
      const user = this.#users.acquire(names[i] as string)
      this.#alive[user] = (this.#alive[user] as number) + 1
      this.#handles[i] = this.#table.connect(user, nowMs + i * stepMs)
    }
  }

  /** What callers would keep with their sockets: the handles, in the order of the heartbeats to come. */
  shuffle(): void {
    this.#work.order.forEach((index, at) => {
      this.#shuffled[at] = this.#handles[index] as number
    })
  }

  heartbeatAll(nowMs: number): number {
    const { count } = this.#work
    const stepMs = SPREAD_MS / count
    let alive = 0
    for (let i = 0; i < count; i++) {
      alive += this.#table.heartbeat(this.#shuffled[i] as number, nowMs + i * stepMs) ? 1 : 0
    }
    return alive
  }

  heartbeatTexts(texts: readonly string[], nowMs: number): number {
    let alive = 0
    for (const text of texts) {
      alive += this.#table.heartbeat(decodeConnectionId(text, 'bench'), nowMs) ? 1 : 0
    }
    return alive
  }

  freshTexts(): string[] {
    return Array.from(this.#shuffled, handle => fresh(encodeConnectionId(handle, 'bench')))
  }

  disconnectAll(): void {
    for (const handle of this.#shuffled) {
      const user = this.#table.user(handle)
      if (this.#table.disconnect(handle)) {
        this.#countDown(user)
      }
    }
  }

  expire(nowMs: number, outOfTime?: () => boolean): number {
    let ended = 0
    this.#table.sweep(nowMs, outOfTime === undefined ? {} : { outOfTime }, (_: Handle, user: number) => {
      this.#countDown(user)
      ended++
    })
    return ended
  }

  /** At most `max` of them. */
  forgetUsers(max = Infinity): number {
    let forgotten = 0
    for (let user = this.#offline.pop(); user !== undefined; user = this.#offline.pop()) {
      // One name for each connection that he had.
      while (this.#users.release(user) > 0);
      forgotten++
      if (forgotten >= max) {
        break
      }
    }
    return forgotten
  }

  #countDown(user: number): void {
    const alive = (this.#alive[user] as number) - 1
    this.#alive[user] = alive
    if (alive === 0) {
      this.#offline.push(user)
    }
  }
}
