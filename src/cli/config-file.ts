import { readFileSync } from 'node:fs'
import { codeOf, messageOf, UsageError } from './errors.ts'
import { refuseUnknownNames, type Sources } from './settings.ts'

/**
 * Reads a JSON file of settings, named as in `known`.
 *
 * @throws UsageError when it is not there, is no JSON object, or has a name that is no setting.
 */
export function readConfigFile(path: string, known: readonly string[]): NonNullable<Sources['file']> {
  let source: string
  try {
    source = readFileSync(path, 'utf8')
  } catch (error) {
    const why = codeOf(error) === 'ENOENT' ? 'there is no such file' : messageOf(error)
    throw new UsageError(`--config ${path}: ${why}`)
  }
  const values = parse(path, source)
  refuseUnknownNames(path, values, known)
  return { path, values: values as Record<string, unknown> }
}

function parse(path: string, source: string): object {
  let values: unknown
  try {
    values = JSON.parse(source)
  } catch (error) {
    throw new UsageError(`--config ${path} is no JSON: ${messageOf(error)}`)
  }
  if (typeof values !== 'object' || values === null || Array.isArray(values)) {
    throw new UsageError(`--config ${path} holds ${JSON.stringify(values)?.slice(0, 40)}, allowed is one object such as {"grace": "15s"}`)
  }
  return values
}
