import { type EntryContent, OrMap, type ReplicaId, type ReplicaRef, refKey } from '../../src/crdt/index.ts'
import { decodeMessage, encodeMessage } from '../../src/net/codec.ts'
import { VirtualClock } from '../../src/testing/virtual-clock.ts'
import { VirtualProcess } from '../../src/testing/virtual-process.ts'
import { createCluster } from '../../src/tracker/cluster.ts'
import type { ClusterListener, ClusterPort } from '../../src/tracker/cluster-port.ts'
import { createRandom } from '../../src/tracker/environment.ts'
import { newIncarnation } from '../../src/tracker/membership.ts'
import type { Message, MessageType } from '../../src/tracker/messages.ts'
import { resolveOptions, type TrackerOptions } from '../../src/tracker/options.ts'
import { Pulse } from '../../src/tracker/pulse.ts'
import type { LinkLoss, Transport, TransportListener } from '../../src/tracker/transport.ts'
import type { Certainty } from '../../src/tracker/types.ts'

/*
 * Whole cluster sides under virtual time, over links that a test works by hand: hold, deliver, drop, duplicate, block. Every frame goes
 * through the codec, so what is counted is bytes.
 */

const LATENCY_MS = 5

/** A frame on its way, or held. */
export interface Frame {
  readonly from: ReplicaId
  readonly to: ReplicaId
  readonly message: Message
  readonly bytes: number
  readonly sentMs: number
}

/** One direction of a link. */
class Direction {
  latencyMs = LATENCY_MS
  /** `flow`: delivered after the latency. `hold`: kept for the test. `cut`: lost. */
  mode: 'flow' | 'hold' | 'cut' = 'flow'
  /** Takes no state: `send` gives false for all but heartbeats and `stale`. */
  blocked = false
  /** Frames of state that may be under way; beyond them `send` gives false until one has arrived. */
  window = Number.POSITIVE_INFINITY
  underWay = 0
  /** So many of the next frames are lost. */
  lose = 0
  /** Frames that `send` was asked to take and did not. */
  refused = 0
  readonly held: Frame[] = []
  /** Frames of an earlier link are not delivered on a later one. */
  epoch = 0
}

export type Logged = { readonly atMs: number; readonly name: string; readonly [detail: string]: unknown }

export interface NodeOptions {
  readonly id?: ReplicaId
  readonly wallClockMs?: number
  readonly options?: TrackerOptions
  readonly maxFrameBytes?: number
  readonly admits?: (id: ReplicaId) => boolean
}

/** One process: a map, a cluster side, and what its listener was told. */
export class Node implements ClusterListener {
  readonly id: ReplicaId
  readonly process: VirtualProcess
  readonly map: OrMap
  readonly cluster: ClusterPort
  readonly log: Logged[] = []
  readonly certainties = new Map<ReplicaId, Certainty>()
  readonly hidden = new Set<string>()
  net: TransportListener | undefined
  settledCount = 0
  readonly #pulse: Pulse
  readonly #world: World

  constructor(world: World, { id, wallClockMs, options, maxFrameBytes, admits }: NodeOptions & { id: ReplicaId }) {
    this.id = id
    this.#world = world
    const random = world.random.fork(`${id}/${world.starts++}`)
    this.process = new VirtualProcess({ clock: world.clock, random, wallClockMs: wallClockMs ?? world.wallMs() })
    const { environment } = this.process
    const resolved = resolveOptions({ ...world.options, ...options, environment })
    this.map = new OrMap({ self: { id, incarnation: newIncarnation(environment) }, logLimit: resolved.limits.markLog })
    const transport = world.transport(this, maxFrameBytes ?? 65_536, admits)
    this.cluster = createCluster({ map: this.map, options: resolved, environment, transport, listener: this })
    this.#pulse = new Pulse(environment, this.cluster)
  }

  get self(): ReplicaRef {
    return this.map.self
  }

  start(): this {
    void this.cluster.start()
    this.#pulse.start()
    return this
  }

  stop(announce = false): void {
    this.cluster.bye(announce)
    this.#pulse.stop()
    void this.cluster.stop()
  }

