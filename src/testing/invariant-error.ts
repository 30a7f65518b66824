/** A replica showed what it must not show. Carries what is needed to see it again: the seed and the time. */
export class InvariantError extends Error {
  override readonly name = 'InvariantError'
  readonly code = 'ERR_INVARIANT'
  /** Which one, as docs/testing.md numbers them. */
  readonly invariant: string
  /** What was found, without the trace. */
  readonly finding: string
  /** Of the replica that broke it; `*` when it takes several. */
  readonly replica: string
  /** Virtual time in ms. */
  readonly atMs: number
  readonly seed: number | string

  constructor(init: { invariant: string; replica: string; finding: string; atMs: number; seed: number | string; trace: string }) {
    super(
      `${init.invariant} broken at ${init.replica}: ${init.finding}\n  seed ${init.seed}, at ${init.atMs} ms; last events:\n${init.trace}`
    )
    this.invariant = init.invariant
    this.finding = init.finding
    this.replica = init.replica
    this.atMs = init.atMs
    this.seed = init.seed
  }
}
