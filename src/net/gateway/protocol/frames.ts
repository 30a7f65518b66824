import { type Frame, frameOf } from './wire.ts'

/** A frame of a client, in the form of Phoenix Channels V2: `[join_ref, ref, topic, event, payload]`. */
export interface ClientFrame {
  readonly joinRef: string | null
  readonly ref: string | null
  readonly topic: string
  readonly event: string
  readonly payload: Readonly<Record<string, unknown>>
  /** Of the whole frame, in UTF-16 code units. */
  readonly length: number
}

const MAX_REF_CHARACTERS = 64
const MAX_EVENT_CHARACTERS = 255
const MAX_TOPIC_CHARACTERS = 1_024

/** Undefined when it is no frame. */
export function parseFrame(text: string): ClientFrame | undefined {
  let frame: unknown
  try {
    frame = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!Array.isArray(frame) || frame.length !== 5) {
    return undefined
  }
  const [joinRef, ref, topic, event, payload] = frame as unknown[]
  const isSound =
    isRef(joinRef) &&
    isRef(ref) &&
    isText(topic, MAX_TOPIC_CHARACTERS) &&
    isText(event, MAX_EVENT_CHARACTERS) &&
    typeof payload === 'object' &&
    !Array.isArray(payload)
  return isSound ? ({ joinRef, ref, topic, event, payload: Object.freeze(payload ?? {}), length: text.length } as ClientFrame) : undefined
}

const isText = (value: unknown, max: number): value is string => typeof value === 'string' && value.length > 0 && value.length <= max
const isRef = (value: unknown): value is string | null =>
  value === null || (typeof value === 'string' && value.length <= MAX_REF_CHARACTERS)

/** The head of a binary push (kind 0): enough to answer that binary payloads are not taken. Undefined for any other binary frame. */
export function parseBinaryPush(bytes: Uint8Array): Omit<ClientFrame, 'payload' | 'length'> | undefined {
  const [kind, ...lengths] = bytes.subarray(0, 5)
  if (kind !== 0 || lengths.length !== 4) {
    return undefined
  }
  let offset = 5
  const texts = lengths.map(length => {
    const text = new TextDecoder().decode(bytes.subarray(offset, offset + length))
    offset += length
    return text
  })
  const [joinRef, ref, topic, event] = texts as [string, string, string, string]
  return offset <= bytes.length ? { joinRef, ref, topic, event } : undefined
}

/** The answer to one frame. */
export function replyFrame(to: Pick<ClientFrame, 'joinRef' | 'ref' | 'topic'>, status: 'ok' | 'error', response: object): Frame {
  return frameOf(JSON.stringify([to.joinRef, to.ref, to.topic, 'phx_reply', { status, response }]))
}

/** An event for all who joined a topic, whatever their join; or, with a `joinRef`, for one join of it. */
export function pushFrame(topic: string, event: string, payload: object, joinRef: string | null = null): Frame {
  return frameOf(pushText(topic, event, JSON.stringify(payload), joinRef))
}

/** As `pushFrame`, of a payload that is JSON already. */
export function pushText(topic: string, event: string, payload: string, joinRef: string | null = null): string {
  return `${pushHead(topic, event, joinRef)}${payload}]`
}

/** The text of a push up to its payload; `]` ends it. */
export function pushHead(topic: string, event: string, joinRef: string | null): string {
  return `[${JSON.stringify(joinRef)},null,${JSON.stringify(topic)},${JSON.stringify(event)},`
}

/** The join `joinRef` is over. The client does not join again by itself. */
export function closeFrame(topic: string, joinRef: string): Frame {
  return frameOf(JSON.stringify([joinRef, joinRef, topic, 'phx_close', {}]))
}

/** The join `joinRef` is over for the reason given. The client tries again. */
export function errorFrame(topic: string, joinRef: string, reason: string): Frame {
  return frameOf(JSON.stringify([joinRef, joinRef, topic, 'phx_error', { reason }]))
}