  /** One entry per name, in topic `room`, and the push that follows. */
  track(...keys: string[]): void {
    for (const key of keys) {
      this.map.add(content(key))
    }
    this.cluster.changed()
  }

  untrack(...keys: string[]): void {
    for (const entry of [...this.map.entries(this.self)]) {
      if (keys.length === 0 || keys.includes(entry.key)) {
        this.map.mark(entry.counter, 3, 1)
      }
    }
    this.cluster.changed()
  }

  /** Keys of all entries that are not hidden, sorted; once per entry. */
  list(): string[] {
    const keys: string[] = []
    for (const { ref } of this.map.records()) {
      if (!this.hidden.has(refKey(ref))) {
        for (const entry of this.map.entries(ref)) {
          keys.push(entry.key)
        }
      }
    }
    return keys.sort()
  }

  status(id: ReplicaId): string | undefined {
    return this.cluster.replicas().find(replica => replica.id === id)?.status
  }

  stat(name: string): number {
    return this.cluster.stats()[name] ?? Number.NaN
  }

  /** Names of users' events about `id`, in order: `up a#1`. Incarnations are numbered in the order in which they were named here. */
  events(id?: ReplicaId): string[] {
    return this.log
      .filter(event => event.name.startsWith('replica:') && (id === undefined || event.id === id))
      .map(event => event.name.slice(8))
  }

  logged(name: string): Logged[] {
    return this.log.filter(event => event.name === name)
  }

