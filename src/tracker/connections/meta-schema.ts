import { InvalidMetaError } from '../errors.ts'

/** What `metaSchema` needs of a schema: the interface that zod, valibot, arktype and others share (Standard Schema, version 1). */
export interface MetaSchema {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    validate(value: unknown): MetaSchemaResult | Promise<MetaSchemaResult>
  }
}

export type MetaSchemaResult =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string; readonly path?: readonly unknown[] | undefined }[] }

/** One schema for all topics, or one by topic; undefined: any meta. */
export type MetaSchemaOption = MetaSchema | ((topic: string) => MetaSchema | undefined)

/** A schema may be a function itself, so what it has is asked first. */
export function isMetaSchema(value: unknown): value is MetaSchema {
  return (typeof value === 'object' || typeof value === 'function') && value !== null && '~standard' in value
}

/**
 * What the schema makes of a meta.
 *
 * @throws InvalidMetaError with the first issue; also when the schema validates asynchronously, as `track` returns at once
 */
export function validateMeta(option: MetaSchemaOption | undefined, topic: string, meta: unknown): unknown {
  const schema = isMetaSchema(option) ? option : option?.(topic)
  if (schema === undefined) {
    return meta
  }
  const result = schema['~standard'].validate(meta)
  if (result instanceof Promise) {
    throw new InvalidMetaError(`the schema of "${topic}" validates asynchronously, allowed is a synchronous one`)
  }
  if (result.issues !== undefined) {
    const [first] = result.issues
    const at = (first?.path ?? []).map(part =>
      typeof part === 'object' && part !== null && 'key' in part ? String(part.key) : String(part)
    )
    throw new InvalidMetaError(
      `meta of "${topic}"${at.length === 0 ? '' : ` at ${at.join('.')}`}: ${first?.message ?? 'refused by its schema'}`
    )
  }
  return result.value
}
