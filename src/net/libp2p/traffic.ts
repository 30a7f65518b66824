import type { MessageType } from '../../tracker/messages.ts'

export const MESSAGE_TYPES: readonly MessageType[] = ['hello', 'heartbeat', 'digest', 'pull', 'delta', 'bye', 'stale']

export interface TrafficCount {
  messages: number
  /** Encoded messages with their length, without what yamux, noise and TCP add. */
  bytes: number
}

/** What went over the links since the transport was made, by kind of message and direction. */
export class Traffic {
  readonly sent: Readonly<Record<MessageType, TrafficCount>> = counts()
  readonly received: Readonly<Record<MessageType, TrafficCount>> = counts()
  /** Frames that were no message; each cost its sender the link. */
  invalid = 0
  /** Messages of ours that do not fit a frame, and were not sent: a fault of this program. */
  unsendable = 0
  /** Streams of peers that are not admitted. */
  refused = 0
  linksOpened = 0
  linksLost = 0
  dials = 0
  dialsFailed = 0
}

function counts(): Record<MessageType, TrafficCount> {
  const made = MESSAGE_TYPES.map(type => [type, { messages: 0, bytes: 0 }] as const)
  return Object.fromEntries(made) as Record<MessageType, TrafficCount>
}
