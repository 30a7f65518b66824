import { WebSocket } from 'ws'
import { closeLater } from '../../support/gateway/close-all.ts'

/** A client that keeps nothing of what it is told but the newest: for many clients, and for many frames. */
export interface LightClient {
  readonly ws: WebSocket
  /** Frames by event, and bytes of all. */
  readonly frames: Record<string, number>
  readonly bytes: number
  /** The newest frame of an event in a topic, as text. */
  last(topic: string, event: string): string | undefined
  readonly close: { readonly code: number; readonly reason: string } | undefined
}

const HEAD = /^\[(?:null|"[^"]*"),(?:null|"[^"]*"),"([^"]*)","([^"]*)"/

/** Connects, and joins the topics to watch them. Resolves when it has each state. */
export async function openLight(url: string, user: string, topics: readonly string[]): Promise<LightClient> {
  const ws = new WebSocket(`${url}/websocket?user=${user}&vsn=2.0.0`, [], { perMessageDeflate: false })
  closeLater(() => ws.terminate())
  const newest = new Map<string, Buffer>()
  const client = {
    ws,
    frames: {} as Record<string, number>,
    bytes: 0,
    close: undefined as LightClient['close'],
    last: (topic: string, event: string) => newest.get(`${topic} ${event}`)?.toString()
  }
  const synced = Promise.withResolvers<void>()
  ws.on('message', (data: Buffer) => {
    const [, topic = '', event = ''] = HEAD.exec(data.toString('latin1', 0, 80)) ?? []
    client.frames[event] = (client.frames[event] ?? 0) + 1
    client.bytes += data.length
    newest.set(`${topic} ${event}`, data)
    if (client.frames.presence_state === topics.length) {
      synced.resolve()
    }
  })
  ws.on('close', (code, reason) => {
    client.close = { code, reason: reason.toString() }
  })
  ws.on('error', () => undefined)
  await new Promise((resolve, reject) => ws.once('open', resolve).once('error', reject))
  for (const topic of topics) {
    ws.send(JSON.stringify([topic, topic, topic, 'phx_join', { presence: { present: false } }]))
  }
  if (topics.length > 0) {
    await synced.promise
  }
  return client
}
