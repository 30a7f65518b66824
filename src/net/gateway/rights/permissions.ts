import { BoundedMap } from '../bounded-map.ts'
import type { ResolvedGatewayOptions } from '../options.ts'
import type { Tally } from '../tally.ts'
import { callHook } from './hook-call.ts'
import { type Allowed, type Denied, deny, type GatewayQuestion, readAnswer } from './hooks.ts'

/** An answer, and until when it holds, in ms of the monotonic clock. */
export interface Grant {
  readonly answer: Allowed | Denied
  readonly untilMs: number
}

/** The answer where the hook failed: it says nothing of the right. */
export const UNAVAILABLE: Denied = deny('unavailable')

interface Remembered {
  readonly grant: Promise<Grant>
  /** Undefined while the hook thinks. */
  settled: Grant | undefined
}

const MAX_REMEMBERED = 10_000
/** Who was denied may be let in a moment later. */
const MAX_DENIED_MS = 5_000
/** Payloads are in the questions; what is granted is about as large. */
const MAX_REMEMBERED_CHARACTERS = 8_388_608

/** Asks `authorize`, and remembers what it said. The same question while the hook thinks waits for the same answer. */
export class Permissions {
  readonly #options: ResolvedGatewayOptions
  readonly #tally: Tally
  readonly #failed: (error: unknown) => void
  readonly #remembered = new BoundedMap<Remembered>(MAX_REMEMBERED, MAX_REMEMBERED_CHARACTERS)

  constructor(options: ResolvedGatewayOptions, tally: Tally, failed: (error: unknown) => void) {
    this.#options = options
    this.#tally = tally
    this.#failed = failed
  }

  get size(): number {
    return this.#remembered.size
  }

  /** `proof` tells apart who is asked for: what was granted to one says nothing of another. Never rejects: a hook that fails denies. */
  ask(question: GatewayQuestion, proof: string): Promise<Grant> {
    const { user, topic, action, payload, wantedKey, address } = question
    const name = JSON.stringify([user, proof, address, topic, action, wantedKey ?? null, payload])
    const known = this.#remembered.get(name)
    if (known !== undefined && (known.settled === undefined || known.settled.untilMs > performance.now())) {
      this.#tally.authorizeCached++
      return known.grant
    }
    const remembered: Remembered = { grant: this.#call(question), settled: undefined }
    this.#remembered.set(name, remembered)
    remembered.grant.then(grant => {
      remembered.settled = grant
    })
    return remembered.grant
  }

  async #call(question: GatewayQuestion): Promise<Grant> {
    const { authorize, hookTimeoutMs, authorizeCacheMs } = this.#options
    this.#tally.authorizeAsked++
    try {
      const answer = readAnswer(await callHook('authorize', hookTimeoutMs, () => authorize(question)))
      const validMs = answer.allowed ? (answer.validMs ?? authorizeCacheMs) : Math.min(authorizeCacheMs, MAX_DENIED_MS)
      return { answer, untilMs: performance.now() + validMs }
    } catch (error) {
      this.#tally.hookFailures++
      this.#failed(error)
      // Not remembered: the next one asks again.
      return { answer: UNAVAILABLE, untilMs: 0 }
    }
  }
}
