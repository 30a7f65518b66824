/**
 * Bytes that are no message, or a message that has no bytes: a field of the wrong type, out of range, too long, or cut short.
 * Nothing was changed. Compare `name` or `code`, never `instanceof`.
 */
export class InvalidFrameError extends Error {
  static readonly code = 'ERR_INVALID_FRAME'
  override readonly name = 'InvalidFrameError'
  readonly code = InvalidFrameError.code
  /** The field by its place in the message, as `adds.joinedAt`. */
  readonly field: string
  /** What stood there. */
  readonly value: unknown
  /** What may stand there, in words. */
  readonly allowed: string

  constructor(field: string, value: unknown, allowed: string) {
    super(`invalid frame: ${field} is ${show(value)}, allowed is ${allowed}`)
    this.field = field
    this.value = value
    this.allowed = allowed
  }
}

/** A hostile value must not become a huge log line, nor run code of its own. */
function show(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value.length > 64 ? `${JSON.stringify(value.slice(0, 64))}… (${value.length} characters)` : JSON.stringify(value)
    case 'number':
    case 'bigint':
    case 'boolean':
    case 'undefined':
      return String(value)
    default:
      return value === null ? 'null' : `of type ${typeof value}`
  }
}
