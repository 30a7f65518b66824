import type { Environment } from '../environment.ts'
import type { Member } from '../membership/member.ts'
import type { Membership } from '../membership.ts'
import type { Sources } from './sources.ts'

/** Who is back is shown after so long at the latest, in ms, however much is still missing. */
const RETURN_MS = 5_000
/** The same for who is known by relay: it says nothing of its head itself. */
const RELAYED_RETURN_MS = 2_000

/** A heartbeat is the newest there is when so much of an interval has brought no other. */
const NEWEST_BEATS = 0.5

export interface ReturnsInit {
  readonly membership: Membership
  readonly sources: Sources
  readonly environment: Environment
  readonly heartbeatIntervalMs: number
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

  /** Something of it was merged, or time has passed. */
  check(member: Member): void {
    const { sources, membership } = this.#init
    const isBack = member.hidden && member.status === 'up' && member.headStated
    if (isBack && !sources.lacks(member.ref, member.announced) && this.#isNews(member)) {
      membership.standing.show(member)
    }
  }

  tick(nowMs: number): void {
    for (const member of this.#init.membership.members.values()) {
      const waitsMs = member.linked ? RETURN_MS : RELAYED_RETURN_MS
      if (member.hidden && member.status === 'up' && nowMs - member.upAtMs >= waitsMs) {
        this.#init.membership.standing.show(member)
      } else {
        this.check(member)
      }
    }
  }

  /** What a link held up comes in one burst, oldest first: what it announces may be long past. On a new link nothing is. */
  #isNews(member: Member): boolean {
    const { environment, heartbeatIntervalMs } = this.#init
    return !member.hiddenWhileLinked || environment.monotonicMs() - member.counterSentMs >= NEWEST_BEATS * heartbeatIntervalMs
  }
}
