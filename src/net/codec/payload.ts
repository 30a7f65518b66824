import type { ReplicaId } from '../../crdt/dot.ts'
import { ByteReader } from './byte-reader.ts'
import { ByteWriter } from './byte-writer.ts'
import type { FrameLimits } from './frame-limits.ts'
import { InvalidFrameError } from './invalid-frame-error.ts'
import { ReplicaTable, ReplicaTableWriter } from './replica-table.ts'
import { TextBudget } from './text-budget.ts'

/** What the parts of one payload share while it is written. */
export interface PayloadWriter {
  readonly writer: ByteWriter
  readonly replicas: ReplicaTableWriter
  readonly limits: FrameLimits
  readonly budget: TextBudget
}

/** What the parts of one payload share while it is read. */
export interface PayloadReader {
  readonly reader: ByteReader
  readonly limits: FrameLimits
  readonly budget: TextBudget
  /** Reads the table of replicas, at the place where it stands. */
  replicas(): ReplicaTable
  /** The id that the receiver has from the stream. @throws InvalidFrameError when it was not given */
  sender(): ReplicaId
}

export function createPayloadWriter(sender: ReplicaId | undefined, limits: FrameLimits): PayloadWriter {
  const budget = new TextBudget(limits.textBytes)
  return { writer: new ByteWriter(), replicas: new ReplicaTableWriter(sender, limits, budget), limits, budget }
}

export function createPayloadReader(payload: Uint8Array, sender: ReplicaId | undefined, limits: FrameLimits): PayloadReader {
  const reader = new ByteReader(payload)
  const budget = new TextBudget(limits.textBytes)
  return {
    reader,
    limits,
    budget,
    replicas: () => new ReplicaTable(reader, sender, limits, budget),
    sender: () => {
      if (sender === undefined) {
        throw new InvalidFrameError('replica', undefined, 'a named replica: the sender, whom it stands for, was not given')
      }
      return sender
    }
  }
}
