/** A few words for an error message; never more than about 60 characters, whatever a peer sent. */
export function preview(value: unknown): string {
  if (typeof value === 'string') {
    return value.length > 40 ? `${JSON.stringify(value.slice(0, 40))}… (${value.length} characters)` : JSON.stringify(value)
  }
  if (Array.isArray(value)) {
    return `an array of ${value.length}`
  }
  if (typeof value === 'object' && value !== null) {
    return 'an object'
  }
  return typeof value === 'function' ? 'a function' : String(value)
}

/** A delta interval breaks a rule of docs/algorithm.md. Nothing was changed. */
export class InvalidIntervalError extends Error {
  static readonly code = 'ERR_INVALID_INTERVAL'
  override readonly name = 'InvalidIntervalError'
  readonly code = InvalidIntervalError.code
  /** The path of the field, for instance `marks[3].state`. */
  readonly field: string
  readonly value: unknown
  /** What would have been accepted, in words. */
  readonly allowed: string

  constructor(field: string, value: unknown, allowed: string) {
    super(`Interval: ${field} is ${preview(value)}, allowed is ${allowed}`)
    this.field = field
    this.value = value
    this.allowed = allowed
  }
}

/** The content, counter or state of an entry is of the wrong type, out of range, or not well-formed text. */
export class InvalidEntryError extends Error {
  static readonly code = 'ERR_INVALID_ENTRY'
  override readonly name = 'InvalidEntryError'
  readonly code = InvalidEntryError.code
  readonly field: string
  readonly value: unknown
  readonly allowed: string

  constructor(field: string, value: unknown, allowed: string) {
    super(`Entry: ${field} is ${preview(value)}, allowed is ${allowed}`)
    this.field = field
    this.value = value
    this.allowed = allowed
  }
}

/** The owner was asked for a mark that no peer would take. */
export class InvalidMarkError extends Error {
  static readonly code = 'ERR_INVALID_MARK'
  override readonly name = 'InvalidMarkError'
  readonly code = InvalidMarkError.code
  readonly field: string
  readonly value: unknown
  readonly allowed: string

  constructor(field: string, value: unknown, allowed: string) {
    super(`Mark: ${field} is ${preview(value)}, allowed is ${allowed}`)
    this.field = field
    this.value = value
    this.allowed = allowed
  }
}

/** A value has no canonical JSON text. */
export class InvalidMetaError extends Error {
  static readonly code = 'ERR_INVALID_META'
  override readonly name = 'InvalidMetaError'
  readonly code = InvalidMetaError.code
  /** Where it stands, for instance `meta.devices[2].seenAt`. */
  readonly path: string
  readonly value: unknown
  readonly allowed: string

  constructor(path: string, value: unknown, allowed: string) {
    super(`${path} is ${preview(value)}, allowed is ${allowed}`)
    this.path = path
    this.value = value
    this.allowed = allowed
  }
}

/** Two intervals do not follow one another: composing them would claim what neither carries. */
export class NotContiguousError extends Error {
  static readonly code = 'ERR_NOT_CONTIGUOUS'
  override readonly name = 'NotContiguousError'
  readonly code = NotContiguousError.code

  constructor(ends: string, starts: string) {
    super(`The first interval ends at ${ends}, the second starts at ${starts}: only neighbours compose`)
  }
}

/** The own record was to be dropped, or to start again under a ref that does not supersede it. */
export class OwnRecordError extends Error {
  static readonly code = 'ERR_OWN_RECORD'
  override readonly name = 'OwnRecordError'
  readonly code = OwnRecordError.code
}
