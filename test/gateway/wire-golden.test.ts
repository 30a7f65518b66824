import * as phoenix from 'phoenix'
import { afterEach, describe, expect, it } from 'vitest'
import { closeAll } from '../support/gateway/phoenix-client.ts'
import { type Line, play, readScenes } from '../support/gateway/wire-scenes.ts'

afterEach(closeAll)

interface Message {
  readonly join_ref: string | null
  readonly ref: string | null
  readonly topic: string
  readonly event: string
  readonly payload: object
}

/** The client's own, which its types leave out. */
const { Serializer } = phoenix as unknown as {
  readonly Serializer: {
    decode(text: string, done: (message: Message) => void): void
    encode(message: Message, done: (text: string) => void): void
  }
}

function decode(text: string): Message {
  let decoded: Message | undefined
  Serializer.decode(text, message => {
    decoded = message
  })
  return decoded as Message
}

const scenes = readScenes()
const sent = (direction: '<' | '>'): string[] =>
  scenes.flatMap(({ lines }) => lines.filter(([who, what]) => who !== 'deliver' && what === direction).map(([, , text]) => text))

/** What each client gets, in its order; between clients there is none. */
function byClient(lines: readonly Line[]): Record<string, string[]> {
  const heard: Record<string, string[]> = Object.create(null)
  for (const [who, what, text] of lines) {
    if (what === '<') {
      heard[who] = [...(heard[who] ?? []), text]
    }
  }
  return heard
}

describe('pub-C12: golden frames of Phoenix Channels V2', () => {
  it.each(scenes)('$name: what is sent, byte for byte', async scene => {
    expect(byClient(await play(scene))).toEqual(byClient(scene.lines))
  })

  it('the client’s own serializer reads each, and what clients send here is what it writes', () => {
    for (const text of sent('<')) {
      const { join_ref, ref, topic, event, payload } = decode(text)
      expect(JSON.stringify([join_ref, ref, topic, event])).toBe(JSON.stringify((JSON.parse(text) as unknown[]).slice(0, 4)))
      expect(payload).toBeTypeOf('object')
    }
    for (const text of sent('>')) {
      Serializer.encode(decode(text), written => expect(written).toBe(JSON.stringify(JSON.parse(text))))
    }
  })

  it('the names of all events that are sent, but those of the app’s own messages', () => {
    const names = new Set(sent('<').map(text => decode(text).event))
    names.delete('ring')
    expect([...names].sort()).toEqual(['phx_close', 'phx_reply', 'presence_count', 'presence_diff', 'presence_mode', 'presence_state'])
  })

  it('what is said to one join carries its join_ref; what is said to all carries none', () => {
    const toAll = new Set(['presence_diff', 'presence_count', 'presence_mode', 'ring'])
    for (const text of sent('<')) {
      const { join_ref, event, topic } = decode(text)
      if (topic !== 'phoenix') {
        expect([event, join_ref === null]).toEqual([event, toAll.has(event)])
      }
    }
  })

  it('the client’s own Presence, told each topic’s frames in order, lists what the last state and diffs say', () => {
    const lines = scenes.find(({ name }) => name === 'two tabs of one user')?.lines ?? []
    let listed: Record<string, { metas: { tab: number }[] }> = {}
    const told: string[] = []
    const tell =
      (what: string) =>
      (key: string | undefined, _: unknown, { metas }: { metas: { tab: number }[] }): void =>
        void told.push(`${what} ${key} ${metas.map(({ tab }) => tab)}`)
    const [onJoin, onLeave] = [tell('join'), tell('leave')]
    for (const text of byClient(lines).bob ?? []) {
      const { event, payload } = decode(text)
      if (event === 'presence_state') {
        listed = phoenix.Presence.syncState(listed, payload, onJoin, onLeave) as typeof listed
      } else if (event === 'presence_diff') {
        listed = phoenix.Presence.syncDiff(listed, payload as { joins: object; leaves: object }, onJoin, onLeave) as typeof listed
      }
    }
    expect(told).toEqual(['join ann 1', 'join ann 2', 'leave ann 1', 'join ann 4', 'leave ann 2'])
    expect(listed.ann?.metas.map(({ tab }) => tab)).toEqual([4])
  })
})
