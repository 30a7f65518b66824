import { VersionError } from '../errors.ts'
import type { Life } from '../life.ts'
import type { WaitOptions } from '../types.ts'
import type { VersionEntry } from './version.ts'

const DEFAULT_TIMEOUT_MS = 2_000

/** Resolves when the state of each replica of the version is merged, or the replica retired; rejects with a VersionError or the signal's reason. */
export function waitForVersion(life: Life, token: string, { signal, timeoutMs = DEFAULT_TIMEOUT_MS }: WaitOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const version = life.tokens.decode(token)
    let abort = (): void => {}
    const done = (error?: unknown): true => {
      signal?.removeEventListener('abort', abort)
      if (error === undefined) {
        resolve()
      } else {
        reject(error)
      }
      return true
    }
    const check = (): boolean => {
      let waiting = false
      for (const entry of version.values()) {
        const state = judge(life, entry)
        if (state instanceof VersionError) {
          return done(state)
        }
        waiting ||= state === 'behind'
      }
      return waiting ? false : done()
    }
    const giveUp = life.waiting.add(check, timeoutMs, () => {
      done(new VersionError('BEHIND', `not all of the version was merged within ${timeoutMs} ms`))
    })
    abort = () => {
      giveUp()
      done(signal?.reason)
    }
    signal?.addEventListener('abort', abort, { once: true })
  })
}

function judge(life: Life, { ref, head }: VersionEntry): 'merged' | 'behind' | VersionError {
  const record = life.map.record(ref)
  if (record !== undefined) {
    if (record.head < head || !record.complete) {
      return 'behind'
    }
    return life.cluster.isHidden(ref)
      ? new VersionError('HIDDEN', `replica ${ref.id} is judged down here: its presences are not listed`)
      : 'merged'
  }
  if (!life.cluster.isForgotten(ref)) {
    return 'behind'
  }
  const superseded = life.cluster.replicas().some(({ id, incarnation }) => id === ref.id && incarnation > ref.incarnation)
  return superseded ? 'merged' : new VersionError('FORGOTTEN', `replica ${ref.id} was dropped here`)
}
