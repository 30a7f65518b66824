import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { HttpRoute } from '../types.ts'
import { urlOf } from './request.ts'
import { refuseUpgrade } from './websocket-door.ts'

type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer, url: URL) => boolean

/**
 * Puts our requests before those of the server's owner, and leaves all others to him. Returns how to undo it.
 *
 * A request listener cannot say that it has taken a request, so the owner's are called by ours, for what is not ours; those that are added later are
 * called for everything, as without us.
 */
export function hookServer(server: Server, routes: readonly HttpRoute[], upgrade: Upgrade): () => void {
  const owners = server.listeners('request') as ((request: IncomingMessage, response: ServerResponse) => void)[]
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    const url = urlOf(request)
    if (url !== undefined && routes.some(route => route(request, response, url))) {
      return
    }
    if (owners.length === 0 && server.listenerCount('request') === 1) {
      notFound(response)
    }
    for (const owner of owners) {
      owner.call(server, request, response)
    }
  }
  const onUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    const url = urlOf(request)
    // Somebody else may want it; where there is nobody, it must not hang.
    if ((url === undefined || !upgrade(request, socket, head, url)) && isLastOf(server, onUpgrade)) {
      refuseUpgrade(socket, { status: 404, reason: 'path', message: 'there is no such path' })
    }
  }
  ours.add(onUpgrade)
  server.removeAllListeners('request')
  server.on('request', onRequest)
  server.on('upgrade', onUpgrade)
  return () => {
    server.off('request', onRequest)
    server.off('upgrade', onUpgrade)
    for (const owner of owners) {
      server.on('request', owner)
    }
  }
}

/** Listeners of gateways: there may be several on one server. */
const ours = new WeakSet<object>()

/** Whether nobody but gateways is asked for upgrades, and this one last. */
function isLastOf(server: Server, onUpgrade: object): boolean {
  const listeners = server.listeners('upgrade')
  return listeners.every(listener => ours.has(listener)) && listeners.at(-1) === onUpgrade
}

function notFound(response: ServerResponse): void {
  response.writeHead(404, { 'content-type': 'text/plain' }).end('there is no such path\n')
}
