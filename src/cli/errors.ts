/**
 * What a person at a terminal can put right. `main.ts` prints their message, and never a stack.
 */

/** How the process ends. docs/cli.md lists them; scripts may rely on them. */
export const EXIT = { ok: 0, failed: 1, usage: 2, unreachable: 3, interrupted: 130 } as const

/** A flag, a variable or a configuration file says something that is not allowed. Names it, its value, and what is allowed. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  readonly code = 'ERR_USAGE'
  readonly exitCode = EXIT.usage
}

/** No replica answers where the command looked for one. Says where that was and what to do. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError'
  readonly code = 'ERR_UNREACHABLE'
  readonly exitCode = EXIT.unreachable
}

/** The replica answered, and refused; or a run could not go on. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
  readonly code: string
  readonly exitCode = EXIT.failed

  constructor(message: string, code = 'ERR_COMMAND') {
    super(message)
    this.code = code
  }
}

/** The text of whatever was thrown, without its stack. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The `code` of a system error (`EADDRINUSE`, `ENOENT` …) or of one of ours; undefined when it has none. */
export function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined
  return typeof code === 'string' ? code : undefined
}
