import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { closeLater } from './close-all.ts'

export interface LoadBalancer {
  /** For clients: `ws://127.0.0.1:port/socket` */
  readonly url: string
  readonly origin: string
  /** Puts a port in service. */
  add(target: number): void
  /** Takes a port out of service: it gets no new connections. Those that are open stay. */
  remove(target: number): void
  /** Connections to the port that are open now. */
  openTo(target: number): number
  stop(): Promise<void>
}

/**
 * A TCP proxy on the loopback. Each new connection goes to the next port in service that accepts it, in turn; when none does, it is reset.
 *
 * @param targets ports of 127.0.0.1
 */
export async function startLoadBalancer(targets: readonly number[]): Promise<LoadBalancer> {
  const inService = new Set(targets)
  const open = new Map<number, Set<Socket>>()
  const nears = new Set<Socket>()
  let turn = 0
  const server = createServer({ noDelay: true, pauseOnConnect: true }, async near => {
    nears.add(near)
    near.on('close', () => nears.delete(near)).on('error', () => undefined)
    const start = turn++
    const inOrder = [...inService]
    for (let attempt = 0; attempt < inOrder.length; attempt++) {
      const target = inOrder[(start + attempt) % inOrder.length] as number
      const far = await accepted(target)
      if (far !== undefined) {
        count(open, target, far)
        join(near, far)
        return
      }
    }
    near.resetAndDestroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const stop = closeLater(async () => {
    const closed = once(server, 'close')
    server.close()
    for (const near of nears) {
      near.destroy()
    }
    await closed
  })
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: `ws://${host}/socket`,
    origin: `http://${host}`,
    add: target => void inService.add(target),
    remove: target => void inService.delete(target),
    openTo: target => open.get(target)?.size ?? 0,
    stop
  }
}

/** A connection to the port; undefined when nobody listens there. */
function accepted(port: number): Promise<Socket | undefined> {
  return new Promise(resolve => {
    const far = connect({ port, host: '127.0.0.1', noDelay: true })
    // Kept for the life of the socket: an error that nobody hears would end the process.
    far.on('connect', () => resolve(far)).on('error', () => resolve(undefined))
  })
}

function count(open: Map<number, Set<Socket>>, target: number, far: Socket): void {
  const sockets = open.get(target) ?? new Set()
  open.set(target, sockets.add(far))
  far.on('close', () => sockets.delete(far))
}

/** What one side ends or breaks, the other sees ended, after all that was sent before. */
function join(near: Socket, far: Socket): void {
  if (near.destroyed) {
    far.destroy()
    return
  }
  near.on('close', () => far.destroySoon())
  far.on('close', () => near.destroySoon())
  near.pipe(far)
  far.pipe(near)
}
