import { readConfigFile } from './config-file.ts'
import { UsageError } from './errors.ts'
import { ALL_NAMES } from './setting-tables.ts'
import { isGiven, resolveSettings, type Settings, type SettingTable, type Sources } from './settings.ts'

/** A command's settings, resolved. */
export interface Resolved<T extends SettingTable> {
  readonly settings: Settings<T>
  /** Whether a flag, a variable or the file gave this value. */
  given(name: keyof T & string): boolean
}

/** Resolves a command's settings from its flags, the environment and the file that `--config` or `ROLLCALL_CONFIG` names. */
export function resolveCommand<T extends SettingTable>(
  table: T,
  flags: Sources['flags'],
  env: NodeJS.ProcessEnv = process.env
): Resolved<T> {
  const path = flags.config ?? (env.ROLLCALL_CONFIG || undefined)
  if (path !== undefined && (typeof path !== 'string' || path === '')) {
    throw new UsageError('--config needs the path of a JSON file')
  }
  const sources: Sources = { flags, env, file: path === undefined ? undefined : readConfigFile(path, ALL_NAMES) }
  return { settings: resolveSettings(table, sources), given: name => isGiven(name, sources) }
}
