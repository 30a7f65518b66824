import type { LeaveReason } from '../types.ts'

/** What `Mark.reason` says. Append-only: the numbers are on the wire. */
export const MarkReason = {
  unseen: 0,
  left: 1,
  closed: 2,
  expired: 3,
  nodeLeft: 4,
  nodeFailed: 5,
  kicked: 6,
  moved: 7,
  updated: 8
} as const
export type MarkReason = (typeof MarkReason)[keyof typeof MarkReason]

const NAMES: readonly LeaveReason[] = ['unseen', 'left', 'closed', 'expired', 'node-left', 'node-failed', 'kicked', 'moved', 'unseen']

/** Numbers of later versions read as `unseen`. */
export function leaveReason(code: number): LeaveReason {
  return NAMES[code] ?? 'unseen'
}
