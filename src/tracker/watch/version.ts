import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { MAX_COUNTER, type ReplicaRef, refKey } from '../../crdt/dot.ts'
import { VersionError } from '../errors.ts'
import { fromBase64Url, toBase64Url } from './base64url.ts'

const FORMAT = 1
const TAG_BYTES = 12
const MAX_TOKEN_LENGTH = 1_048_576
const utf8 = new TextEncoder()

/** How many events of one replica are reflected in what was shown. */
export interface VersionEntry {
  readonly ref: ReplicaRef
  readonly head: number
  /** In transfer, or with held presences: what was shown of it is no prefix of its events. */
  readonly partial: boolean
}

/** Per replica ref shown, by `refKey`. Hidden ones are absent. */
export type Version = ReadonlyMap<string, VersionEntry>

/** Versions as opaque text that only this cluster can make, so that a client cannot ask for what it was never shown. */
export class TokenCodec {
  readonly #key: Uint8Array

  constructor(cluster: string, secret: string) {
    this.#key = utf8.encode(JSON.stringify(['rollcall token', cluster, secret]))
  }

  encode(version: Version): string {
    const rows = [...version.values()].map(({ ref, head, partial }) => [ref.id, ref.incarnation, head, partial ? 1 : 0])
    const body = utf8.encode(JSON.stringify([FORMAT, rows]))
    const tag = this.#tag(body)
    const token = new Uint8Array(TAG_BYTES + body.length)
    token.set(tag)
    token.set(body, TAG_BYTES)
    return toBase64Url(token)
  }

  /** @throws VersionError INVALID when this cluster did not make it. */
  decode(token: string): Version {
    const bytes = this.#authentic(token)
    const version = new Map<string, VersionEntry>()
    const [format, rows] = JSON.parse(new TextDecoder().decode(bytes)) as [number, [string, number, number, number][]]
    if (format !== FORMAT) {
      throw new VersionError('INVALID', `the token has format ${format}, known is ${FORMAT}`)
    }
    for (const [id, incarnation, head, partial] of rows) {
      const ref = { id, incarnation }
      if (!(head >= 0 && head <= MAX_COUNTER)) {
        throw new VersionError('INVALID', `the token has head ${head}`)
      }
      version.set(refKey(ref), { ref, head, partial: partial === 1 })
    }
    return version
  }

  #authentic(token: unknown): Uint8Array {
    const bytes = typeof token === 'string' && token.length <= MAX_TOKEN_LENGTH ? fromBase64Url(token) : undefined
    const body = bytes?.subarray(TAG_BYTES)
    if (bytes === undefined || body === undefined || body.length === 0 || !equal(this.#tag(body), bytes.subarray(0, TAG_BYTES))) {
      throw new VersionError('INVALID', 'the token was not made by this cluster (another secret, or not a token)')
    }
    return body
  }

  #tag(body: Uint8Array): Uint8Array {
    return hmac(sha256, this.#key, body).subarray(0, TAG_BYTES)
  }
}

/** In a time that does not tell where they differ. */
function equal(a: Uint8Array, b: Uint8Array): boolean {
  let difference = a.length ^ b.length
  for (let i = 0; i < a.length; i++) {
    difference |= (a[i] as number) ^ (b[i] ?? 0)
  }
  return difference === 0
}
