import { InvalidNameError } from './errors.ts'

/** The topic of the users' own entries (key = user). No caller can name it: names that begin with U+0000 are refused as topics. */
export const USERS_TOPIC = '\u0000u'

/**
 * Any well-formed text is a name, `__proto__` too.
 *
 * @throws InvalidNameError when it is no string, empty, longer than `maxBytes` of UTF-8, or holds a lone surrogate (which UTF-8 cannot carry).
 */
export function checkName(kind: 'topic' | 'key' | 'user' | 'session', value: unknown, maxBytes: number): asserts value is string {
  if (typeof value !== 'string') {
    throw new InvalidNameError(`${kind} is ${value === null ? 'null' : typeof value}, allowed is a string`)
  }
  if (value.length === 0 || utf8Bytes(value, maxBytes) > maxBytes) {
    throw new InvalidNameError(`${kind} ${shown(value)} has ${utf8Bytes(value, Infinity)} bytes, allowed are 1 to ${maxBytes}`)
  }
  if (!value.isWellFormed()) {
    throw new InvalidNameError(`${kind} ${shown(value)} holds a lone surrogate, allowed is well-formed text`)
  }
  if (kind === 'topic' && value.charCodeAt(0) === 0) {
    throw new InvalidNameError(`topic ${shown(value)} begins with U+0000, which is reserved`)
  }
}

const shown = (text: string): string => JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text)

/** The length of `text` in UTF-8; may stop counting once past `enough`. */
export function utf8Bytes(text: string, enough: number): number {
  if (text.length * 3 <= enough) {
    return text.length
  }
  let bytes = 0
  for (let i = 0; i < text.length && bytes <= enough; i++) {
    const unit = text.charCodeAt(i)
    bytes += unit < 0x80 ? 1 : unit < 0x800 ? 2 : unit >= 0xd800 && unit < 0xe000 ? 2 : 3
  }
  return bytes
}
