import { afterEach, beforeEach, expect } from 'vitest'
import { closeAll } from '../../support/gateway/close-all.ts'
import { openRaw, type RawClient } from '../../support/gateway/raw-client.ts'
import { type ServedGateway, type ServeGatewayOptions, startGateway } from '../../support/gateway/serve-gateway.ts'

export const ROOM = 'room:1'
const unhandled: unknown[] = []
const note = (reason: unknown): void => void unhandled.push(reason)

/** For a file of tests: nothing that happens in one of them would end the process. Closes what it opened. */
export function expectNothingUnhandled(): void {
  beforeEach(() => {
    unhandled.length = 0
    process.on('unhandledRejection', note).on('uncaughtException', note)
  })
  afterEach(async () => {
    await closeAll()
    await new Promise(resolve => setImmediate(resolve))
    process.off('unhandledRejection', note).off('uncaughtException', note)
    expect(unhandled).toEqual([])
  })
}

export interface Scene extends ServedGateway {
  readonly alice: RawClient
  /** Alice is as she was, has seen nobody touch her presence, and her client works. */
  unharmed(): Promise<void>
}

/** A gateway, and an honest client in it. */
export async function startScene(options: ServeGatewayOptions = {}): Promise<Scene> {
  const served = await startGateway({
    ...options,
    gateway: { limits: { framesPerSecond: 1_000_000, frameBurst: 1_000_000, frameBytes: 4_096 }, ...options.gateway },
    trackerOptions: { graceMs: 0 }
  })
  const alice = await openRaw(served.url, { user: 'alice', session: 'secret' })
  const joined = await alice.request(ROOM, 'phx_join', { name: 'Alice' })
  const { ref } = joined.response.presence
  return {
    ...served,
    alice,
    async unharmed() {
      expect(await alice.request('phoenix', 'heartbeat')).toEqual({ status: 'ok', response: {} })
      expect(served.tracker.get(ROOM, 'alice')).toMatchObject([{ ref, user: 'alice', meta: { name: 'Alice' } }])
      expect(served.tracker.connectionsOf('alice')).toHaveLength(1)
      const touched = alice.frames.filter(([, , , event, payload]) => event === 'presence_diff' && Object.hasOwn(payload.leaves, 'alice'))
      expect([touched, alice.close]).toEqual([[], undefined])
      const bob = await openRaw(served.url, { user: 'bob' })
      expect(await bob.request(ROOM, 'phx_join')).toMatchObject({ status: 'ok' })
      bob.ws.close()
    }
  }
}
