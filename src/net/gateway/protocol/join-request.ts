import type { WatchMode } from '../feeds/feeds.ts'

/** What a join asks for, and whether by name: what was asked for by name and is denied fails the join. */
export interface JoinRequest {
  readonly watch: WatchMode | 'none'
  readonly present: boolean
  readonly insists: { readonly watch: boolean; readonly present: boolean }
  readonly wantedKey: string | undefined
  /** The client is Supabase's: it shows itself by an event of its own, and expects another reply. */
  readonly isSupabase: boolean
  readonly accessToken: string | undefined
}

type Payload = Readonly<Record<string, unknown>>

/** Undefined, in effect, for whatever is not as docs/gateway.md says: a client's odd payload is its app's business. */
export function readJoin(topic: string, payload: Payload): JoinRequest {
  const accessToken = textIn(payload, 'access_token')
  const config = objectIn(payload, 'config')
  if (topic.startsWith('realtime:') && config !== undefined) {
    const presence = objectIn(config, 'presence') ?? {}
    const watch = presence.enabled === true ? 'list' : 'none'
    return {
      watch,
      present: false,
      insists: { watch: true, present: false },
      wantedKey: textIn(presence, 'key'),
      isSupabase: true,
      accessToken
    }
  }
  const wishes = objectIn(payload, 'presence') ?? {}
  const watch = wishes.watch === 'list' || wishes.watch === 'counts' || wishes.watch === 'none' ? wishes.watch : undefined
  const present = typeof wishes.present === 'boolean' ? wishes.present : undefined
  return {
    watch: watch ?? 'list',
    present: present ?? true,
    insists: { watch: watch !== undefined && watch !== 'none', present: present === true },
    wantedKey: textIn(wishes, 'key'),
    isSupabase: false,
    accessToken
  }
}

export function objectIn(payload: Payload, name: string): Payload | undefined {
  const value = Object.hasOwn(payload, name) ? payload[name] : undefined
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Payload) : undefined
}

export function textIn(payload: Payload, name: string): string | undefined {
  const value = Object.hasOwn(payload, name) ? payload[name] : undefined
  return typeof value === 'string' && value !== '' ? value : undefined
}
