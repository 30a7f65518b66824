import type { MessageType } from '../../tracker/messages.ts'

/** What went one way between two addresses. Lost frames count: they were sent. */
export interface Traffic {
  readonly frames: number
  readonly bytes: number
  readonly bytesOf: Readonly<Partial<Record<MessageType, number>>>
}

/** Counts frames and bytes. */
export class TrafficCount implements Traffic {
  frames = 0
  bytes = 0
  readonly bytesOf: Partial<Record<MessageType, number>> = {}

  add(type: MessageType, bytes: number): void {
    this.frames++
    this.bytes += bytes
    this.bytesOf[type] = (this.bytesOf[type] ?? 0) + bytes
  }
}
