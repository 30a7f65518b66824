import { MAX_COUNTER, MAX_REPLICA_ID_LENGTH, type ReplicaId, type ReplicaRef } from '../../crdt/dot.ts'
import type { ByteReader } from './byte-reader.ts'
import type { ByteWriter } from './byte-writer.ts'
import { checkCount, checkInteger } from './checks.ts'
import type { FrameLimits } from './frame-limits.ts'
import { InvalidFrameError } from './invalid-frame-error.ts'
import { readTexts, writeTexts } from './text-block.ts'
import { spendText, type TextBudget, type TextSpec } from './text-budget.ts'

/** Bytes of the largest incarnation, 2^52. */
const MAX_INCARNATION_BYTES = 7

/**
 * The replica ids and refs that a frame names, each once; all else refers to them by number.
 *
 * Id 0 is the sender, whose id the receiver has from the stream, so that a PeerId of 52 characters need not stand in
 * every heartbeat; the others count from 1. Layout: number of ids, their texts, number of refs, and per ref the varint
 * `id · 8 + n` with the incarnation in n bytes, least significant first.
 */
export class ReplicaTableWriter {
  readonly #sender: ReplicaId | undefined
  readonly #limits: FrameLimits
  readonly #budget: TextBudget
  readonly #ids = new Map<ReplicaId, number>()
  readonly #refs = new Map<ReplicaId, Map<number, number>>()
  readonly #order: ReplicaRef[] = []

  constructor(sender: ReplicaId | undefined, limits: FrameLimits, budget: TextBudget) {
    this.#sender = sender
    this.#limits = limits
    this.#budget = budget
  }

  /** False when the receiver has the id from the stream. @throws InvalidFrameError */
  mustName(ref: ReplicaRef): boolean {
    checkRef(ref)
    return ref.id !== this.#sender
  }

  /** @throws InvalidFrameError */
  id(id: ReplicaId): number {
    if (id === this.#sender && id !== undefined) {
      return 0
    }
    const known = this.#ids.get(id)
    if (known !== undefined) {
      return known
    }
    spendText(id, idSpec(this.#limits), this.#budget)
    checkIdLength(id)
    this.#ids.set(id, this.#ids.size + 1)
    checkCount('replica ids', this.#ids.size, this.#limits.replicas)
    return this.#ids.size
  }

  /** @throws InvalidFrameError */
  ref(ref: ReplicaRef): number {
    checkRef(ref)
    const ofId = this.#refs.get(ref.id) ?? new Map<number, number>()
    const known = ofId.get(ref.incarnation)
    if (known !== undefined) {
      return known
    }
    this.id(ref.id)
    this.#refs.set(ref.id, ofId.set(ref.incarnation, this.#order.length))
    checkCount('replica refs', this.#order.push(ref), this.#limits.replicas)
    return this.#order.length - 1
  }

  write(writer: ByteWriter): void {
    writer.varint(this.#ids.size)
    writeTexts(writer, [...this.#ids.keys()], idSpec(this.#limits), this.#budget)
    writer.varint(this.#order.length)
    for (const ref of this.#order) {
      const bytes = incarnationBytes(ref.incarnation)
      writer.varint(this.id(ref.id) * 8 + bytes)
      writer.littleEndian(ref.incarnation, bytes)
    }
  }
}

export class ReplicaTable {
  readonly #sender: ReplicaId | undefined
  readonly #ids: readonly ReplicaId[]
  readonly #refs: ReplicaRef[] = []

  /** @throws InvalidFrameError */
  constructor(reader: ByteReader, sender: ReplicaId | undefined, limits: FrameLimits, budget: TextBudget) {
    this.#sender = sender
    this.#ids = readTexts(reader, reader.integer('replica ids', limits.replicas), idSpec(limits), budget)
    for (const id of this.#ids) {
      checkIdLength(id)
    }
    const count = reader.integer('replica refs', limits.replicas)
    for (let i = 0; i < count; i++) {
      const head = reader.varint('replica.id')
      this.#refs.push({ id: this.id(Math.floor(head / 8)), incarnation: readIncarnation(reader, head % 8) })
    }
  }

  id(index: number): ReplicaId {
    const id = index === 0 ? this.#sender : this.#ids[index - 1]
    if (id === undefined) {
      throw new InvalidFrameError('replica.id', index, allowedIds(this.#ids.length, this.#sender))
    }
    return id
  }

  ref(index: number, field: string): ReplicaRef {
    const ref = this.#refs[index]
    if (ref === undefined) {
      throw new InvalidFrameError(field, index, `a number below ${this.#refs.length}, the refs in the frame`)
    }
    return ref
  }
}

export function incarnationBytes(incarnation: number): number {
  let bytes = 0
  for (let rest = incarnation; rest > 0; rest = Math.floor(rest / 256)) {
    bytes++
  }
  return bytes
}

/** @throws InvalidFrameError */
export function readIncarnation(reader: ByteReader, bytes: number): number {
  const incarnation = reader.littleEndian(Math.min(bytes, MAX_INCARNATION_BYTES), 'replica.incarnation')
  checkInteger('replica.incarnation', incarnation, MAX_COUNTER)
  return incarnation
}

function checkRef(ref: ReplicaRef): void {
  if (typeof ref !== 'object' || ref === null) {
    throw new InvalidFrameError('replica', ref, '{ id, incarnation }')
  }
  if (typeof ref.id !== 'string') {
    throw new InvalidFrameError('replica.id', ref.id, 'a string')
  }
  checkInteger('replica.incarnation', ref.incarnation, MAX_COUNTER)
}

/** Bytes are checked with the text; the map counts code units. */
function checkIdLength(id: ReplicaId): void {
  if (id.length > MAX_REPLICA_ID_LENGTH) {
    throw new InvalidFrameError('replica.id', id, `at most ${MAX_REPLICA_ID_LENGTH} UTF-16 code units`)
  }
}

function idSpec(limits: FrameLimits): TextSpec {
  return { field: 'replica.id', minBytes: 1, maxBytes: limits.idBytes }
}

function allowedIds(count: number, sender: ReplicaId | undefined): string {
  return sender === undefined ? `1 to ${count}; 0 stands for the sender, whose id was not given` : `0 to ${count}`
}
