import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import type { Random } from '../environment.ts'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const utf8 = new TextEncoder()

/** 12 bytes as 16 characters of base64url, the form in which a session stands in an entry. */
export function sessionText(bytes: Uint8Array): string {
  let text = ''
  for (let i = 0; i < 12; i += 3) {
    const word = ((bytes[i] as number) << 16) | ((bytes[i + 1] as number) << 8) | (bytes[i + 2] as number)
    text +=
      ALPHABET.charAt(word >>> 18) + ALPHABET.charAt((word >>> 12) & 63) + ALPHABET.charAt((word >>> 6) & 63) + ALPHABET.charAt(word & 63)
  }
  return text
}

/** The first bit of a session tells who named it: 1 a client, so that several replicas may have entries of it; 0 a tracker, for itself alone. */
const SHARED_BIT = 0x80

/** Whether a client named this session. */
export function isShared(session: string): boolean {
  return ALPHABET.indexOf(session.charAt(0)) >= 32
}

/** Makes the sessions of one process: 96 bits each. */
export class Sessions {
  readonly #key: Uint8Array
  readonly #own = new Uint8Array(12)
  #count = 0

  constructor(cluster: string, secret: string, random: Random) {
    this.#key = utf8.encode(JSON.stringify(['rollcall session', cluster, secret]))
    new DataView(this.#own.buffer).setUint32(0, random.nextUint32())
    new DataView(this.#own.buffer).setUint32(4, random.nextUint32())
    this.#own[0] = (this.#own[0] as number) & ~SHARED_BIT
  }

  /** For a connection without a session of its client: a random prefix of this process, then a count, so that it costs a byte on the wire. */
  next(): string {
    this.#count++
    new DataView(this.#own.buffer).setUint32(8, this.#count >>> 0)
    if (this.#count === 2 ** 32) {
      this.#count = 0
      new DataView(this.#own.buffer).setUint32(4, new DataView(this.#own.buffer).getUint32(4) + 1)
    }
    return sessionText(this.#own)
  }

  /** The client's session id is a secret: whoever sees its hash cannot take the session over. */
  hash(user: string, session: string): string {
    const hash = hmac(sha256, this.#key, utf8.encode(JSON.stringify([user, session])))
    hash[0] = (hash[0] as number) | SHARED_BIT
    return sessionText(hash)
  }
}
