import type { Hello } from '../../tracker/messages.ts'
import { textOf } from './byte-reader.ts'
import { checkText, utf8 } from './byte-writer.ts'
import { MAX_GRACE_MS, nameDigest, readDigestEntries, readUnreached, writeDigestEntries, writeUnreached } from './digest.ts'
import type { PayloadReader, PayloadWriter } from './payload.ts'
import { nameRequests, readRequests, writeRequests } from './pull.ts'

const WANTS_ALL = 1
const MAX_PROTOCOL_VERSION = 65_535

/**
 * Layout: flags, protocol version, cluster (length, text), grace, table of replicas, of which the first is the sender's own, digest entries,
 * ids without a stream, and the requests unless everything is wanted.
 */
export function writeHello(payload: PayloadWriter, hello: Hello): void {
  const { writer, replicas, limits } = payload
  const clusterBytes = checkText(hello.cluster, 'cluster', 1, limits.idBytes)
  writer.byte(hello.want === 'all' ? WANTS_ALL : 0)
  writer.integer('protocolVersion', hello.protocolVersion, MAX_PROTOCOL_VERSION, 1)
  writer.varint(clusterBytes)
  writer.raw(utf8(hello.cluster))
  writer.integer('graceMs', hello.graceMs, MAX_GRACE_MS)
  replicas.ref(hello.replica)
  nameDigest(payload, hello.digest, hello.unreached)
  if (hello.want !== 'all') {
    nameRequests(payload, hello.want)
  }
  replicas.write(writer)
  writeDigestEntries(payload, hello.digest)
  writeUnreached(payload, hello.unreached)
  if (hello.want !== 'all') {
    writeRequests(payload, hello.want)
  }
}

/** @throws InvalidFrameError */
export function readHello(payload: PayloadReader): Hello {
  const { reader, limits } = payload
  const flags = reader.integer('flags', WANTS_ALL)
  const protocolVersion = reader.integer('protocolVersion', MAX_PROTOCOL_VERSION, 1)
  const cluster = textOf(reader.raw(reader.integer('cluster', limits.idBytes, 1), 'cluster'), 'cluster')
  const graceMs = reader.integer('graceMs', MAX_GRACE_MS)
  const replicas = payload.replicas()
  const replica = replicas.ref(0, 'replica')
  const digest = readDigestEntries(payload, replicas)
  const unreached = readUnreached(payload, replicas)
  const want = flags === WANTS_ALL ? 'all' : readRequests(payload, replicas)
  return { type: 'hello', protocolVersion, cluster, replica, graceMs, digest, want, unreached }
}
