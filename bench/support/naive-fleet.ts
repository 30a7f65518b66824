import { type Fleet, fresh, SPREAD_MS, TTL_MS, type Workload } from './fleet.ts'

interface User {
  readonly name: string
  connections: number
}

interface Connection {
  readonly user: User
  deadlineMs: number
}

interface Timer {
  readonly deadlineMs: number
  readonly id: string
}

/**
 * The design that comes to mind first: a Map of objects by connection id, a Map of users, and a binary heap of timers.
 * A timer that comes up too early is armed again, so a heartbeat is one lookup and one write.
 */
export class NaiveFleet implements Fleet {
  readonly #work: Workload
  readonly #connections = new Map<string, Connection>()
  readonly #users = new Map<string, User>()
  readonly #timers = new TimerHeap()
  #offline: User[] = []

  constructor(work: Workload) {
    this.#work = work
  }

  connectAll(nowMs: number): void {
    const { count, names, ids } = this.#work
    const stepMs = SPREAD_MS / count
    for (let i = 0; i < count; i++) {
      this.#connect(ids[i] as string, names[i] as string, nowMs + i * stepMs)
    }
  }

  heartbeatAll(nowMs: number): number {
    const { count, ids, order } = this.#work
    const stepMs = SPREAD_MS / count
    let alive = 0
    for (let i = 0; i < count; i++) {
      alive += this.#heartbeat(ids[order[i] as number] as string, nowMs + i * stepMs) ? 1 : 0
    }
    return alive
  }

  heartbeatTexts(texts: readonly string[], nowMs: number): number {
    let alive = 0
    for (const text of texts) {
      alive += this.#heartbeat(text, nowMs) ? 1 : 0
    }
    return alive
  }

  freshTexts(): string[] {
    const { ids, order } = this.#work
    return Array.from(order, index => fresh(ids[index] as string))
  }

  disconnectAll(): void {
    const { ids, order } = this.#work
    for (const index of order) {
      const id = ids[index] as string
      const connection = this.#connections.get(id)
      if (connection !== undefined) {
        this.#connections.delete(id)
        this.#countDown(connection.user)
      }
    }
    // Their timers are still to come up; here they are dropped, so that the next round starts empty.
    this.#timers.clear()
  }

  expire(nowMs: number): number {
    let ended = 0
    for (let timer = this.#timers.first(); timer !== undefined && timer.deadlineMs <= nowMs; timer = this.#timers.first()) {
      this.#timers.pop()
      const connection = this.#connections.get(timer.id)
      if (connection === undefined) {
        continue
      }
      if (connection.deadlineMs > nowMs) {
        this.#timers.push({ deadlineMs: connection.deadlineMs, id: timer.id })
        continue
      }
      this.#connections.delete(timer.id)
      this.#countDown(connection.user)
      ended++
    }
    return ended
  }

  forgetUsers(): number {
    let forgotten = 0
    for (const user of this.#offline) {
      if (user.connections === 0 && this.#users.delete(user.name)) {
        forgotten++
      }
    }
    this.#offline = []
    return forgotten
  }

  #connect(id: string, name: string, nowMs: number): void {
    let user = this.#users.get(name)
    if (user === undefined) {
      user = { name, connections: 0 }
      this.#users.set(name, user)
    }
    user.connections++
    const connection = { user, deadlineMs: nowMs + TTL_MS }
    this.#connections.set(id, connection)
    this.#timers.push({ deadlineMs: connection.deadlineMs, id })
  }

  #heartbeat(id: string, nowMs: number): boolean {
    const connection = this.#connections.get(id)
    if (connection === undefined || connection.deadlineMs <= nowMs) {
      return false
    }
    connection.deadlineMs = nowMs + TTL_MS
    return true
  }

  #countDown(user: User): void {
    user.connections--
    if (user.connections === 0) {
      this.#offline.push(user)
    }
  }
}

class TimerHeap {
  #timers: Timer[] = []

  first(): Timer | undefined {
    return this.#timers[0]
  }

  clear(): void {
    this.#timers = []
  }

  push(timer: Timer): void {
    const timers = this.#timers
    let at = timers.length
    timers.push(timer)
    while (at > 0) {
      const parent = (at - 1) >> 1
      const above = timers[parent] as Timer
      if (above.deadlineMs <= timer.deadlineMs) {
        break
      }
      timers[at] = above
      at = parent
    }
    timers[at] = timer
  }

  pop(): void {
    const timers = this.#timers
    const last = timers.pop()
    if (last === undefined || timers.length === 0) {
      return
    }
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= timers.length) {
        break
      }
      if (child + 1 < timers.length && (timers[child + 1] as Timer).deadlineMs < (timers[child] as Timer).deadlineMs) {
        child++
      }
      if ((timers[child] as Timer).deadlineMs >= last.deadlineMs) {
        break
      }
      timers[at] = timers[child] as Timer
      at = child
    }
    timers[at] = last
  }
}
