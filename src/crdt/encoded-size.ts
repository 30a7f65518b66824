import type { Entry } from './entry.ts'

/*
 * Upper bounds of encoded sizes, in bytes, whatever the encoding of the frame: an integer takes at most 9 (a tag and 64 bits), a
 * text its UTF-8 form and at most 6 (3 for its length, 3 for its place in a table).
 */
const INTEGER_BYTES = 9
const TEXT_BYTES = 6
const SESSION_BYTES = 12 + TEXT_BYTES

/** Counter, connection, joinedAt, revision, epoch; the state; the length of `over`; five texts, of which the session is binary. */
const ENTRY_BYTES = 5 * INTEGER_BYTES + 2 + 3 + 4 * TEXT_BYTES + SESSION_BYTES

/** An upper bound of an encoded mark: two integers, the state, the reason. */
export const MARK_BYTES = 2 * INTEGER_BYTES + 3

/** An upper bound of what an interval takes besides its entries and marks: a ref of 128 characters, shard, four numbers, columns. */
export const INTERVAL_BYTES = 512

/** An upper bound of the encoded size of one entry. */
export function entryBytes(entry: Entry): number {
  let bytes = ENTRY_BYTES + utf8Length(entry.topic) + utf8Length(entry.key) + utf8Length(entry.user) + utf8Length(entry.meta)
  for (let i = 0; i < entry.over.length; i++) {
    bytes += 2 * INTEGER_BYTES + TEXT_BYTES + utf8Length((entry.over[i] as Entry['over'][number]).replica.id)
  }
  return bytes
}

/** The number of bytes of well-formed text as UTF-8. */
export function utf8Length(text: string): number {
  let bytes = text.length
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit > 0x7f) {
      // A surrogate is half of four bytes: each half adds one to its own unit.
      bytes += unit > 0x7ff && (unit & 0xf800) !== 0xd800 ? 2 : 1
    }
  }
  return bytes
}
