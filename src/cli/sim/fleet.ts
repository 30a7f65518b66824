import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadOrCreateKey } from '../../net/libp2p/key-file.ts'
import type { TrackerOptions } from '../../tracker/options.ts'
import { CommandError } from '../errors.ts'
import { openReplica } from '../open-replica.ts'
import type { ReplicaHandle } from '../replica.ts'
import { freePort } from './ports.ts'
import { type LinkMode, LinkProxy } from './proxy.ts'
import { WorkerHandle } from './worker-handle.ts'
import type { WorkerEvents } from './worker-protocol.ts'

/** A fleet, all replicas alike. */
export interface FleetOptions {
  readonly replicas: number
  readonly cluster: string
  readonly options: Omit<TrackerOptions, 'transport' | 'environment' | 'cluster'>
  readonly clientHeartbeatMs: number
  readonly listener: FleetListener
  /** Replicas dial each other without proxies: nothing can be cut or counted, and nothing is added to latencies. Default false. */
  readonly direct?: boolean
}

/** What the processes tell, by the number of the replica. */
export interface FleetListener {
  events(replica: number, events: WorkerEvents): void
  ready(replica: number, atMs: number): void
  /** A process ended though nobody killed or stopped it. */
  crashed(replica: number, detail: string): void
}

/** One replica of the fleet: its process comes and goes, its id and its links stay. */
interface Member {
  readonly id: string
  readonly identity: string
  readonly port: number
  worker: WorkerHandle | undefined
  /** Between a start and its `started`, a kill must not be overtaken by it. */
  lives: number
}

/** Replica 0 is `a`, 25 is `z`, 26 is `a1`. */
export const replicaName = (replica: number): string =>
  String.fromCharCode(97 + (replica % 26)) + (replica < 26 ? '' : String(Math.floor(replica / 26)))

/**
 * N replicas, each a process, and a proxy for every directed link. Each replica is told only the proxies of its own links, so that
 * nothing passes between two of them that does not pass a proxy.
 */
export class Fleet {
  readonly #options: FleetOptions
  readonly #directory = mkdtempSync(join(tmpdir(), 'rollcall-fleet-'))
  readonly #members: Member[] = []
  /** proxies[from][to]; the diagonal is not used. */
  readonly #proxies: LinkProxy[][] = []
  #stopped = false

  constructor(options: FleetOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#options.replicas
  }

  idOf(replica: number): string {
    return (this.#members[replica] as Member).id
  }

  /** The number of the replica with this id; −1 when it is none of ours. */
  indexOf(id: string): number {
    return this.#members.findIndex(member => member.id === id)
  }

  worker(replica: number): WorkerHandle | undefined {
    return this.#members[replica]?.worker
  }

  /** Makes keys and links, then starts the processes; `running` of them, all by default. Resolves when each listens. */
  async start(running = this.size): Promise<void> {
    for (let from = 0; from < this.size; from++) {
      const identity = join(this.#directory, `${replicaName(from)}.key`)
      const key = await loadOrCreateKey(identity)
      this.#members.push({ id: key.publicKey.toString(), identity, port: await freePort(), worker: undefined, lives: 0 })
      this.#proxies.push(Array.from({ length: this.size }, () => new LinkProxy()))
    }
    await Promise.all(this.#links().map(([, , proxy]) => proxy.start()))
    await Promise.all(this.#members.slice(0, running).map((_, replica) => this.startReplica(replica)))
  }

  /** Starts a replica that is not running. Its id is that of before. Throws CommandError when it cannot start, or the fleet has stopped. */
  async startReplica(replica: number): Promise<void> {
    if (this.#stopped) {
      throw new CommandError('the fleet has stopped')
    }
    const member = this.#members[replica] as Member
    const life = ++member.lives
    const worker = new WorkerHandle(
      {
        cluster: this.#options.cluster,
        identity: member.identity,
        port: member.port,
        peers: this.#peersOf(replica),
        options: this.#options.options,
        clientHeartbeatMs: this.#options.clientHeartbeatMs
      },
      {
        events: events => this.#options.listener.events(replica, events),
        ready: atMs => this.#options.listener.ready(replica, atMs),
        exited: (expected, detail) => {
          if (!expected) {
            this.#options.listener.crashed(replica, detail)
          }
        }
      }
    )
    member.worker = worker
    await worker.started()
    if (member.lives === life) {
      await this.#aim(replica, member.port)
    }
  }

  /** One more replica, in this process, that dials all others without proxies. It is none of the fleet's: whoever opens it stops it, before the fleet. */
  openObserver(): Promise<ReplicaHandle> {
    return openReplica({
      cluster: this.#options.cluster,
      listen: ['/ip4/127.0.0.1/tcp/0'],
      peers: this.#members.map(({ id, port }) => `/ip4/127.0.0.1/tcp/${port}/p2p/${id}`),
      hideAddresses: true,
      identity: join(this.#directory, 'observer.key'),
      allow: [],
      swarmKey: undefined,
      mdns: false,
      options: this.#options.options
    })
  }

  /** SIGKILL. Links to it refuse until it is started again. */
  async killReplica(replica: number): Promise<void> {
    const worker = this.#leave(replica)
    // First: a dead process must not be dialled in the instant before its links know.
    await this.#aim(replica, 0)
    await worker?.kill()
  }

  /** Goodbye, and exit. */
  async stopReplica(replica: number, announce: boolean): Promise<void> {
    const worker = this.#leave(replica)
    await this.#aim(replica, 0)
    await worker?.stop(announce)
  }

  /** Both directions of every link between the two groups. */
  async setLinks(groups: readonly [readonly number[], readonly number[]], mode: LinkMode): Promise<void> {
    const [left, right] = groups
    const links = left.flatMap(a => right.flatMap(b => [this.#proxies[a]?.[b], this.#proxies[b]?.[a]]))
    await Promise.all(links.map(link => link?.setMode(mode)))
  }

  /** Bytes forwarded so far between two replicas, both ways. */
  linkBytes(a: number, b: number): number {
    return (this.#proxies[a]?.[b]?.bytes ?? 0) + (this.#proxies[b]?.[a]?.bytes ?? 0)
  }

  /** Over all links. */
  totalBytes(): number {
    return this.#links().reduce((total, [, , proxy]) => total + proxy.bytes, 0)
  }

  /** Ends all processes and links, and removes the keys. */
  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#members.map((_, replica) => this.killReplica(replica)))
    await Promise.all(this.#links().map(([, , proxy]) => proxy.stop()))
    rmSync(this.#directory, { recursive: true, force: true })
  }

  #links(): [number, number, LinkProxy][] {
    return this.#proxies.flatMap((row, from) =>
      row.flatMap((proxy, to): [number, number, LinkProxy][] => (from === to ? [] : [[from, to, proxy]]))
    )
  }

  #peersOf(replica: number): string[] {
    const row = this.#proxies[replica] as LinkProxy[]
    return this.#members.flatMap(({ id, port }, to) => {
      const dialled = this.#options.direct ? port : row[to]?.port
      return to === replica ? [] : [`/ip4/127.0.0.1/tcp/${dialled}/p2p/${id}`]
    })
  }

  async #aim(replica: number, port: number): Promise<void> {
    await Promise.all(this.#proxies.map((row, from) => (from === replica ? undefined : row[replica]?.retarget(port))))
  }

  #leave(replica: number): WorkerHandle | undefined {
    const member = this.#members[replica] as Member
    member.lives++
    const worker = member.worker
    member.worker = undefined
    return worker
  }
}
