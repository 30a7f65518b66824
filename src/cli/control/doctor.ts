import { explainUser } from '../../net/gateway/page/explain-user.ts'
import type { ReplicaInfo, Tracker } from '../../tracker/types.ts'
import type { ClockReading } from '../clock-watch.ts'
import { formatDuration } from '../durations.ts'
import type { LoopLag } from '../loop-lag.ts'
import type { DoctorAnswer, Finding, StatusAnswer } from './answers.ts'

/** A loop this late is about to be mistaken for a dead replica: half of the pause that peers accept by default. */
const LATE_LOOP_MS = 500
const LAGGING_MS = 2_000
const STEPPED_CLOCK_MS = 1_000

/** What the tracker does not know of itself. */
export interface Readings {
  readonly status: StatusAnswer
  readonly loop: LoopLag
  readonly clock: ClockReading
}

/** Looks at the replica, its peers and, when one is named, a user; says what is wrong and what to do. */
export function examine(tracker: Tracker, readings: Readings, user?: string): DoctorAnswer {
  const nodes = tracker.replicas()
  const findings = [
    ...examineSelf(readings),
    ...nodes.flatMap(node => examineNode(node, tracker.id)),
    ...examineClocks(tracker, readings.clock)
  ]
  return {
    ...readings,
    nodes,
    user: user === undefined ? null : explainUser(tracker, nodes, user, readings.clock.wallMs),
    findings: findings.length > 0 ? findings : [{ severity: 'ok', what: 'nothing is wrong', advice: '' }]
  }
}

function examineSelf({ status, loop, clock }: Readings): Finding[] {
  const findings: Finding[] = []
  if (!status.ready) {
    findings.push({
      severity: 'notice',
      what: 'this replica is not ready: it still loads the state of others',
      advice: 'ask again in some seconds'
    })
  }
  if (status.partial) {
    findings.push({
      severity: 'bad',
      what: 'this replica became ready without the state of every replica: lists may lack presences',
      advice: 'see which node is not complete with rollcall nodes'
    })
  }
  if (status.draining) {
    findings.push({
      severity: 'notice',
      what: 'this replica drains: it takes no new connections',
      advice: 'stop it when its clients have moved'
    })
  }
  if (loop.maxMs > LATE_LOOP_MS) {
    findings.push({
      severity: 'bad',
      what: `the event loop was late by up to ${formatDuration(loop.maxMs)} in the last two minutes`,
      advice: 'find what blocks it (node --cpu-prof), or raise --acceptable-pause on the other replicas'
    })
  }
  if (Math.abs(clock.steppedMs) > STEPPED_CLOCK_MS) {
    findings.push({
      severity: 'notice',
      what: `the wall clock moved by ${formatDuration(clock.steppedMs)} since the start`,
      advice: 'nothing depends on it but times shown to people; check NTP'
    })
  }
  return findings
}

function examineNode(node: ReplicaInfo, self: string): Finding[] {
  if (node.id === self) {
    return []
  }
  const findings: Finding[] = []
  if (node.status !== 'up') {
    findings.push({
      severity: 'bad',
      what: `${node.id} is ${node.status}: not heard for ${formatDuration(node.silentMs)} (phi ${node.phi.toFixed(1)})`,
      advice: 'look whether its process runs and is reachable; if it is gone for good: rollcall forget'
    })
  }
  if (!node.complete) {
    findings.push({ severity: 'notice', what: `the state of ${node.id} is still being transferred`, advice: 'ask again in some seconds' })
  }
  if (node.lagMs > LAGGING_MS) {
    findings.push({
      severity: 'bad',
      what: `events of ${node.id} are missing here for ${formatDuration(node.lagMs)}`,
      advice: 'a slow or broken link; compare rollcall nodes on both sides'
    })
  }
  return findings
}

// A presence that began in the future was stamped by a clock that is ahead of ours. It is a lower bound: an old presence hides the skew.
function examineClocks(tracker: Tracker, { wallMs }: ClockReading): Finding[] {
  const aheadMs = new Map<string, number>()
  for (const topic of tracker.topics({ limit: 100 }).keys()) {
    for (const presences of tracker.list(topic, { limit: 100 }).values()) {
      for (const { replica, joinedAt } of presences) {
        aheadMs.set(replica, Math.max(aheadMs.get(replica) ?? 0, joinedAt - wallMs))
      }
    }
  }
  return [...aheadMs]
    .filter(([, ms]) => ms > STEPPED_CLOCK_MS)
    .map(([replica, ms]) => ({
      severity: 'notice',
      what: `the wall clock of ${replica} is at least ${formatDuration(ms)} ahead of this one`,
      advice: 'check NTP on both'
    }))
}