  note(name: string, detail: object = {}): void {
    this.log.push({ atMs: this.#world.clock.nowMs, name, ...detail })
  }

  merged(ref: ReplicaRef, result: Parameters<ClusterListener['merged']>[1], cause: 'delta' | 'transfer'): void {
    this.note('merged', { ref, cause, added: result.added.length, removed: result.removed.length, complete: result.complete })
  }

  certainty(id: ReplicaId, state: Certainty): void {
    this.certainties.set(id, state)
    this.note('certainty', { id, state })
  }

  hide(ref: ReplicaRef, reason: string): void {
    this.hidden.add(refKey(ref))
    this.note('hide', { ref, reason })
  }

  show(ref: ReplicaRef): void {
    this.hidden.delete(refKey(ref))
    this.note('show', { ref })
  }

  drop(ref: ReplicaRef, reason: string): void {
    this.hidden.delete(refKey(ref))
    this.note('drop', { ref, reason })
  }

  reincarnated(self: ReplicaRef, moved: readonly unknown[]): void {
    this.note('reincarnated', { self, moved: moved.length })
  }

  emit(name: string, detail: object): void {
    this.note(name, detail)
  }

  settled(): void {
    this.settledCount++
  }
}

export class World {
  readonly clock = new VirtualClock()
  readonly random
  readonly options: TrackerOptions
  /** Every frame that was handed to a link. */
  readonly sent: Frame[] = []
  starts = 0
  readonly #nodes = new Map<ReplicaId, Node>()
  readonly #twins = new Map<ReplicaId, Node>()
  readonly #directions = new Map<string, Direction>()
  readonly #links = new Set<string>()
  readonly #wallOffsetMs: number

  constructor({
    seed = 1,
    options = {},
    wallClockMs = 1_700_000_000_000
  }: { seed?: number; options?: TrackerOptions; wallClockMs?: number } = {}) {
    this.random = createRandom(seed)
    this.options = options
    this.#wallOffsetMs = wallClockMs
  }

  wallMs(): number {
    return this.#wallOffsetMs + this.clock.nowMs
  }

  /** A process with this id; one of the same id before it is replaced. */
  start(id: ReplicaId, options: NodeOptions = {}): Node {
    const node = new Node(this, { ...options, id })
    this.#nodes.set(id, node)
    return node.start()
  }

  /**
   * A second process under the id of `node`, on the same links: what either sends comes from that id, what is sent to the id reaches both.
   */
  twin(node: Node): Node {
    const twin = new Node(this, { id: node.id }).start()
    this.#twins.set(node.id, twin)
    for (const other of this.#nodes.keys()) {
      if (this.isLinked(node.id, other)) {
        twin.process.input(() => twin.net?.connected(other))
      }
    }
    return twin
  }

  /** Nodes of these ids, each linked with each. */
  mesh(...ids: ReplicaId[]): Node[] {
    const nodes = ids.map(id => this.start(id))
    for (let i = 0; i < ids.length; i++) {
      for (let j = i + 1; j < ids.length; j++) {
        this.link(ids[i] as string, ids[j] as string)
      }
    }
    return nodes
  }

  line(...ids: ReplicaId[]): Node[] {
    const nodes = ids.map(id => this.start(id))
    for (let i = 1; i < ids.length; i++) {
      this.link(ids[i - 1] as string, ids[i] as string)
    }
    return nodes
  }

  direction(from: ReplicaId, to: ReplicaId): Direction {
    const key = `${from}>${to}`
    let direction = this.#directions.get(key)
    if (direction === undefined) {
      direction = new Direction()
      this.#directions.set(key, direction)
    }
    return direction
  }

  isLinked(a: ReplicaId, b: ReplicaId): boolean {
    return this.#links.has(linkKey(a, b))
  }

  link(a: ReplicaId, b: ReplicaId): void {
    this.#links.add(linkKey(a, b))
    for (const [from, to] of [
      [a, b],
      [b, a]
    ] as const) {
      const direction = this.direction(from, to)
      direction.epoch++
      direction.mode = 'flow'
      direction.blocked = false
      this.#inside(from, node => node.net?.connected(to))
    }
  }

  /** Both ends see it close, unless it is silent at one. */
  unlink(a: ReplicaId, b: ReplicaId, loss: LinkLoss = 'closed'): void {
    if (!this.#links.delete(linkKey(a, b))) {
      return
    }
    for (const [from, to] of [
      [a, b],
      [b, a]
    ] as const) {
      this.direction(from, to).epoch++
      this.direction(from, to).held.length = 0
      this.#inside(from, node => node.net?.disconnected(to, loss))
    }
  }

  refuse(at: ReplicaId, peer: ReplicaId): void {
    this.#inside(at, node => node.net?.disconnected(peer, 'refused'))
  }

  /** SIGKILL. Its sockets close, or its host is gone without a word. */
  kill(node: Node, sockets: 'close' | 'silent' = 'close'): void {
    node.process.kill()
    for (const key of [...this.#links]) {
      const [a, b] = key.split('|') as [string, string]
      if (a === node.id || b === node.id) {
        const other = a === node.id ? b : a
        if (sockets === 'close') {
          this.unlink(node.id, other)
        } else {
          this.cut(node.id, other)
        }
      }
    }
  }

  /** The process is stopped in order, and its links close. */
  stop(node: Node, announce = false): void {
    node.stop(announce)
    this.run(LATENCY_MS)
    this.kill(node)
  }

  cut(a: ReplicaId, b: ReplicaId): void {
    this.direction(a, b).mode = 'cut'
    this.direction(b, a).mode = 'cut'
  }

  heal(a: ReplicaId, b: ReplicaId): void {
    this.direction(a, b).mode = 'flow'
    this.direction(b, a).mode = 'flow'
  }

  hold(from: ReplicaId, to: ReplicaId): Frame[] {
    this.direction(from, to).mode = 'hold'
    return this.direction(from, to).held
  }

  /** Delivers a held frame now; the first by default. */
  deliver(from: ReplicaId, to: ReplicaId, index = 0): void {
    const [frame] = this.direction(from, to).held.splice(index, 1)
    if (frame === undefined) {
      throw new Error(`nothing is held from ${from} to ${to} at ${index}`)
    }
    this.inject(frame.from, frame.to, frame.message)
  }

  /** All held frames are delivered, in order, and later ones flow. */
  release(from: ReplicaId, to: ReplicaId): void {
    const direction = this.direction(from, to)
    direction.mode = 'flow'
    for (const frame of direction.held.splice(0)) {
      this.inject(from, to, frame.message)
    }
  }

  /** A frame that nobody sent, or once more. */
  inject(from: ReplicaId, to: ReplicaId, message: Message): void {
    this.#inside(to, node => node.net?.received(from, message))
  }

  block(from: ReplicaId, to: ReplicaId): void {
    this.direction(from, to).blocked = true
  }

  unblock(from: ReplicaId, to: ReplicaId): void {
    this.direction(from, to).blocked = false
    this.#inside(from, node => node.net?.drained(to))
  }

  run(ms: number): void {
    const untilMs = this.clock.nowMs + ms
    while (this.clock.step(untilMs)) {
      // Everything happens in the tasks.
    }
  }

  frames(type?: MessageType, where: (frame: Frame) => boolean = () => true): Frame[] {
    return this.sent.filter(frame => (type === undefined || frame.message.type === type) && where(frame))
  }

  /** Bytes of frames since `fromMs`. */
  bytes(type: MessageType | undefined, fromMs = 0, where: (frame: Frame) => boolean = () => true): number {
    return this.frames(type, frame => frame.sentMs >= fromMs && where(frame)).reduce((sum, frame) => sum + frame.bytes, 0)
  }

  transport(node: Node, maxFrameBytes: number, admits: (id: ReplicaId) => boolean = () => true): Transport {
    return {
      admits,
      self: node.id,
      maxFrameBytes,
      start: async listener => {
        node.net = listener
      },
      stop: async () => {
        node.net = undefined
      },
      send: (peer, message) => this.#send(node.id, peer, message, maxFrameBytes),
      disconnect: peer => {
        this.clock.after(0, () => this.unlink(node.id, peer))
      }
    }
  }

  #send(from: ReplicaId, to: ReplicaId, message: Message, maxFrameBytes: number): boolean {
    const direction = this.direction(from, to)
    const isOwnLane = message.type === 'heartbeat' || message.type === 'stale'
    const isFull = direction.blocked || direction.underWay >= direction.window
    if (!this.#links.has(linkKey(from, to)) || (isFull && !isOwnLane)) {
      direction.refused++
      return false
    }
    const encoded = encodeMessage(message, { sender: from, limits: { frameBytes: maxFrameBytes } })
    const decoded = decodeMessage(encoded, { sender: from })
    const frame: Frame = { from, to, message: decoded, bytes: encoded.length, sentMs: this.clock.nowMs }
    this.sent.push(frame)
    if (direction.lose > 0) {
      direction.lose--
    } else if (direction.mode === 'hold') {
      direction.held.push(frame)
    } else if (direction.mode === 'flow') {
      const { epoch } = direction
      direction.underWay++
      this.clock.after(direction.latencyMs, () => {
        direction.underWay--
        if (direction.epoch === epoch) {
          this.inject(from, to, decoded)
          this.#drained(direction, from, to)
        }
      })
    }
    return true
  }

  #drained(direction: Direction, from: ReplicaId, to: ReplicaId): void {
    if (direction.underWay === direction.window - 1) {
      this.#inside(from, node => node.net?.drained(to))
    }
  }

  #inside(id: ReplicaId, run: (node: Node) => void): void {
    for (const node of [this.#nodes.get(id), this.#twins.get(id)]) {
      node?.process.input(() => run(node))
    }
  }
}

export function content(key: string, meta = '{}'): EntryContent {
  return {
    topic: 'room',
    key,
    user: key,
    session: 'AAAAAAAAAAAAAAAA',
    connection: 1,
    meta,
    joinedAt: 1_700_000_000_000,
    revision: 0,
    epoch: 1,
    over: []
  }
}

/** Tracks entries whose metas do not compress away. */
export function fill(node: Node, prefix: string, count: number): void {
  names(prefix, count).forEach((key, i) => {
    node.map.add(content(key, JSON.stringify({ n: (i * 2654435761) % 4294967296, s: String(Math.sin(i)) })))
  })
  node.cluster.changed()
}

/** `prefix1` … `prefixN`. */
export const names = (prefix: string, count: number): string[] => Array.from({ length: count }, (_, i) => `${prefix}${i + 1}`)

const linkKey = (a: ReplicaId, b: ReplicaId): string => (a < b ? `${a}|${b}` : `${b}|${a}`)
