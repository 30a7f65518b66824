import type { Watcher } from '../../../src/net/gateway/feeds/watcher.ts'
import { type GatewayOptions, type ResolvedGatewayOptions, resolveGatewayOptions } from '../../../src/net/gateway/options.ts'
import type { Presence } from '../../../src/tracker/types.ts'

/** Options with defaults, of a gateway that lets everybody in. */
export const resolved = (options: Partial<GatewayOptions> = {}): ResolvedGatewayOptions =>
  resolveGatewayOptions({ authenticate: () => ({ user: 'ann' }), ...options })

export interface FakeWatcher extends Watcher {
  takes: boolean
  /** The frames that were sent to it, as text. */
  readonly texts: string[]
}

/** Keeps what is sent to it; tells `heard` of each frame as it comes. */
export function fakeWatcher(joinRef = '1', heard: (text: string) => void = () => {}): FakeWatcher {
  const texts: string[] = []
  const take = (text: string): void => {
    texts.push(text)
    heard(text)
  }
  return {
    joinRef,
    takes: true,
    texts,
    send: frame => take(frame.text),
    sendParts: parts => take(Buffer.concat(parts).toString())
  }
}

/** A presence as a tracker lists it. `session` is padded to the length of one. */
export function presenceOf(key: string, session = 'a', revision = 0, more: Partial<Presence> = {}): Presence {
  return Object.freeze({
    ref: `${session.padEnd(16, '_')}.${revision.toString(36)}.${key}`,
    prevRef: null,
    key,
    user: key,
    meta: {},
    replica: 'r',
    state: 'online' as const,
    joinedAt: 0,
    ...more
  })
}

/** Runs what is due in the microtask queue. */
export async function microtasks(): Promise<void> {
  for (let i = 0; i < 20; i++) {
    await Promise.resolve()
  }
}
