import type { ByteReader } from './byte-reader.ts'
import type { ByteWriter } from './byte-writer.ts'
import { countOf } from './dictionary.ts'
import { readColumn, writeColumn } from './int-column.ts'
import { InvalidFrameError } from './invalid-frame-error.ts'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const SESSION = /^[A-Za-z0-9_-]{16}$/
const CODES = Array.from(ALPHABET, character => character.charCodeAt(0))
const SEXTETS = new Uint8Array(128)
for (const [sextet, code] of CODES.entries()) {
  SEXTETS[code] = sextet
}

/**
 * Sessions of 96 bits, seen as a prefix of 64 bits and a number of 32, most significant bit first.
 *
 * A tracker numbers the sessions that it makes up itself behind a prefix of its own; those hashed from a client's secret have
 * nothing in common. So a session is a reference to a prefix (0: a new one, which stands with its number in 12 bytes; else the
 * distance from the newest, as in the dictionary), and for a known prefix the zigzag step from the number that it had last.
 */
export class SessionWriter {
  /** One per session: a column in the table of adds. */
  readonly references: number[] = []
  readonly #prefixes = new Map<string, { readonly position: number; last: number }>()
  readonly #fresh: string[] = []
  readonly #steps: number[] = []

  /** @throws InvalidFrameError for what is not 16 characters of base64url */
  add(session: string): void {
    if (typeof session !== 'string' || !SESSION.test(session)) {
      throw new InvalidFrameError('adds.session', session, '16 characters of base64url')
    }
    const name = session.slice(0, 10) + (sextet(session, 10) >>> 2)
    const number = lowWord(session)
    const prefix = this.#prefixes.get(name)
    if (prefix === undefined) {
      this.#prefixes.set(name, { position: this.#prefixes.size, last: number })
      this.#fresh.push(session)
      this.references.push(0)
    } else {
      const step = number - prefix.last
      this.#steps.push(step < 0 ? -2 * step - 1 : 2 * step)
      this.references.push(this.#prefixes.size - prefix.position)
      prefix.last = number
    }
  }

  write(writer: ByteWriter): void {
    for (const session of this.#fresh) {
      writeWord(writer, highWord(session))
      writeWord(writer, middleWord(session))
      writeWord(writer, lowWord(session))
    }
    writeColumn(writer, this.#steps)
  }
}

/** The sessions of a column of references. @throws InvalidFrameError */
export function readSessions(reader: ByteReader, references: Float64Array): string[] {
  const fresh = countOf(references, 0)
  const words = new DataView(copyOf(reader.raw(fresh * 12, 'adds.session')))
  const steps = readColumn(reader, references.length - fresh, 'adds.session')
  const last = new Float64Array(fresh)
  const sessions: string[] = []
  let known = 0
  let step = 0
  for (const reference of references) {
    const prefix = reference === 0 ? known++ : known - reference
    if (prefix < 0) {
      throw new InvalidFrameError('adds.session', reference, `at most ${known}, the prefixes so far`)
    }
    const number = reference === 0 ? words.getUint32(prefix * 12 + 8) : stepped(last[prefix] as number, steps[step++] as number)
    last[prefix] = number
    sessions.push(sessionOf(words.getUint32(prefix * 12), words.getUint32(prefix * 12 + 4), number))
  }
  return sessions
}

function stepped(from: number, zigzag: number): number {
  const number = from + (zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2)
  if (!(number >= 0 && number < 2 ** 32)) {
    throw new InvalidFrameError('adds.session', number, 'a number of 32 bits behind the prefix')
  }
  return number
}

/** DataView needs a buffer of its own: the frame may lie anywhere in a larger one. */
function copyOf(bytes: Uint8Array): ArrayBuffer {
  return new Uint8Array(bytes).buffer
}

function sextet(session: string, index: number): number {
  return SEXTETS[session.charCodeAt(index)] as number
}

function highWord(session: string): number {
  return (fiveSextets(session, 0) * 4 + (sextet(session, 5) >>> 4)) >>> 0
}

function middleWord(session: string): number {
  const four = (sextet(session, 6) << 18) | (sextet(session, 7) << 12) | (sextet(session, 8) << 6) | sextet(session, 9)
  return (((sextet(session, 5) & 15) << 28) | (four << 4) | (sextet(session, 10) >>> 2)) >>> 0
}

function lowWord(session: string): number {
  return (((sextet(session, 10) & 3) << 30) | fiveSextets(session, 11)) >>> 0
}

function fiveSextets(session: string, from: number): number {
  let bits = 0
  for (let i = from; i < from + 5; i++) {
    bits = (bits << 6) | sextet(session, i)
  }
  return bits
}

function writeWord(writer: ByteWriter, word: number): void {
  writer.byte(word >>> 24)
  writer.byte((word >>> 16) & 255)
  writer.byte((word >>> 8) & 255)
  writer.byte(word & 255)
}

function sessionOf(high: number, middle: number, low: number): string {
  return String.fromCharCode(
    code(high >>> 26),
    code((high >>> 20) & 63),
    code((high >>> 14) & 63),
    code((high >>> 8) & 63),
    code((high >>> 2) & 63),
    code(((high & 3) << 4) | (middle >>> 28)),
    code((middle >>> 22) & 63),
    code((middle >>> 16) & 63),
    code((middle >>> 10) & 63),
    code((middle >>> 4) & 63),
    code(((middle & 15) << 2) | (low >>> 30)),
    code((low >>> 24) & 63),
    code((low >>> 18) & 63),
    code((low >>> 12) & 63),
    code((low >>> 6) & 63),
    code(low & 63)
  )
}

function code(sextet: number): number {
  return CODES[sextet] as number
}
