import { Packr, Unpackr } from 'msgpackr'
import { createEntry, type Entry } from '../../src/crdt/index.ts'
import { decodeMessage, encodeMessage } from '../../src/net/codec.ts'
import type { Delta } from '../../src/tracker/messages.ts'
import { SENDER } from './wire-messages.ts'

/** One way to bring a delta over the wire; what comes back can be merged. */
export interface Encoding {
  readonly name: string
  encode(delta: Delta): Uint8Array
  decode(bytes: Uint8Array): Delta
}

/** Batches of a thousand client sessions may be above a frame; replication would send two. */
const LIMITS = { frameBytes: 2 ** 20 }

const rollcall: Encoding = {
  name: 'rollcall',
  encode: delta => encodeMessage(delta, { sender: SENDER.id, limits: LIMITS }),
  decode: bytes => decodeMessage(bytes, { sender: SENDER.id, limits: LIMITS }) as Delta
}

const json: Encoding = {
  name: 'JSON',
  encode: delta => Buffer.from(JSON.stringify(plain(delta))),
  decode: bytes => revive(JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()) as Delta)
}

const packr = new Packr({ useRecords: false })
const unpackr = new Unpackr({ useRecords: false, int64AsType: 'number' })
const msgpackr: Encoding = {
  name: 'msgpackr objects',
  encode: delta => packr.pack(plain(delta)),
  decode: bytes => revive(unpackr.unpack(bytes) as Delta)
}

/** Ours first, then those it is compared with, which believe what they read: no field is checked but those that make an entry. */
export const ENCODINGS: readonly Encoding[] = [rollcall, json, msgpackr]

/** Hashes of contents are not sent: the receiver makes them, whatever the encoding. */
function plain(delta: Delta): object {
  const intervals = delta.intervals.map(interval => ({ ...interval, adds: interval.adds.map(withoutHashes) }))
  return { ...delta, intervals }
}

function withoutHashes({ hashHigh: _high, hashLow: _low, ...rest }: Entry): object {
  return rest
}

function revive(delta: Delta): Delta {
  const intervals = delta.intervals.map(interval => ({
    ...interval,
    adds: interval.adds.map(entry => createEntry(entry, entry.counter, entry.state))
  }))
  return { ...delta, intervals }
}
