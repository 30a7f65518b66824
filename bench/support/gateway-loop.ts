import type { Server } from 'node:http'
import { type WebSocket, WebSocketServer } from 'ws'
import { PING_INTERVAL_MS } from './gateway-protocol.ts'

interface Member {
  readonly key: string
  readonly metas: readonly object[]
}

interface Room {
  readonly members: Map<string, Member>
  readonly watchers: Set<WebSocket>
}

/**
 * Presence in one process as one writes it by hand over `ws`: a Map of who is there and a Set of who watches; at each join and leave every watcher is sent the
 * change. It speaks the same protocol as the gateway, and knows neither sessions nor grace nor other replicas.
 */
export class PresenceLoop {
  readonly #rooms = new Map<string, Room>()
  readonly #encodeOnce: boolean
  #nextRef = 1

  constructor(server: Server, encodeOnce: boolean) {
    this.#encodeOnce = encodeOnce
    const sockets = new WebSocketServer({ server, perMessageDeflate: false })
    sockets.on('connection', (socket, request) => {
      const user = new URL(request.url ?? '', 'ws://host').searchParams.get('user') ?? ''
      socket.on('message', data => this.#heard(socket, user, JSON.parse(String(data))))
      socket.on('close', () => this.#closed(socket, user))
    })
    setInterval(() => {
      for (const socket of sockets.clients) {
        socket.ping()
      }
    }, PING_INTERVAL_MS)
  }

  #heard(socket: WebSocket, user: string, [joinRef, ref, topic, event, payload]: [string, string, string, string, JoinPayload]): void {
    if (event !== 'phx_join') {
      return
    }
    const room = this.#room(topic)
    const { presence, ...meta } = payload
    socket.send(JSON.stringify([joinRef, ref, topic, 'phx_reply', { status: 'ok', response: {} }]))
    if (presence?.watch !== 'none') {
      const state = Object.fromEntries([...room.members.values()].map(({ key, metas }) => [key, { metas }]))
      socket.send(JSON.stringify([joinRef, null, topic, 'presence_state', state]))
      room.watchers.add(socket)
    }
    if (presence?.present !== false) {
      const member = { key: user, metas: [{ ...meta, phx_ref: `ref-${this.#nextRef++}` }] }
      room.members.set(user, member)
      this.#tell(room, topic, { joins: { [user]: { metas: member.metas } }, leaves: {} })
    }
  }

  #closed(socket: WebSocket, user: string): void {
    for (const [topic, room] of this.#rooms) {
      room.watchers.delete(socket)
      const member = room.members.get(user)
      if (member !== undefined) {
        room.members.delete(user)
        this.#tell(room, topic, { joins: {}, leaves: { [user]: { metas: member.metas } } })
      }
    }
  }

  #tell(room: Room, topic: string, diff: object): void {
    const encode = (): string => JSON.stringify([null, null, topic, 'presence_diff', diff])
    const text = this.#encodeOnce ? encode() : undefined
    for (const watcher of room.watchers) {
      watcher.send(text ?? encode())
    }
  }

  #room(topic: string): Room {
    const room = this.#rooms.get(topic) ?? { members: new Map(), watchers: new Set() }
    this.#rooms.set(topic, room)
    return room
  }
}

interface JoinPayload {
  readonly presence?: { readonly watch?: string; readonly present?: boolean }
  readonly [name: string]: unknown
}
