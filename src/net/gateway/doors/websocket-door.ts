import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import type { ResolvedGatewayOptions } from '../options.ts'
import type { Wire, WireListener } from '../protocol/wire.ts'
import type { Admission, Admitted, Refused } from './admission.ts'
import { WebSocketWire } from './websocket-wire.ts'

/** Takes clients in by WebSocket. */
export class WebSocketDoor {
  readonly #admission: Admission
  readonly #accept: (wire: Wire, admitted: Admitted) => WireListener
  readonly #server: WebSocketServer

  constructor(options: ResolvedGatewayOptions, admission: Admission, accept: (wire: Wire, admitted: Admitted) => WireListener) {
    this.#admission = admission
    this.#accept = accept
    this.#server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      maxPayload: options.limits.frameBytes,
      perMessageDeflate: options.compression,
      // A client that offers protocols, one of which carries its token, hangs up unless one is chosen.
      handleProtocols: offered => (offered.has('phoenix') ? 'phoenix' : false)
    })
  }

  async enter(request: IncomingMessage, socket: Duplex, head: Buffer, url: URL, path: string): Promise<void> {
    // Until the handshake nobody else listens to it.
    const onError = (): void => void socket.destroy()
    socket.on('error', onError)
    const admitted = await this.#admission.admit(request, url, path, () => socket.destroyed)
    socket.off('error', onError)
    if ('status' in admitted) {
      refuseUpgrade(socket, admitted)
      return
    }
    let isTaken = false
    this.#server.handleUpgrade(request, socket, head, client => {
      isTaken = true
      const wire = new WebSocketWire(client)
      wire.listen(this.#accept(wire, admitted))
    })
    if (!isTaken) {
      // No WebSocket handshake, or it hung up meanwhile: it was answered.
      admitted.connection.lost()
      admitted.leave()
    }
  }
}

/** Answers an upgrade with an ordinary response. */
export function refuseUpgrade(
  socket: Duplex,
  { status, reason, message }: Pick<Refused, 'status' | 'message'> & { readonly reason: string }
): void {
  const body = JSON.stringify({ error: { reason, message } })
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'connection: close',
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    ...(status === 503 ? ['retry-after: 1'] : [])
  ]
  socket.on('error', () => socket.destroy())
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy())
}
