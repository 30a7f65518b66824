import type { CloseReason } from '../tally.ts'

/** What a WebSocket is closed with (RFC 6455 §7.4.1, and the registry for 1012 and 1013). Client libraries come back after each of them. */
export const CLOSE_CODES: Readonly<Record<CloseReason, number>> = {
  gone: 1000,
  'taken over': 1000,
  stopped: 1001,
  malformed: 1007,
  'too large': 1009,
  rate: 1008,
  'token expired': 1008,
  kicked: 1008,
  expired: 1001,
  draining: 1012,
  slow: 1013
}
