import type { Connection, Tracker } from '../../tracker/types.ts'
import { codeOf, messageOf } from '../errors.ts'
import { sharedNowMs } from './shared-clock.ts'
import type { Op, WorkerEvents } from './worker-protocol.ts'

interface Client {
  readonly connection: Connection
  readonly connectSeq: number
}

/** The simulated clients of one replica: executes operations at their time and keeps the connections heard. */
export class WorkerClients {
  readonly #tracker: Tracker
  readonly #clients = new Map<string, Client>()
  readonly #waiting: Op[] = []
  readonly #heartbeats: NodeJS.Timeout
  #timer: NodeJS.Timeout | undefined
  didSeqs: number[] = []
  didAtMs: number[] = []
  failures: WorkerEvents['failures'][number][] = []
  ended: WorkerEvents['ended'][number][] = []

  constructor(tracker: Tracker, heartbeatMs: number) {
    this.#tracker = tracker
    this.#heartbeats = setInterval(() => this.#heartbeatAll(), heartbeatMs)
  }

  get size(): number {
    return this.#clients.size
  }

  add(ops: readonly Op[]): void {
    this.#waiting.push(...ops)
    this.#run()
  }

  stop(): void {
    clearInterval(this.#heartbeats)
    clearTimeout(this.#timer)
    this.#waiting.length = 0
  }

  #run(): void {
    clearTimeout(this.#timer)
    let done = 0
    while (done < this.#waiting.length) {
      const op = this.#waiting[done] as Op
      if (op.atMs > sharedNowMs()) {
        break
      }
      this.#execute(op)
      done++
    }
    this.#waiting.splice(0, done)
    const next = this.#waiting[0]
    if (next !== undefined) {
      this.#timer = setTimeout(() => this.#run(), Math.max(1, next.atMs - sharedNowMs()))
    }
  }

  #execute(op: Op): void {
    const atMs = sharedNowMs()
    try {
      this.#apply(op)
      this.didSeqs.push(op.seq)
      this.didAtMs.push(atMs)
    } catch (error) {
      this.failures.push({ seq: op.seq, code: codeOf(error) ?? 'ERR_UNKNOWN', message: messageOf(error) })
    }
  }

  #apply({ kind, user, topic, seq }: Op): void {
    if (kind === 'connect') {
      this.#connect(user, seq)
      return
    }
    const client = this.#clients.get(user)
    if (client === undefined) {
      if (kind === 'close' || kind === 'lost' || kind === 'untrack') {
        return
      }
      throw Object.assign(new Error(`${user} is not connected here`), { code: 'ERR_NOT_CONNECTED' })
    }
    if (kind === 'track') {
      client.connection.track(topic as string)
    } else if (kind === 'untrack') {
      client.connection.untrack(topic as string)
    } else {
      this.#clients.delete(user)
      client.connection[kind]()
    }
  }

  #connect(user: string, connectSeq: number): void {
    const before = this.#clients.get(user)
    this.#clients.delete(user)
    // The same client twice: its old socket is gone.
    before?.connection.lost()
    const connection = this.#tracker.connect(user, { session: `session of ${user}` })
    this.#clients.set(user, { connection, connectSeq })
    connection.signal.addEventListener('abort', () => this.#onEnd(user, connection, connectSeq), { once: true })
  }

  #onEnd(user: string, connection: Connection, connectSeq: number): void {
    if (this.#clients.get(user)?.connection === connection) {
      this.#clients.delete(user)
      const end = (connection.signal.reason as { end?: string } | undefined)?.end ?? 'unknown'
      this.ended.push({ user, end, connectSeq, atMs: sharedNowMs() })
    }
  }

  #heartbeatAll(): void {
    for (const { connection } of this.#clients.values()) {
      connection.heartbeat()
    }
  }
}
