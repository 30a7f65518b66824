/** What `settle`, `converge` or a bound of a scenario waited for did not come in time. */
export class NotSettledError extends Error {
  override readonly name = 'NotSettledError'
  readonly code = 'ERR_NOT_SETTLED'
  /** What was still missing, in words. */
  readonly missing: string
  /** Virtual time in ms. */
  readonly atMs: number
  readonly seed: number | string

  constructor(init: { missing: string; withinMs: number; atMs: number; seed: number | string; trace: string }) {
    super(`not settled after ${init.withinMs} ms: ${init.missing}\n  seed ${init.seed}, at ${init.atMs} ms; last events:\n${init.trace}`)
    this.missing = init.missing
    this.atMs = init.atMs
    this.seed = init.seed
  }
}
