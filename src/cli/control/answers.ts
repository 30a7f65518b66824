/**
 * What the control API answers: the JSON of every endpoint, shared by server, commands and tests. Times are ms; wall clocks are ms since 1970.
 */

import type { UserExplanation } from '../../net/gateway/page/explain-user.ts'
import type { Presence, ReplicaInfo, TopicCount, UserStatus } from '../../tracker/types.ts'
import type { ClockReading } from '../clock-watch.ts'
import type { LoopLag } from '../loop-lag.ts'

/** Of `GET /v1/status`. */
export interface StatusAnswer {
  readonly replica: string
  readonly cluster: string
  readonly incarnation: number
  readonly addresses: readonly string[]
  readonly pid: number
  readonly node: string
  readonly uptimeMs: number
  readonly ready: boolean
  /** Ready without the state of every origin. */
  readonly partial: boolean
  readonly draining: boolean
  /** Null without one. `sockets`: clients that are connected now; a drain has ended when there are none. */
  readonly gateway: { readonly url: string; readonly sockets: number } | null
}

/** Of `GET /v1/nodes`. */
export interface NodesAnswer {
  readonly self: string
  readonly nodes: readonly ReplicaInfo[]
}

/** Of `GET /v1/topics`. */
export interface TopicsAnswer {
  readonly topics: readonly ({ readonly topic: string } & TopicCount)[]
  /** Give it as `cursor` for the next page; null at the end. */
  readonly cursor: string | null
}

/** Of `GET /v1/who`. */
export interface WhoAnswer extends TopicCount {
  readonly topic: string
  readonly presences: number
  readonly list: readonly Presence[]
  readonly cursor: string | null
}

/** Of `GET /v1/count`. */
export interface CountAnswer extends TopicCount {
  readonly topic: string
}

/** Of `GET /v1/user`. */
export interface UserAnswer extends UserStatus {
  readonly user: string
  readonly presences: readonly ({ readonly topic: string } & Presence)[]
}

/** Of `POST /v1/kick`. */
export interface KickAnswer {
  readonly user: string
  /** Connections that were ended, or asked to end. */
  readonly kicked: number
}

/** Of `POST /v1/forget`. */
export interface ForgetAnswer {
  readonly replica: string
  readonly forgotten: boolean
}

/** Of `POST /v1/drain`. */
export interface DrainAnswer {
  readonly draining: true
}

/** `bad`: users suffer, or soon will. `notice`: worth knowing. */
export type Severity = 'ok' | 'notice' | 'bad'

/** One thing that the doctor looked at. */
export interface Finding {
  readonly severity: Severity
  readonly what: string
  /** What to do; empty when there is nothing to do. */
  readonly advice: string
}

/** Of `GET /v1/doctor`. */
export interface DoctorAnswer {
  readonly status: StatusAnswer
  readonly loop: LoopLag
  readonly clock: ClockReading
  readonly nodes: readonly ReplicaInfo[]
  readonly user: UserExplanation | null
  readonly findings: readonly Finding[]
}

/** Of any request that failed. */
export interface ErrorAnswer {
  readonly error: { readonly code: string; readonly message: string }
}
