import { MAX_COUNTER, MAX_REPLICA_ID_LENGTH } from './dot.ts'
import type { EntryContent, Over } from './entry.ts'
import { InvalidEntryError } from './errors.ts'
import type { Hasher } from './state-hash.ts'

const INTEGER = 'an integer from 0 to 2^52'
const TEXT = 'a string without lone surrogates'
const SESSION_LENGTH = 16

/** Throws InvalidEntryError for the first field of the wrong type, out of range, or with a lone surrogate. */
export function checkContent(content: EntryContent): void {
  if (typeof content !== 'object' || content === null) {
    throw new InvalidEntryError('content', content, 'an object')
  }
  checkText('topic', content.topic)
  checkText('key', content.key)
  checkText('user', content.user)
  checkText('meta', content.meta)
  if (!isSession(content.session)) {
    throw new InvalidEntryError('session', content.session, '16 characters of base64url')
  }
  checkInteger('connection', content.connection)
  checkInteger('joinedAt', content.joinedAt)
  checkInteger('revision', content.revision)
  checkInteger('epoch', content.epoch)
  if (!Array.isArray(content.over)) {
    throw new InvalidEntryError('over', content.over, 'an array')
  }
  for (let i = 0; i < content.over.length; i++) {
    checkOver(i, content.over[i] as Over)
  }
}

export function checkInteger(field: string, value: number): void {
  if (!isCount(value)) {
    throw new InvalidEntryError(field, value, INTEGER)
  }
}

/** An integer from 0 to 2^52. */
export function isCount(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MAX_COUNTER
}

/** A name of a replica: well-formed text of 1 to 128 UTF-16 code units. */
export function isReplicaId(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= MAX_REPLICA_ID_LENGTH && value.isWellFormed()
}

export function sameOver(a: readonly Over[], b: readonly Over[]): boolean {
  return (
    a === b ||
    (a.length === b.length &&
      a.every((over, i) => {
        const other = b[i] as Over
        return over.head === other.head && over.replica.incarnation === other.replica.incarnation && over.replica.id === other.replica.id
      }))
  )
}

/** Feeds every field of the content, in a fixed order; texts and the list carry their length. */
export function hashContent(hasher: Hasher, content: EntryContent): void {
  hasher.start(0x6a09e667, 0xbb67ae85).text(content.topic).text(content.key).text(content.user).text(content.session).text(content.meta)
  hasher.integer(content.connection).integer(content.joinedAt).integer(content.revision).integer(content.epoch)
  const over = content.over
  hasher.word(over.length)
  for (let i = 0; i < over.length; i++) {
    const { replica, head } = over[i] as Over
    hasher.text(replica.id).integer(replica.incarnation).integer(head)
  }
  hasher.finish()
}

function checkText(field: string, value: unknown): void {
  if (typeof value !== 'string' || !value.isWellFormed()) {
    throw new InvalidEntryError(field, value, TEXT)
  }
}

function checkOver(index: number, over: Over): void {
  if (typeof over !== 'object' || over === null || typeof over.replica !== 'object' || over.replica === null) {
    throw new InvalidEntryError(`over[${index}]`, over, '{ replica: { id, incarnation }, head }')
  }
  if (!isReplicaId(over.replica.id)) {
    throw new InvalidEntryError(`over[${index}].replica.id`, over.replica.id, `text of 1 to ${MAX_REPLICA_ID_LENGTH} characters`)
  }
  checkInteger(`over[${index}].replica.incarnation`, over.replica.incarnation)
  checkInteger(`over[${index}].head`, over.head)
}

function isSession(value: unknown): boolean {
  if (typeof value !== 'string' || value.length !== SESSION_LENGTH) {
    return false
  }
  for (let i = 0; i < SESSION_LENGTH; i++) {
    if (BASE64URL[value.charCodeAt(i)] !== 1) {
      return false
    }
  }
  return true
}

const BASE64URL = new Uint8Array(128)
for (const character of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_') {
  BASE64URL[character.charCodeAt(0)] = 1
}
