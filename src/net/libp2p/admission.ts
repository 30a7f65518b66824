import type { ReplicaId } from '../../crdt/dot.ts'
import type { Environment } from '../../tracker/environment.ts'
import { InvalidOptionsError } from '../../tracker/errors.ts'

/** Asked who may be a member. A rejection, and silence for five seconds, mean no. */
export type AdmitHook = (peer: ReplicaId, options: { readonly signal: AbortSignal }) => boolean | Promise<boolean>

/** Who may be a member. Where several are given, all of them must agree. With none, membership is for loopback only. */
export interface AdmissionInit {
  /** Peer ids as text. */
  readonly allow?: Iterable<ReplicaId>
  /** A verdict is kept for a minute, a refusal for ten seconds; then it is asked again, and a member that is refused loses its link. */
  readonly admit?: AdmitHook
}

interface Verdict {
  readonly admitted: boolean
  readonly freshUntilMs: number
}

const ADMITTED_FRESH_MS = 60_000
const REFUSED_FRESH_MS = 10_000
/** Verdicts kept. At the limit the oldest is forgotten, and asked again when it is needed. */
const VERDICTS_MAX = 4_096
/** Hooks that run at one time. At the limit a stranger is refused unasked. */
const PENDING_MAX = 256

/**
 * The one rule by which peers, and the origins that peers relay, are let in.
 *
 * INV-71: nothing that a stranger sent, or that was made by a stranger, reaches the merge.
 */
export class Admission {
  /** A rule was given: pre-shared key, allow-list or hook. Without one, only loopback is trusted. */
  readonly closed: boolean
  readonly #allow: ReadonlySet<ReplicaId> | undefined
  readonly #admit: AdmitHook | undefined
  readonly #environment: Environment
  readonly #timeoutMs: number
  readonly #verdicts = new Map<ReplicaId, Verdict>()
  readonly #pending = new Map<ReplicaId, Promise<boolean>>()

  /** @param preSharedKey A connection protector is in place: whoever is connected knows the key. */
  constructor(init: AdmissionInit, preSharedKey: boolean, environment: Environment, timeoutMs: number) {
    this.#allow = init.allow === undefined ? undefined : new Set(init.allow)
    this.#admit = init.admit
    this.closed = preSharedKey || this.#allow !== undefined || this.#admit !== undefined
    this.#environment = environment
    this.#timeoutMs = timeoutMs
    for (const id of this.#allow ?? []) {
      if (typeof id !== 'string' || id === '') {
        throw new InvalidOptionsError(`allow holds ${String(id)}, allowed are peer ids as text`)
      }
    }
  }

  /** Whether a verdict does not depend on the peer: then there is nothing to filter. */
  get everyone(): boolean {
    return this.#allow === undefined && this.#admit === undefined
  }

  /** What is known without asking. A verdict past its time still counts while it is asked again; undefined: never asked, or forgotten. */
  verdict(peer: ReplicaId): boolean | undefined {
    if (this.#allow !== undefined && !this.#allow.has(peer)) {
      return false
    }
    if (this.#admit === undefined) {
      return true
    }
    const known = this.#verdicts.get(peer)
    if (known === undefined || known.freshUntilMs <= this.#environment.monotonicMs()) {
      void this.ask(peer)
    }
    return known?.admitted
  }

  /** The verdict, from the hook when there is no fresh one. Never rejects. */
  ask(peer: ReplicaId): Promise<boolean> {
    if (this.#allow !== undefined && !this.#allow.has(peer)) {
      return NO
    }
    const admit = this.#admit
    if (admit === undefined) {
      return YES
    }
    const known = this.#verdicts.get(peer)
    if (known !== undefined && known.freshUntilMs > this.#environment.monotonicMs()) {
      return known.admitted ? YES : NO
    }
    return this.#pending.get(peer) ?? (this.#pending.size < PENDING_MAX ? this.#run(peer, admit) : NO)
  }

  #run(peer: ReplicaId, admit: AdmitHook): Promise<boolean> {
    const controller = new AbortController()
    const asked = new Promise<boolean>(resolve => {
      const cancel = this.#environment.schedule(this.#timeoutMs, () => {
        controller.abort(new Error('the admission hook took too long'))
        resolve(false)
      })
      const answer = (admitted: boolean): void => {
        cancel()
        resolve(admitted)
      }
      new Promise<boolean>(run => run(admit(peer, { signal: controller.signal }))).then(
        admitted => answer(admitted === true),
        () => answer(false)
      )
    }).then(admitted => {
      this.#pending.delete(peer)
      this.#keep(peer, admitted)
      return admitted
    })
    this.#pending.set(peer, asked)
    return asked
  }

  #keep(peer: ReplicaId, admitted: boolean): void {
    const freshUntilMs = this.#environment.monotonicMs() + (admitted ? ADMITTED_FRESH_MS : REFUSED_FRESH_MS)
    this.#verdicts.delete(peer)
    this.#verdicts.set(peer, { admitted, freshUntilMs })
    if (this.#verdicts.size > VERDICTS_MAX) {
      this.#verdicts.delete(this.#verdicts.keys().next().value as ReplicaId)
    }
  }
}

const YES = Promise.resolve(true)
const NO = Promise.resolve(false)
