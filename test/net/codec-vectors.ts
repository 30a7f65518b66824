import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createEntry, type Entry } from '../../src/crdt/index.ts'
import { encodeMessage } from '../../src/net/codec.ts'
import { type Message, PROTOCOL_VERSION } from '../../src/tracker/messages.ts'
import { SAMPLES, SELF } from './codec-samples.ts'

/**
 * Golden bytes: what version N wrote, every later version still reads. `node test/net/codec-vectors.ts` writes the file of the
 * present version once; it never touches one that is there.
 */
export interface Vector {
  readonly name: string
  /** The id that the receiver knows from the stream. */
  readonly sender?: string
  readonly hex: string
  /** Without the hashes of entries, which are not on the wire. */
  readonly message: unknown
}

export function vectorFile(version: number): string {
  return `${import.meta.dirname}/../vectors/v${version}.json`
}

export function readVectors(version: number): Vector[] {
  return JSON.parse(readFileSync(vectorFile(version), 'utf8')) as Vector[]
}

/** The message of a vector, its entries made anew. */
export function messageOf(vector: Vector): Message {
  const message = structuredClone(vector.message) as Message
  if (message.type !== 'delta') {
    return message
  }
  const intervals = message.intervals.map(interval => ({
    ...interval,
    adds: interval.adds.map(entry => createEntry(entry, entry.counter, entry.state))
  }))
  return { ...message, intervals }
}

function vectorsOf(name: string, message: Message): Vector[] {
  const plain = JSON.parse(JSON.stringify(message, (_, value) => (isEntry(value) ? contentOf(value) : value))) as unknown
  return [undefined, SELF.id].map(sender => ({
    name: sender === undefined ? name : `${name}, sender known`,
    ...(sender === undefined ? {} : { sender }),
    hex: Buffer.from(encodeMessage(message, sender === undefined ? {} : { sender })).toString('hex'),
    message: plain
  }))
}

function isEntry(value: unknown): value is Entry {
  return typeof value === 'object' && value !== null && 'hashHigh' in value
}

function contentOf({ hashHigh: _high, hashLow: _low, ...rest }: Entry): object {
  return rest
}

if (import.meta.main) {
  const file = vectorFile(PROTOCOL_VERSION)
  if (existsSync(file)) {
    throw new Error(`${file} is there: vectors of a version that was spoken never change`)
  }
  const vectors = Object.entries(SAMPLES).flatMap(([name, message]) => vectorsOf(name, message))
  writeFileSync(file, `${JSON.stringify(vectors, null, 2)}\n`)
}
