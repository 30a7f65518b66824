import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { CommandError, codeOf, messageOf, UnreachableError } from '../errors.ts'
import { originOf, parseHostPort } from '../host-port.ts'
import { type ControlFile, controlNames, isRunning, readControlFile, stateDirectory } from '../state-directory.ts'
import type { ErrorAnswer } from './answers.ts'

/** An API, and the key to it. */
export interface ControlTarget {
  readonly url: string
  readonly token: string
}

/** As `--control`, `ROLLCALL_TOKEN`, `--name` and `--state` give them. */
export interface LocateOptions {
  readonly control: string | undefined
  readonly token: string | undefined
  readonly name: string
  readonly state: string | undefined
}

/**
 * Finds the control API: by `--control` and a token, or by the control file that `serve --name` wrote.
 *
 * @throws UnreachableError when there is none, naming those there are.
 */
export function locate({ control, token, name, state }: LocateOptions): ControlTarget {
  const directory = stateDirectory(state)
  if (control !== undefined) {
    const url = originOf(parseHostPort(control, '--control'))
    const known = token ?? findByUrl(directory, url)?.token
    if (known === undefined) {
      throw new UnreachableError(`no token for ${url}: no control file in ${directory} names it; give ROLLCALL_TOKEN`)
    }
    return { url, token: known }
  }
  const file = readControlFile(directory, name)
  if (file === undefined || !isRunning(file.pid)) {
    throw new UnreachableError(nobodyThere(directory, name))
  }
  return { url: file.url, token: token ?? file.token }
}

function findByUrl(directory: string, url: string): ControlFile | undefined {
  return controlNames(directory)
    .map(name => readControlFile(directory, name))
    .find(file => file?.url === url)
}

function nobodyThere(directory: string, name: string): string {
  const others = controlNames(directory).filter(other => {
    const file = other === name ? undefined : readControlFile(directory, other)
    return file !== undefined && isRunning(file.pid)
  })
  const hint = others.length > 0 ? `running here: ${others.join(', ')} (choose with --name)` : 'start one with: rollcall serve'
  return `no replica named "${name}" runs on this machine; ${hint}, or say where it is with --control HOST:PORT`
}

/** Speaks to one control API. */
export class ControlClient {
  readonly #target: ControlTarget
  readonly #timeoutMs: number

  constructor(target: ControlTarget, timeoutMs: number) {
    this.#target = target
    this.#timeoutMs = timeoutMs
  }

  /** @throws UnreachableError when nobody answers, CommandError when the replica refuses. */
  async ask<T>(method: 'GET' | 'POST', path: string, query: Record<string, string | undefined> = {}): Promise<T> {
    const response = await this.#fetch(method, path, query, AbortSignal.timeout(this.#timeoutMs))
    return (await this.#guard(response.json())) as T
  }

  /** Objects of an NDJSON stream, until it ends or `signal` aborts. */
  async *stream<T>(path: string, query: Record<string, string | undefined>, signal: AbortSignal): AsyncGenerator<T> {
    const response = await this.#fetch('GET', path, query, signal)
    const lines = createInterface({ input: Readable.fromWeb(response.body as never), crlfDelay: Number.POSITIVE_INFINITY })
    try {
      for await (const line of lines) {
        const parsed = JSON.parse(line) as T | ErrorAnswer
        if (isErrorAnswer(parsed)) {
          throw new CommandError(parsed.error.message, parsed.error.code)
        }
        yield parsed
      }
    } catch (error) {
      if (!signal.aborted) {
        throw error instanceof CommandError ? error : this.#unreachable(error)
      }
    }
  }

  async #fetch(method: string, path: string, query: Record<string, string | undefined>, signal: AbortSignal): Promise<Response> {
    const url = new URL(path, this.#target.url)
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) {
        url.searchParams.set(name, value)
      }
    }
    const response = await this.#guard(fetch(url, { method, signal, headers: { authorization: `Bearer ${this.#target.token}` } }))
    if (!response.ok) {
      const body: unknown = await response.json().catch(() => undefined)
      throw isErrorAnswer(body)
        ? new CommandError(body.error.message, body.error.code)
        : new CommandError(`${this.#target.url} answered ${response.status}; is it a Rollcall control API?`)
    }
    return response
  }

  async #guard<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer
    } catch (error) {
      throw this.#unreachable(error)
    }
  }

  #unreachable(error: unknown): UnreachableError {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
    if (error instanceof Error && error.name === 'TimeoutError') {
      return new UnreachableError(
        `${this.#target.url} did not answer in ${this.#timeoutMs} ms; its event loop may be blocked, or raise --timeout`
      )
    }
    const why = codeOf(cause) === 'ECONNREFUSED' ? 'nobody listens there' : messageOf(cause)
    return new UnreachableError(`no answer from ${this.#target.url}: ${why}; is the replica running?`)
  }
}

function isErrorAnswer(value: unknown): value is ErrorAnswer {
  return typeof value === 'object' && value !== null && typeof (value as Partial<ErrorAnswer>).error?.message === 'string'
}
