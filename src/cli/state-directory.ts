import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { codeOf, messageOf, UsageError } from './errors.ts'

/** What a running `serve` leaves behind so that the other commands find it. Only its user can read it. */
export interface ControlFile {
  readonly url: string
  readonly token: string
  readonly pid: number
  readonly replica: string
  readonly cluster: string
  readonly startedAt: number
  /** Of its gateway and live page, if it has one. */
  readonly gateway?: string
}

/** `--state`, else `$XDG_STATE_HOME/rollcall`, else `~/.local/state/rollcall` (`%LOCALAPPDATA%\rollcall` on Windows). */
export function stateDirectory(given: string | undefined, env: NodeJS.ProcessEnv = process.env): string {
  if (given !== undefined) {
    return given
  }
  const base = process.platform === 'win32' ? env.LOCALAPPDATA : env.XDG_STATE_HOME
  return join(base || join(homedir(), '.local', 'state'), 'rollcall')
}

/** @throws UsageError when a name would leave the directory. */
export function pathIn(directory: string, name: string, suffix: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name)) {
    throw new UsageError(`--name is ${name}, allowed are letters, digits, dots, dashes and underscores, a letter or digit first`)
  }
  return join(directory, name + suffix)
}

/** Returns its path. Throws UsageError when it cannot be written. */
export function writeControlFile(directory: string, name: string, content: ControlFile): string {
  const path = pathIn(directory, name, '.json')
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    // Removed first: writing keeps the mode of a file that is there.
    rmSync(path, { force: true })
    writeFileSync(path, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 })
    chmodSync(path, 0o600)
  } catch (error) {
    throw new UsageError(`cannot write ${path}: ${messageOf(error)}; give a directory that can be written to with --state`)
  }
  return path
}

/** Undefined when there is none, or none that can be read as one. */
export function readControlFile(directory: string, name: string): ControlFile | undefined {
  try {
    const parsed: unknown = JSON.parse(readFileSync(pathIn(directory, name, '.json'), 'utf8'))
    return isControlFile(parsed) ? parsed : undefined
  } catch (error) {
    if (error instanceof UsageError) {
      throw error
    }
    return undefined
  }
}

/** Removes the file, if it is still that of process `pid`. */
export function removeControlFile(directory: string, name: string, pid: number): void {
  if (readControlFile(directory, name)?.pid === pid) {
    rmSync(pathIn(directory, name, '.json'), { force: true })
  }
}

/** The names of all control files in the directory. */
export function controlNames(directory: string): string[] {
  try {
    return readdirSync(directory)
      .filter(file => file.endsWith('.json'))
      .map(file => file.slice(0, -'.json'.length))
      .sort()
  } catch {
    return []
  }
}

/** Whether a process of that id runs, ours or another user's. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

function isControlFile(value: unknown): value is ControlFile {
  const file = value as Partial<ControlFile> | null
  return (
    typeof file === 'object' &&
    file !== null &&
    typeof file.url === 'string' &&
    typeof file.token === 'string' &&
    typeof file.pid === 'number'
  )
}
