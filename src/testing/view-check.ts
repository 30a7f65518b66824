import type { Diff, Presence, Tracker } from '../tracker/types.ts'
import { type Listing, listingOf } from './engine.ts'
import { differences, TopicFold } from './fold.ts'

/** Something a replica showed that it must not show. */
export interface Finding {
  readonly invariant: string
  readonly finding: string
}

/** Above so many presences a replica is not compared as a whole after every step. */
const SMALL = 200
/** How often it is then, and how often when nothing was told. */
const EVERY = 256
const EVERY_SILENT = 8

/**
 * What one replica has told its users, against what it lists: the fold of all diffs is the list, in every topic, with all fields (I2); diffs
 * are sane (I3); a user goes online and offline by turns, and counts as lists do (I2).
 */
export class ViewCheck {
  readonly #tracker: Tracker
  readonly #folds = new Map<string, TopicFold>()
  readonly #online = new Set<string>()
  #steps = 0
  #told = false
  #presences = 0

  constructor(tracker: Tracker) {
    this.#tracker = tracker
  }

  /** The topics that have presences, by what was told. */
  get topics(): string[] {
    return [...this.#folds.keys()]
  }

  /** Users that were told to be online. */
  get online(): ReadonlySet<string> {
    return this.#online
  }

  /** A diff was told. It must say all that changed in its topic: also to a listener that lists at once. */
  diff(diff: Diff): Finding[] {
    this.#told = true
    let fold = this.#folds.get(diff.topic)
    if (fold === undefined) {
      fold = new TopicFold()
      this.#folds.set(diff.topic, fold)
    }
    this.#presences -= fold.size
    const findings = fold.apply(diff).map(fault => ({ invariant: 'I3', finding: `diff of ${diff.topic}: ${fault}` }))
    this.#presences += fold.size
    if (this.#isSmall()) {
      findings.push(...this.#topic(diff.topic, [...this.#tracker.list(diff.topic).values()].flat()))
    }
    if (fold.size === 0) {
      this.#folds.delete(diff.topic)
    }
    return findings
  }

  transition({ type, user }: { readonly type: 'online' | 'offline'; readonly user: string }): Finding[] {
    this.#told = true
    const known = type === 'online' ? this.#online.has(user) : !this.#online.delete(user)
    if (type === 'online') {
      this.#online.add(user)
    }
    return known ? [{ invariant: 'I3', finding: `${user} goes ${type} twice` }] : []
  }

  /** After a step: compares everything when something was told and that is cheap, else now and then. */
  step(listed: () => Listing): Finding[] {
    const every = this.#isSmall() ? (this.#told ? 1 : EVERY_SILENT) : EVERY
    this.#told = false
    return ++this.#steps % every === 0 ? this.#compare(listed()) : []
  }

  all(): Finding[] {
    return this.#compare(listingOf(this.#tracker))
  }

  #compare(listing: Listing): Finding[] {
    const findings: Finding[] = []
    for (const topic of this.#folds.keys()) {
      if (!listing.has(topic)) {
        findings.push(...this.#topic(topic, []))
      }
    }
    for (const [topic, presences] of listing) {
      findings.push(...this.#topic(topic, presences), ...this.#count(topic, presences))
    }
    const users = new Set(this.#tracker.users())
    const wrong = [...users.symmetricDifference(this.#online)]
    if (wrong.length > 0) {
      findings.push({
        invariant: 'I2',
        finding: `users ${wrong.join()} are online by ${users.has(wrong[0] as string) ? 'users()' : 'the events'} only`
      })
    }
    return findings
  }

  #count(topic: string, presences: readonly Presence[]): Finding[] {
    const counted = this.#tracker.count(topic)
    const keys = new Set(presences.map(({ key }) => key)).size
    return counted.keys === keys && counted.presences === presences.length
      ? []
      : [
          {
            invariant: 'I2',
            finding: `count of ${topic} is ${JSON.stringify(counted)}, listed are ${keys} keys, ${presences.length} presences`
          }
        ]
  }

  #isSmall(): boolean {
    return this.#presences <= SMALL
  }

  #topic(topic: string, listed: readonly Presence[]): Finding[] {
    const fold = this.#folds.get(topic)
    if (fold === undefined ? listed.length === 0 : fold.equals(listed)) {
      return []
    }
    const difference = differences(listed, fold?.presences() ?? [])
    return [{ invariant: 'I2', finding: `${topic}: listed (+) and folded (-) differ:\n${difference}` }]
  }
}
