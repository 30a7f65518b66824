import { readFileSync } from 'node:fs'
import { type Authorize, allow, type GatewayOptions } from '../../../src/net/gateway/index.ts'
import type { Meta } from '../../../src/tracker/types.ts'
import { until } from '../net/until.ts'
import { openRaw, type RawClient } from './raw-client.ts'
import { startGateway } from './serve-gateway.ts'

/** `['ann', '>', text]`: ann sends it; `['ann', '<', text]`: it is the next thing that ann gets; `['deliver', user, message]`: the app sends a message. */
export type Line = readonly [who: string, what: string, text: string]

/** Of new clients on a new gateway. A client's name is its user up to a slash, and its session. */
export interface Scene {
  readonly name: string
  /** Those options of the gateway that differ. */
  readonly gateway?: Partial<GatewayOptions>
  readonly lines: readonly Line[]
}

/** Golden frames of Phoenix Channels V2: test/vectors/phoenix-v2.json. */
export function readScenes(): Scene[] {
  return JSON.parse(readFileSync(new URL('../../vectors/phoenix-v2.json', import.meta.url), 'utf8'))
}

let revokedAsked = false

/** Rights by the topic's name. That to `room:revoked` is short, and no more when it is asked for again. */
const byTopic: Authorize = ({ topic, payload, wantedKey }) => {
  const { config: _, presence: __, ...meta } = payload
  if (topic === 'room:secret' || (topic === 'room:revoked' && revokedAsked)) {
    return false
  }
  revokedAsked ||= topic === 'room:revoked'
  return allow({
    meta: meta as Meta,
    ...(topic === 'room:revoked' && { validMs: 1 }),
    ...(wantedKey !== undefined && { key: wantedKey })
  })
}

export interface Stage {
  client(name: string): Promise<RawClient>
  deliver(user: string, text: string): Promise<unknown>
  readonly clients: ReadonlyMap<string, RawClient>
}

/** Where a scene plays. Refs are the same each time, as they are made of names and contents. */
export async function setStage({ gateway }: Scene): Promise<Stage> {
  revokedAsked = false
  const served = await startGateway({ gateway: { authorize: byTopic, diffWindowMs: 0, ...gateway } })
  const clients = new Map<string, RawClient>()
  return {
    clients,
    async client(name) {
      const known = clients.get(name)
      if (known !== undefined) {
        return known
      }
      const client = await openRaw(served.url, { user: name.split('/')[0] as string, session: name })
      clients.set(name, client)
      return client
    },
    deliver: (user, text) => served.gateway.deliver(user, JSON.parse(text))
  }
}

/** Plays a scene: returns it with what the server really sent. */
export async function play(scene: Scene): Promise<Line[]> {
  const stage = await setStage(scene)
  const read = new Map<string, number>()
  const lines: Line[] = []
  const next = async (name: string): Promise<string> => {
    const { texts } = await stage.client(name)
    const at = read.get(name) ?? 0
    await until(`frame ${at} of ${name} in “${scene.name}”`, () => texts.length > at, 5_000)
    read.set(name, at + 1)
    return texts[at] as string
  }
  for (const [who, what, text] of scene.lines) {
    if (who === 'deliver') {
      await stage.deliver(what, text)
    } else if (what === '>') {
      ;(await stage.client(who)).send(text)
    }
    lines.push(what === '<' ? [who, what, await next(who)] : [who, what, text])
  }
  for (const [name, client] of stage.clients) {
    client.send('[null,"end","phoenix","heartbeat",{}]')
    const end = await next(name)
    // Whatever came beyond what the scene says stands before it.
    if (!end.startsWith('[null,"end",')) {
      lines.push([name, '<', end])
    }
  }
  return lines
}
