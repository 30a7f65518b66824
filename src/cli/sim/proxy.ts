import { connect, createServer, type Server, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { codeOf } from '../errors.ts'
import { freePort } from './ports.ts'
import { type Shape, Shaper, type SlowLink } from './shaper.ts'

/**
 * open: forwards · cut: closes what is open and refuses what comes · blackhole: keeps connections open, forwards nothing, takes new ones
 * and says nothing · slow: forwards late and little.
 */
export type LinkMode = 'open' | 'cut' | 'blackhole' | 'slow'

const DEFAULT_SLOW: SlowLink = { delayMs: 150, bytesPerSecond: 256 * 1_024 }

const LISTEN_ATTEMPTS = 100
const LISTEN_RETRY_MS = 50

/**
 * One directed link: listens on a port of the loopback, dials `target` for each connection. What is dialled through it belongs to it,
 * both ways.
 */
export class LinkProxy {
  readonly #server: Server
  readonly #slow: SlowLink
  readonly #pipes = new Set<Pipe>()
  #port = 0
  #target = 0
  #mode: LinkMode = 'open'
  #bytes = 0
  #turn: Promise<void> = Promise.resolve()

  constructor(slow: SlowLink = DEFAULT_SLOW) {
    this.#slow = slow
    this.#server = createServer({ noDelay: true, allowHalfOpen: true }, socket => this.#accept(socket))
  }

  /** Fixed after the first start, however often the link is cut. */
  get port(): number {
    return this.#port
  }

  get mode(): LinkMode {
    return this.#mode
  }

  /** Forwarded in both directions since the start. */
  get bytes(): number {
    return this.#bytes
  }

  /** Chooses its port; refuses until it has a target. */
  async start(): Promise<void> {
    this.#port = await freePort()
  }

  /** Where new connections go; 0: nobody listens there, they are refused. Those that are open stay. */
  async retarget(port: number): Promise<void> {
    this.#target = port
    await this.#listenOrRefuse()
  }

  async setMode(mode: LinkMode): Promise<void> {
    this.#mode = mode
    if (mode === 'cut') {
      this.#dropAll()
    }
    for (const pipe of this.#pipes) {
      pipe.shape(this.#shape)
    }
    await this.#listenOrRefuse()
  }

  async stop(): Promise<void> {
    this.#target = 0
    this.#dropAll()
    await this.#listenOrRefuse()
  }

  get #shape(): Shape {
    return this.#mode === 'blackhole' ? 'hold' : this.#mode === 'slow' ? this.#slow : 'pass'
  }

  // Closing the listener is what makes the kernel refuse: an accepted and then closed connection is no refusal.
  // One after the other: the last call decides, whatever the ones before wait for.
  #listenOrRefuse(): Promise<void> {
    this.#turn = this.#turn.then(async () => {
      if (this.#target === 0 || this.#mode === 'cut') {
        this.#closeListener()
      } else {
        await this.#listen()
      }
    })
    return this.#turn
  }

  // While the port was free, somebody else may have taken it for a while: tried again until it is given back.
  async #listen(): Promise<void> {
    for (let attempt = 1; !this.#server.listening; attempt++) {
      try {
        const { promise, resolve, reject } = Promise.withResolvers<void>()
        this.#server.once('error', reject)
        this.#server.listen(this.#port, '127.0.0.1', resolve)
        await promise
        this.#server.removeListener('error', reject)
      } catch (error) {
        if (codeOf(error) !== 'EADDRINUSE' || attempt === LISTEN_ATTEMPTS) {
          throw error
        }
        await setTimeout(LISTEN_RETRY_MS)
      }
    }
  }

  #closeListener(): void {
    if (this.#server.listening) {
      this.#server.close()
    }
  }

  #dropAll(): void {
    for (const pipe of this.#pipes) {
      pipe.drop()
    }
  }

  #accept(near: Socket): void {
    if (this.#target === 0 || this.#mode === 'cut') {
      near.destroy()
      return
    }
    const far = connect({ port: this.#target, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
    const pipe = new Pipe(near, far, bytes => {
      this.#bytes += bytes
    })
    this.#pipes.add(pipe)
    pipe.shape(this.#shape)
    pipe.onEnd = () => this.#pipes.delete(pipe)
  }
}

/** One proxied connection. */
class Pipe {
  readonly #sockets: readonly Socket[]
  readonly #shapers: readonly Shaper[]
  onEnd: () => void = () => undefined

  constructor(near: Socket, far: Socket, count: (bytes: number) => void) {
    this.#sockets = [near, far]
    this.#shapers = [new Shaper(near, far, count), new Shaper(far, near, count)]
    let open = 2
    for (const socket of this.#sockets) {
      socket.on('close', () => {
        open--
        if (open === 0) {
          this.#stopShapers()
          this.onEnd()
        }
      })
    }
  }

  shape(shape: Shape): void {
    for (const shaper of this.#shapers) {
      shaper.set(shape)
    }
  }

  /** Breaks both ends at once, by a reset: one who only waits to read must notice too. */
  drop(): void {
    this.#stopShapers()
    for (const socket of this.#sockets) {
      reset(socket)
    }
  }

  #stopShapers(): void {
    for (const shaper of this.#shapers) {
      shaper.stop()
    }
  }
}

/**
 * Closes with a reset, at once. `resetAndDestroy` ends the stream first; when the peer breaks it meanwhile, the reset fails, the handle stays
 * open, and Node 26 waits for it for ever when the process ends. Where an end is under way already, the close is a plain one.
 */
function reset(socket: Socket): void {
  if (!socket.writableEnded) {
    Object.assign(socket, { resetAndClosing: true })
  }
  socket.destroy()
}
