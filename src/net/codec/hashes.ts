import type { StateHash } from '../../crdt/delta-interval.ts'
import type { ByteReader } from './byte-reader.ts'
import type { ByteWriter } from './byte-writer.ts'
import { checkInteger } from './checks.ts'
import { InvalidFrameError } from './invalid-frame-error.ts'

const LANE_BYTES = 4
const MAX_LANE = 2 ** 32 - 1

/** A hash of 32 bits, in four bytes: its bits are spread evenly, so a varint would be longer. */
export function writeLane(writer: ByteWriter, field: string, lane: number): void {
  checkInteger(field, lane, MAX_LANE)
  writer.littleEndian(lane, LANE_BYTES)
}

export function readLane(reader: ByteReader, field: string): number {
  return reader.littleEndian(LANE_BYTES, field)
}

/** High lane, low lane. */
export function writeHash(writer: ByteWriter, field: string, hash: StateHash): void {
  if (typeof hash !== 'object' || hash === null) {
    throw new InvalidFrameError(field, hash, '{ high, low }')
  }
  writeLane(writer, field, hash.high)
  writeLane(writer, field, hash.low)
}

export function readHash(reader: ByteReader, field: string): StateHash {
  return { high: readLane(reader, field), low: readLane(reader, field) }
}
