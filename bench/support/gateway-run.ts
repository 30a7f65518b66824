import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { FanOut, ServerKind, ServerMemory, ServerUsage, ToClients, ToServer } from './gateway-protocol.ts'

export interface RunSize {
  readonly watchers: number
  readonly joinsPerSecond: number
  /** Not measured: everything compiles and grows meanwhile. */
  readonly warmUpSeconds: number
  readonly seconds: number
}

/** What one server process was measured at. */
export interface RunResult {
  readonly fanOut: FanOut
  readonly cpuMs: number
  readonly encodes: number
  readonly batches: number
  readonly memory: { readonly empty: ServerMemory; readonly open: ServerMemory; readonly watching: ServerMemory }
}

/** A fresh server process and a fresh process of clients. */
export async function runGateway(kind: ServerKind, size: RunSize): Promise<RunResult> {
  const { watchers, joinsPerSecond: perSecond } = size
  const warmUp = size.warmUpSeconds * perSecond
  const joins = size.seconds * perSecond
  const server = new Child<ToServer>('gateway-server.ts', [kind])
  const clients = new Child<ToClients>('gateway-clients.ts')
  try {
    const port = await server.next<number>()
    const empty = await server.ask<ServerMemory>('memory')
    await clients.ask({ do: 'open', port, watchers, joiners: 0 })
    const open = await server.ask<ServerMemory>('memory')
    await clients.ask({ do: 'watch' })
    const watching = await server.ask<ServerMemory>('memory')
    await clients.ask({ do: 'open', port, watchers, joiners: warmUp + joins })
    await clients.ask({ do: 'join', joins: warmUp, perSecond })
    const before = await server.ask<ServerUsage>('usage')
    const fanOut = await clients.ask<FanOut>({ do: 'join', joins, perSecond })
    const after = await server.ask<ServerUsage>('usage')
    return {
      fanOut,
      cpuMs: after.cpuMs - before.cpuMs,
      encodes: after.encodes - before.encodes,
      batches: after.batches - before.batches,
      memory: { empty, open, watching }
    }
  } finally {
    clients.kill()
    server.kill()
  }
}

/** A process that answers each message with one. */
class Child<Question extends ToServer | ToClients> {
  readonly #child: ChildProcess
  readonly #answers: unknown[] = []
  #waiting: { resolve: (answer: never) => void; reject: (error: Error) => void } | undefined
  #killed = false

  constructor(script: string, args: string[] = []) {
    this.#child = fork(fileURLToPath(new URL(script, import.meta.url)), args)
    this.#child.on('message', answer => {
      this.#answers.push(answer)
      this.#give()
    })
    this.#child.on('exit', (code, signal) => {
      if (!this.#killed) {
        this.#waiting?.reject(new Error(`${script} ended with ${code ?? signal}`))
      }
    })
  }

  ask<Answer>(question: Question): Promise<Answer> {
    this.#child.send(question)
    return this.next<Answer>()
  }

  next<Answer>(): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    this.#waiting = { resolve, reject }
    this.#give()
    return promise
  }

  kill(): void {
    this.#killed = true
    this.#child.kill('SIGKILL')
  }

  #give(): void {
    if (this.#waiting !== undefined && this.#answers.length > 0) {
      this.#waiting.resolve(this.#answers.shift() as never)
      this.#waiting = undefined
    }
  }
}
