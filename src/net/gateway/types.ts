import type { IncomingMessage, ServerResponse } from 'node:http'

/** What `deliver` found out. */
export interface Delivery {
  /** Sockets of the user on this gateway that had joined the topic, and were sent the message. */
  readonly sent: number
  /** Those of them that are known to have taken it: they answered a ping that followed it. */
  readonly acked: number
}

/** A message for a channel of the client. */
export interface Message {
  readonly topic: string
  readonly event: string
  readonly payload: object
}

/** Numbers for metrics and tests: docs/gateway.md. */
export interface GatewayStats {
  readonly [name: string]: number
}

/** Clients of one replica. Made by `attachGateway`. */
export interface Gateway {
  /** Open sockets, long polls included. */
  readonly size: number
  /**
   * Tells the tracker to take no new connections, turns newcomers away with 503, and closes all sockets with 1012, paced. Their sessions come back
   * elsewhere, and nobody sees an event. Resolves when the last one has gone.
   */
  drain(): Promise<void>
  /** Closes what is left with 1001 and lets go of the server. Idempotent. */
  stop(): Promise<void>
  /**
   * Sends a message to a user's clients **on this gateway**, and says how many have it. Presence is a hint: a connection that is half dead is still listed. Who
   * has to decide between a socket and a push notification decides by `acked`.
   */
  deliver(user: string, message: Message, options?: { readonly timeoutMs?: number }): Promise<Delivery>
  stats(): GatewayStats
}

/** One client that joined a topic of the gateway's own. */
export interface SystemClient {
  /** Nothing is sent while the client reads slowly: false. Send the newest state later. An object that is pushed to many, and not changed, is encoded once. */
  push(event: string, payload: object): boolean
}

/** What came of a join to such a topic. */
export interface SystemSession {
  /** The client pushed an event. What it returns is the reply; what it throws is an error reply with the error's message. */
  handle(event: string, payload: Readonly<Record<string, unknown>>): object | Promise<object>
  /** The client has left, or its socket has closed. */
  leave(): void
}

/** A topic of the gateway's own: no presences are shown in it, and joining needs the right to `watch` it. */
export interface SystemTopic {
  readonly topic: string
  join(client: SystemClient): SystemSession
}

/** Takes a request if it is its own. */
export type HttpRoute = (request: IncomingMessage, response: ServerResponse, url: URL) => boolean
