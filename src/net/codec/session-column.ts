import type { ByteReader } from './byte-reader.ts'
import type { ByteWriter } from './byte-writer.ts'
import { readColumn, writeColumn } from './int-column.ts'
import { InvalidFrameError } from './invalid-frame-error.ts'
import { countOf } from './table.ts'

const SESSION = /^[A-Za-z0-9_-]{16}$/
const SESSION_BYTES = 12
/** Of 16 characters, 11 are the prefix (66 bits), 5 the number (30 bits). */
const PREFIX_LENGTH = 11
const NUMBERS = 2 ** 30

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const CODES = Array.from(ALPHABET, character => character.charCodeAt(0))
const SEXTETS = new Uint8Array(128)
for (const [sextet, code] of CODES.entries()) {
  SEXTETS[code] = sextet
}

/**
 * Sessions of 96 bits, seen as a prefix and a number behind it, most significant bit first.
 *
 * A tracker numbers the sessions that it makes up itself behind a prefix of its own; those hashed from a client's secret have
 * nothing in common. So a session is a reference to a prefix (0: a new one, and the whole session stands in 12 bytes; else the
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
    const name = session.slice(0, PREFIX_LENGTH)
    const number = numberOf(session)
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
      for (let i = 0; i < session.length; i += 4) {
        const bits = (sextet(session, i) << 18) | (sextet(session, i + 1) << 12) | (sextet(session, i + 2) << 6) | sextet(session, i + 3)
        writer.byte(bits >>> 16)
        writer.byte((bits >>> 8) & 255)
        writer.byte(bits & 255)
      }
    }
    writeColumn(writer, this.#steps)
  }
}

/** The sessions of a column of references. @throws InvalidFrameError */
export function readSessions(reader: ByteReader, references: readonly number[]): string[] {
  const count = countOf(references, 0)
  const bytes = reader.raw(count * SESSION_BYTES, 'adds.session')
  const steps = readColumn(reader, references.length - count, 'adds.session')
  const prefixes: { readonly text: string; last: number }[] = []
  const sessions: string[] = []
  let next = 0
  for (const reference of references) {
    if (reference === 0) {
      const session = sessionOf(bytes, prefixes.length * SESSION_BYTES)
      prefixes.push({ text: session.slice(0, PREFIX_LENGTH), last: numberOf(session) })
      sessions.push(session)
      continue
    }
    const prefix = prefixes[prefixes.length - reference]
    if (prefix === undefined) {
      throw new InvalidFrameError('adds.session', reference, `at most ${prefixes.length}, the prefixes so far`)
    }
    prefix.last = stepped(prefix.last, steps[next++] as number)
    sessions.push(prefix.text + numberText(prefix.last))
  }
  return sessions
}

function stepped(from: number, zigzag: number): number {
  const number = from + (zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2)
  if (!(number >= 0 && number < NUMBERS)) {
    throw new InvalidFrameError('adds.session', number, `a number below ${NUMBERS} behind the prefix`)
  }
  return number
}

function sextet(session: string, index: number): number {
  return SEXTETS[session.charCodeAt(index)] as number
}

function numberOf(session: string): number {
  let bits = 0
  for (let i = PREFIX_LENGTH; i < session.length; i++) {
    bits = (bits << 6) | sextet(session, i)
  }
  return bits
}

function numberText(number: number): string {
  return String.fromCharCode(code(number >>> 24), code(number >>> 18), code(number >>> 12), code(number >>> 6), code(number))
}

function sessionOf(bytes: Uint8Array, start: number): string {
  let session = ''
  for (let i = start; i < start + SESSION_BYTES; i += 3) {
    const bits = ((bytes[i] as number) << 16) | ((bytes[i + 1] as number) << 8) | (bytes[i + 2] as number)
    session += String.fromCharCode(code(bits >>> 18), code(bits >>> 12), code(bits >>> 6), code(bits))
  }
  return session
}

function code(bits: number): number {
  return CODES[bits & 63] as number
}
