/** What a client is told in an error reply. */
export class PushError extends Error {
  override readonly name = 'PushError'
}

/** A token that was refused. */
export class TokenError extends Error {
  override readonly name = 'TokenError'
  readonly code = 'ERR_TOKEN'
}

/** Errors that name only what the client sent, and what is allowed. */
const TELLABLE = new Set(['InvalidNameError', 'InvalidMetaError', 'MetaTooBigError', 'LimitError', 'ConnectionEndedError', 'TokenError'])

/** What the client may know of it; undefined when that is nothing. */
export function tellable(error: unknown): { readonly reason: string; readonly code?: string } | undefined {
  if (!(error instanceof Error)) {
    return undefined
  }
  if (error.name === 'PushError') {
    return { reason: error.message }
  }
  const { code } = error as { readonly code?: unknown }
  return typeof code === 'string' && TELLABLE.has(error.name) ? { reason: error.message, code } : undefined
}
