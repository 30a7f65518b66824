import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { CommandError } from '../errors.ts'
import type { FromWorker, Op, ToWorker, WorkerEvents, WorkerNumbers, WorkerSnapshot, WorkerStart } from './worker-protocol.ts'

// The sources run from .ts, the package from .js.
const WORKER = fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url))
const START_TIMEOUT_MS = 60_000
const STDERR_MAX = 4_000

/** What a process tells. */
export interface WorkerListener {
  events(events: WorkerEvents): void
  ready(atMs: number): void
  /** The process is gone. `expected`: by `kill` or `stop`. */
  exited(expected: boolean, detail: string): void
}

/** The parent's side of one replica's process. */
export class WorkerHandle {
  readonly #child: ChildProcess
  readonly #listener: WorkerListener
  readonly #waiting = new Map<number, (answer: never) => void>()
  readonly #started = Promise.withResolvers<string>()
  readonly #gone = Promise.withResolvers<void>()
  #nextRequest = 1
  #expected = false
  #exited = false
  #stderr = ''

  constructor(start: WorkerStart, listener: WorkerListener) {
    this.#listener = listener
    this.#child = fork(WORKER, [JSON.stringify(start)], { serialization: 'advanced', stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
    this.#child.stderr?.on('data', (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString()).slice(-STDERR_MAX)
    })
    this.#child.on('message', message => this.#receive(message as FromWorker))
    this.#child.on('error', error => this.#failed(error.message))
    this.#child.on('exit', (code, signal) => this.#onExit(code, signal))
    this.#started.promise.catch(() => undefined)
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  get alive(): boolean {
    return !this.#exited
  }

  /** Resolves with the replica's id when it listens. Throws CommandError when it cannot start. */
  async started(): Promise<string> {
    const timer = setTimeout(() => this.#failed(`not started after ${START_TIMEOUT_MS / 1_000} s`), START_TIMEOUT_MS)
    try {
      return await this.#started.promise
    } finally {
      clearTimeout(timer)
    }
  }

  run(ops: readonly Op[]): void {
    this.#tell({ type: 'ops', ops })
  }

  /** Undefined when the process does not answer in time: it is paused, dead or very busy. */
  snapshot(timeoutMs: number): Promise<WorkerSnapshot | undefined> {
    return this.#ask(request => ({ type: 'snapshot', request }), timeoutMs)
  }

  /** Undefined when the process does not answer in time. */
  numbers(timeoutMs: number): Promise<WorkerNumbers | undefined> {
    return this.#ask(request => ({ type: 'numbers', request }), timeoutMs)
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child.kill(signal)
  }

  /** SIGKILL. Resolves when the process is gone. */
  async kill(): Promise<void> {
    this.#expected = true
    this.#child.kill('SIGKILL')
    await this.#gone.promise
  }

  /** Says goodbye and ends; killed when it takes longer than `timeoutMs`. */
  async stop(announce: boolean, timeoutMs = 5_000): Promise<void> {
    this.#expected = true
    this.#tell({ type: 'stop', announce })
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), timeoutMs)
    await this.#gone.promise
    clearTimeout(timer)
  }

  #tell(message: ToWorker): void {
    if (this.#child.connected) {
      this.#child.send(message, () => undefined)
    }
  }

  async #ask<T extends WorkerSnapshot | WorkerNumbers>(make: (request: number) => ToWorker, timeoutMs: number): Promise<T | undefined> {
    const request = this.#nextRequest++
    const { promise, resolve } = Promise.withResolvers<T | undefined>()
    this.#waiting.set(request, resolve as (answer: never) => void)
    const timer = setTimeout(() => resolve(undefined), timeoutMs)
    this.#tell(make(request))
    const answer = await Promise.race([promise, this.#gone.promise.then(() => undefined)])
    clearTimeout(timer)
    this.#waiting.delete(request)
    return answer
  }

  #receive(message: FromWorker): void {
    if (message.type === 'started') {
      this.#started.resolve(message.id)
    } else if (message.type === 'failed') {
      this.#failed(message.message)
    } else if (message.type === 'ready') {
      this.#listener.ready(message.atMs)
    } else if (message.type === 'events') {
      this.#listener.events(message)
    } else {
      this.#waiting.get(message.request)?.(message as never)
    }
  }

  #failed(why: string): void {
    this.#started.reject(new CommandError(`a replica's process could not start: ${why}${this.#stderr && `\n${this.#stderr}`}`))
  }

  #onExit(code: number | null, signal: string | null): void {
    this.#exited = true
    const detail = `${signal ?? `status ${code}`}${this.#stderr && `: ${this.#stderr}`}`
    this.#failed(detail)
    this.#gone.resolve()
    this.#listener.exited(this.#expected, detail)
  }
}
