import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

const BIN = new URL('../../../bin/rollcall.js', import.meta.url).pathname

export interface Outcome {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A running `rollcall`. */
export class CliProcess {
  readonly child: ChildProcess
  stdout = ''
  stderr = ''

  constructor(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
    const clean = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('ROLLCALL_')))
    this.child = spawn(process.execPath, [BIN, ...args], { env: { ...clean, NO_COLOR: '1', ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
    this.child.stdout?.on('data', (chunk: Buffer) => {
      this.stdout += chunk.toString()
    })
    this.child.stderr?.on('data', (chunk: Buffer) => {
      this.stderr += chunk.toString()
    })
  }

  /** Resolves with the first match in what was printed; rejects when the process ends before. */
  async printed(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.stdout)
      if (match !== null) {
        return match
      }
      const ended = this.child.exitCode !== null || this.child.signalCode !== null
      if (ended) {
        throw new Error(`ended before it printed ${pattern}:\n${this.stdout}\n${this.stderr}`)
      }
      const waited = new AbortController()
      const { signal } = waited
      await Promise.race([once(this.child.stdout as NodeJS.ReadableStream, 'data', { signal }), once(this.child, 'close', { signal })])
      waited.abort()
    }
  }

  async ended(): Promise<Outcome> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      await once(this.child, 'close')
    }
    return { status: this.child.exitCode, stdout: this.stdout, stderr: this.stderr }
  }
}

/** Runs `rollcall` to its end. */
export function runCli(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Outcome> {
  return new CliProcess(args, env).ended()
}
