import type { EntryContent } from '../../crdt/entry.ts'

/** The characters of a session at the head of each ref. */
export const SESSION_LENGTH = 16

/**
 * Names the content of a presence: its session, its revision, and 32 bits over topic, key and meta. The same content has the same ref, whoever
 * minted it, so a presence that another replica adopts is still the same one.
 */
export function refOf(entry: EntryContent): string {
  const hash = hashText(hashText(hashText(0x811c9dc5, entry.topic), entry.key), entry.meta)
  return `${entry.session}.${entry.revision.toString(36)}.${mix(hash).toString(36)}`
}

/** FNV-1a over UTF-16 code units and the length, so that ("ab", "c") and ("a", "bc") differ. */
function hashText(seed: number, text: string): number {
  let hash = Math.imul(seed ^ text.length, 0x01000193)
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  }
  return hash
}

/** The finaliser of murmur3: FNV alone leaves its low bits weak. */
function mix(hash: number): number {
  let h = hash ^ (hash >>> 16)
  h = Math.imul(h, 0x85ebca6b)
  h ^= h >>> 13
  h = Math.imul(h, 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}
