import type { Member } from '../membership/member.ts'
import type { Membership } from '../membership.ts'
import type { Sources } from './sources.ts'

/** Who is back is shown after so long at the latest, in ms, however much is still missing. */
const RETURN_MS = 5_000
/** The same for who is known by relay: it says nothing of its head itself. */
const RELAYED_RETURN_MS = 2_000

export interface ReturnsInit {
  readonly membership: Membership
  readonly sources: Sources
}

/**
 * Hidden replicas that are heard again. INV-46: they are shown once what they announce is here: what left while they were hidden does not flash up,
 * and what is still there causes one event.
 */
export class Returns {
  readonly #init: ReturnsInit

  constructor(init: ReturnsInit) {
    this.#init = init
  }

  /** It said how far it is. */
  announced(member: Member): void {
    member.headStated = true
    this.check(member)
  }

  /** Something of it was merged. */
  check(member: Member): void {
    if (member.hidden && member.status === 'up' && member.headStated && !this.#init.sources.lacks(member.ref, member.announced)) {
      this.#init.membership.standing.show(member)
    }
  }

  tick(nowMs: number): void {
    for (const member of this.#init.membership.members.values()) {
      const waitsMs = member.linked ? RETURN_MS : RELAYED_RETURN_MS
      if (member.hidden && member.status === 'up' && nowMs - member.upAtMs >= waitsMs) {
        this.#init.membership.standing.show(member)
      }
    }
  }
}
