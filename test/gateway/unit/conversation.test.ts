import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Channel } from '../../../src/net/gateway/clients/channel.ts'
import { type ChannelsClient, Conversation } from '../../../src/net/gateway/clients/conversation.ts'
import { readJoin } from '../../../src/net/gateway/protocol/join-request.ts'
import { allow } from '../../../src/net/gateway/rights/hooks.ts'
import { type Grant, type Permissions, UNAVAILABLE } from '../../../src/net/gateway/rights/permissions.ts'

let grant: () => Grant
let hidden: string[]
let conversation: Conversation
let channel: Channel

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
  hidden = []
  grant = () => ({ answer: allow(), untilMs: performance.now() + 5_000 })
  const client = {
    identity: { user: 'ann' },
    proof: 'token',
    address: '127.0.0.1',
    takes: true,
    presences: { has: () => true, show: () => 'ref', hide: (topic: string) => hidden.push(topic) },
    send: () => {},
    sendParts: () => {}
  } as unknown as ChannelsClient
  const permissions = { ask: async () => grant() } as unknown as Permissions
  conversation = new Conversation({ client, permissions, systemTopics: new Map(), systemClient: () => ({ push: () => true }) })
  channel = new Channel(client, 'room', '1', readJoin('room', {}), {}, 0)
})

afterEach(() => {
  vi.useRealTimers()
})

const standing = () => channel.standing.get('watch')

describe('a right that a channel has', () => {
  it('is asked for again when the answer is as old as it may be', async () => {
    await conversation.enter(channel)
    expect(standing()?.askMs).toBe(performance.now() + 5_000)
  })

  it('is asked for once a second at most, however short the answer holds', async () => {
    grant = () => ({ answer: allow(), untilMs: performance.now() })
    await conversation.enter(channel)
    expect(standing()?.askMs).toBe(performance.now() + 1_000)
  })

  it('holds for a minute while the hook fails, and is asked for each second; then it ends as unavailable', async () => {
    await conversation.enter(channel)
    vi.advanceTimersByTime(5_000)
    grant = () => ({ answer: UNAVAILABLE, untilMs: 0 })
    for (let second = 0; second < 60; second++) {
      expect(await conversation.recheck(channel, 'watch', standing() as never)).toBeUndefined()
      expect(standing()?.askMs).toBe(performance.now() + 1_000)
      vi.advanceTimersByTime(1_000)
    }
    expect(hidden).toEqual([])
    expect(await conversation.recheck(channel, 'watch', standing() as never)).toBe(UNAVAILABLE)
    expect(hidden).toEqual(['room'])
  })

  it('that comes back within the minute begins anew', async () => {
    await conversation.enter(channel)
    vi.advanceTimersByTime(5_000)
    grant = () => ({ answer: UNAVAILABLE, untilMs: 0 })
    await conversation.recheck(channel, 'watch', standing() as never)
    vi.advanceTimersByTime(30_000)
    grant = () => ({ answer: allow(), untilMs: performance.now() + 5_000 })
    await conversation.recheck(channel, 'watch', standing() as never)
    expect(standing()).toMatchObject({ askMs: performance.now() + 5_000, endMs: performance.now() + 65_000 })
  })
})
