import { UsageError } from './errors.ts'
import type { Kind } from './setting-kinds.ts'

/** One thing that a person may set, under one name in three spellings: `--flush-window`, `ROLLCALL_FLUSH_WINDOW`, `"flushWindow"`. */
export interface Setting<T> {
  readonly kind: Kind<T>
  readonly fallback: T
  readonly help: string
  /** Heading in `--help`. */
  readonly group: string
  /** Not to be given as a flag, where every user of the machine can read it. */
  readonly hidden?: boolean
}

/** A command's settings by name, in camelCase. */
export type SettingTable = { readonly [name: string]: Setting<unknown> }
/** The values of a table, once resolved. */
export type Settings<T extends SettingTable> = { readonly [K in keyof T]: T[K] extends Setting<infer V> ? V : never }

/** Where the values come from. A flag wins over a variable, a variable over the file, the file over the default. */
export interface Sources {
  readonly flags: { readonly [name: string]: unknown }
  readonly env: { readonly [name: string]: string | undefined }
  /** What the configuration file holds, and its path for messages. */
  readonly file?: { readonly path: string; readonly values: { readonly [name: string]: unknown } } | undefined
}

/** `flushWindow` → `--flush-window`. */
export const flagName = (name: string): string => `--${name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}`
/** `flushWindow` → `ROLLCALL_FLUSH_WINDOW`. */
export const envName = (name: string): string => `ROLLCALL_${name.replace(/[A-Z]/g, letter => `_${letter}`).toUpperCase()}`

/**
 * The one place where flags, variables, file and defaults meet.
 *
 * @throws UsageError naming where the value stands, the value, and what is allowed.
 */
export function resolveSettings<T extends SettingTable>(table: T, sources: Sources): Settings<T> {
  const resolved: Record<string, unknown> = {}
  for (const [name, setting] of Object.entries(table)) {
    resolved[name] = resolveOne(name, setting, sources)
  }
  return Object.freeze(resolved) as Settings<T>
}

/** Whether anything but the default gave the value. */
export function isGiven(name: string, { flags, env, file }: Sources): boolean {
  return flags[name] !== undefined || presentEnv(env, name) !== undefined || file?.values[name] !== undefined
}

function resolveOne(name: string, { kind, fallback }: Setting<unknown>, { flags, env, file }: Sources): unknown {
  const flag = flags[name]
  if (flag !== undefined) {
    return accept(kind, flag, flagName(name))
  }
  const variable = presentEnv(env, name)
  if (variable !== undefined) {
    return accept(kind, variable, envName(name))
  }
  const written = file?.values[name]
  if (written !== undefined) {
    return accept(kind, written, `${name} in ${file?.path}`)
  }
  return fallback
}

// An empty variable is how compose files and unit files say "not set".
function presentEnv(env: Sources['env'], name: string): string | undefined {
  const value = env[envName(name)]
  return value === '' ? undefined : value
}

function accept<T>(kind: Kind<T>, raw: unknown, where: string): T {
  const value = kind.read(raw)
  if (value === undefined) {
    throw new UsageError(`${where} is ${show(raw)}, allowed: ${kind.allowed}`)
  }
  return value
}

function show(raw: unknown): string {
  const isFlags = Array.isArray(raw) && raw.every(item => typeof item === 'string')
  const text = isFlags ? raw.join(',') : raw
  return typeof text === 'string' ? text || '""' : (JSON.stringify(text) ?? String(text))
}

/** @throws UsageError for a name in the file that no command knows; `known` are all commands' names. */
export function refuseUnknownNames(path: string, values: object, known: readonly string[]): void {
  for (const name of Object.keys(values)) {
    if (!known.includes(name)) {
      throw new UsageError(`${path} has "${name}", which is no setting; known are ${[...known].sort().join(', ')}`)
    }
  }
}
