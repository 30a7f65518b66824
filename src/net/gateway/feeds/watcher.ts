import type { Frame } from '../protocol/wire.ts'

/** One join that is told of a topic. */
export interface Watcher {
  readonly joinRef: string
  /** False while its socket has too much to read. Nothing is sent then: it is given the whole state when it has read. */
  readonly takes: boolean
  send(frame: Frame): void
  sendParts(parts: readonly Buffer[]): void
}
