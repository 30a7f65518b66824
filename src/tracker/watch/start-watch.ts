import { VersionError } from '../errors.ts'
import type { Life } from '../life.ts'
import type { WatchEvent, WatchOptions } from '../types.ts'
import { resume } from './resume.ts'
import type { Version } from './version.ts'

/**
 * Begins a watch. With a token: told what was missed, as soon as this replica is not behind it; after `resumeWaitMs` the watch ends with BEHIND.
 * It never shows older state than the token.
 */
export function startWatch(life: Life, topic: string, { since, signal }: WatchOptions): AsyncIterableIterator<WatchEvent> {
  const token = since === undefined ? undefined : decodeOrNull(life, since)
  const node = life.index.topic(topic)
  const watch = life.topics.add(node, token === undefined, signal)
  if (token === null) {
    watch.startWithSnapshot('unknown-token')
  } else if (token !== undefined) {
    let unknown = false
    const check = (): boolean => {
      if (watch.iterator.ended) {
        return true
      }
      const answer = life.busy ? { kind: 'behind' as const } : resume(life, node, token)
      if (answer.kind === 'missed') {
        watch.startWithMissed(life.topics.resumedEvent(node, answer.missed))
        return true
      }
      unknown = answer.kind === 'unknown'
      if (unknown && isGone(life, token)) {
        watch.startWithSnapshot('unknown-replica')
        return true
      }
      return false
    }
    life.waiting.add(check, life.options.resumeWaitMs, () => {
      if (unknown) {
        watch.startWithSnapshot('unknown-replica')
      } else {
        watch.iterator.end(
          new VersionError('BEHIND', `this replica has not reached the token within ${life.options.resumeWaitMs} ms; ask another`)
        )
      }
    })
  }
  return watch.iterator
}

/** Each replica of the token that has no record here was dropped for good: waiting would not help. */
function isGone(life: Life, token: Version): boolean {
  return [...token.values()].every(({ ref }) => life.map.record(ref) !== undefined || life.cluster.isForgotten(ref))
}

function decodeOrNull(life: Life, since: string): Version | null {
  try {
    return life.tokens.decode(since)
  } catch (error) {
    if (error instanceof VersionError) {
      return null
    }
    throw error
  }
}
