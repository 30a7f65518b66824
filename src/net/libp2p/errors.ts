/**
 * Errors of the libp2p transport. Compare `name` or `code`, never `instanceof`: another copy of the package may have made them.
 */

/**
 * The node would take part in a cluster with whoever can reach it: it listens, or dials, beyond loopback, and has no pre-shared key, no
 * allow-list and no hook. Nothing was started.
 */
export class AdmissionRequiredError extends Error {
  override readonly name = 'AdmissionRequiredError'
  readonly code = 'ERR_ADMISSION_REQUIRED'
  readonly address: string

  constructor(address: string) {
    super(
      `${address} is not a loopback address: give allow (peer ids), admit (a hook), or a connectionProtector (pre-shared key), ` +
        'or keep to /ip4/127.0.0.1, /ip6/::1, /unix and /memory'
    )
    this.address = address
  }
}

/** A peer that is no member opened a stream, was dialled, or was named. It costs the peer its stream, and nothing else. */
export class NotAdmittedError extends Error {
  override readonly name = 'NotAdmittedError'
  readonly code = 'ERR_NOT_ADMITTED'
  readonly peer: string

  constructor(peer: string) {
    super(`${peer} is not admitted to this cluster`)
    this.peer = peer
  }
}

/** What a stream carried is no sequence of frames: a length that lies, or a frame that does not end. The stream was reset. */
export class FramingError extends Error {
  override readonly name = 'FramingError'
  readonly code: 'ERR_FRAME_LENGTH' | 'ERR_FRAME_TIMEOUT' | 'ERR_FRAME_UNEXPECTED'

  constructor(code: 'ERR_FRAME_LENGTH' | 'ERR_FRAME_TIMEOUT' | 'ERR_FRAME_UNEXPECTED', detail: string) {
    super(detail)
    this.code = code
  }
}

/** A link could not be opened, or made no progress. It is tried again. */
export class LinkError extends Error {
  override readonly name = 'LinkError'
  readonly code: 'ERR_LINK_TIMEOUT' | 'ERR_LINK_CLOSED' | 'ERR_LINK_STUCK' | 'ERR_LINK_REPLACED'

  constructor(code: 'ERR_LINK_TIMEOUT' | 'ERR_LINK_CLOSED' | 'ERR_LINK_STUCK' | 'ERR_LINK_REPLACED', detail: string) {
    super(detail)
    this.code = code
  }
}

/** The key file holds no private key, or may be read by others. Nothing was written. */
export class KeyFileError extends Error {
  override readonly name = 'KeyFileError'
  readonly code = 'ERR_KEY_FILE'
  readonly path: string

  constructor(path: string, detail: string, cause?: unknown) {
    super(`key file ${path}: ${detail}`, { cause })
    this.path = path
  }
}
