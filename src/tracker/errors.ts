/**
 * Errors that a caller can act on. Compare `name` or `code`, never `instanceof`: another copy of the package may have made them.
 */

import type { ConnectionEnd } from './types.ts'

export class InvalidOptionsError extends Error {
  override readonly name = 'InvalidOptionsError'
  readonly code = 'ERR_INVALID_OPTIONS'
}

/** A topic, key, user, session or replica id that is no name: says which, its value, and what is allowed. */
export class InvalidNameError extends Error {
  override readonly name = 'InvalidNameError'
  readonly code = 'ERR_INVALID_NAME'
}

/** A meta that is no plain object of plain values. */
export class InvalidMetaError extends Error {
  override readonly name = 'InvalidMetaError'
  readonly code = 'ERR_META_INVALID'
}

export class MetaTooBigError extends Error {
  override readonly name = 'MetaTooBigError'
  readonly code = 'ERR_META_TOO_BIG'
  readonly bytes: number
  readonly maxBytes: number

  constructor(bytes: number, maxBytes: number) {
    super(`the meta has ${bytes} bytes as JSON, allowed are ${maxBytes} (limits.metaBytes)`)
    this.bytes = bytes
    this.maxBytes = maxBytes
  }
}

export class AlreadyTrackedError extends Error {
  override readonly name = 'AlreadyTrackedError'
  readonly code = 'ERR_ALREADY_TRACKED'
  readonly topic: string
  readonly key: string

  constructor(topic: string, key: string) {
    super(`"${key}" is already tracked in "${topic}" by this connection; use update`)
    this.topic = topic
    this.key = key
  }
}

export class NotTrackedError extends Error {
  override readonly name = 'NotTrackedError'
  readonly code = 'ERR_NOT_TRACKED'
  readonly topicOrRef: string

  constructor(topicOrRef: string) {
    super(`this connection has no presence "${topicOrRef}" (a topic it tracks, or the ref of one of its presences)`)
    this.topicOrRef = topicOrRef
  }
}

/** The connection has ended; also the reason of its signal. */
export class ConnectionEndedError extends Error {
  override readonly name = 'ConnectionEndedError'
  readonly code = 'ERR_CONNECTION_ENDED'
  readonly end: ConnectionEnd

  constructor(user: string, end: ConnectionEnd) {
    super(`the connection of "${user}" has ended: ${end}`)
    this.end = end
  }
}

/** A named limit of the options was reached. Nothing was changed. */
export class LimitError extends Error {
  override readonly name = 'LimitError'
  readonly code = 'ERR_LIMIT'
  readonly limit: string
  readonly max: number

  constructor(limit: string, max: number) {
    super(`limits.${limit} is reached: at most ${max}`)
    this.limit = limit
    this.max = max
  }
}

/** The tracker has not been started, is draining, or was stopped. */
export class NotAcceptingError extends Error {
  override readonly name = 'NotAcceptingError'
  readonly code = 'ERR_NOT_ACCEPTING'
  readonly state: string

  constructor(state: string) {
    super(`the tracker takes no new connections: it is ${state}`)
    this.state = state
  }
}

/** What `waitFor` and `watch({ since })` reject with. FORGOTTEN: a replica of the token was dropped; BEHIND: not there in time; HIDDEN: it is judged down here. */
export class VersionError extends Error {
  override readonly name = 'VersionError'
  readonly code: 'FORGOTTEN' | 'BEHIND' | 'HIDDEN' | 'INVALID'

  constructor(code: 'FORGOTTEN' | 'BEHIND' | 'HIDDEN' | 'INVALID', detail: string) {
    super(`${code}: ${detail}`)
    this.code = code
  }
}
