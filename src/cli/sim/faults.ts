import type { Random } from '../../tracker/environment.ts'

/**
 * kill: SIGKILL, started again later · stop: goodbye and exit, started again later · pause: SIGSTOP, SIGCONT later · cut: connections
 * between two groups closed and refused · blackhole: open, and nothing arrives · slow: delay and little bandwidth.
 */
export const FAULT_KINDS = ['kill', 'stop', 'pause', 'cut', 'blackhole', 'slow'] as const
/** One of `FAULT_KINDS`. */
export type FaultKind = (typeof FAULT_KINDS)[number]

/** A replica, or the links between two groups of them, is faulty from `atMs` until `untilMs`. Replicas are numbered from 0. */
export type Fault =
  | { readonly kind: 'kill' | 'stop' | 'pause'; readonly atMs: number; readonly untilMs: number; readonly replica: number }
  | {
      readonly kind: 'cut' | 'blackhole' | 'slow'
      readonly atMs: number
      readonly untilMs: number
      readonly groups: readonly [readonly number[], readonly number[]]
    }

/** What a schedule is drawn from. */
export interface ScheduleOptions {
  readonly kinds: readonly FaultKind[]
  readonly replicas: number
  readonly runMs: number
  /** One fault in so long, on average. */
  readonly everyMs: number
  readonly random: Random
}

const QUIET_START_MS = 2_000
const SHORTEST_MS = 1_500
const LONGEST_MS = 8_000

/**
 * Draws the faults of a run: at most a minority of replicas is away at one time, kinds take turns, and all is whole again before
 * nine tenths of the run are over.
 */
export function scheduleFaults({ kinds, replicas, runMs, everyMs, random }: ScheduleOptions): Fault[] {
  const faults: Fault[] = []
  if (kinds.length === 0) {
    return faults
  }
  const lastMs = runMs * 0.9
  const turns = random.shuffle([...kinds])
  for (let atMs = Math.min(QUIET_START_MS, runMs * 0.15); atMs + SHORTEST_MS / 2 < lastMs; atMs += everyMs * (0.5 + random.nextFloat())) {
    const wantedMs = SHORTEST_MS + random.nextFloat() * (LONGEST_MS - SHORTEST_MS)
    const untilMs = Math.min(lastMs, atMs + wantedMs)
    const kind = turns[faults.length % turns.length] as FaultKind
    const fault = drawFault(kind, atMs, untilMs, replicas, faults, random)
    if (fault !== undefined) {
      faults.push(fault)
    }
  }
  return faults
}

function drawFault(
  kind: FaultKind,
  atMs: number,
  untilMs: number,
  replicas: number,
  before: readonly Fault[],
  random: Random
): Fault | undefined {
  if (kind === 'kill' || kind === 'stop' || kind === 'pause') {
    const away = new Set(
      before.filter(fault => 'replica' in fault && fault.untilMs > atMs).map(fault => (fault as { replica: number }).replica)
    )
    const candidates = Array.from({ length: replicas }, (_, replica) => replica).filter(replica => !away.has(replica))
    if (away.size >= Math.max(1, Math.floor((replicas - 1) / 2))) {
      return undefined
    }
    return { kind, atMs, untilMs, replica: candidates[random.below(candidates.length)] as number }
  }
  return { kind, atMs, untilMs, groups: drawGroups(replicas, random) }
}

// Half of the time one single link, else the cluster in two.
function drawGroups(replicas: number, random: Random): [number[], number[]] {
  const order = random.shuffle(Array.from({ length: replicas }, (_, replica) => replica))
  if (random.below(2) === 0) {
    return [order.slice(0, 1), order.slice(1, 2)]
  }
  const size = 1 + random.below(Math.max(1, Math.floor(replicas / 2)))
  return [order.slice(0, size), order.slice(size)]
}

/** For people: `kill b`, `cut a | b c`. */
export function describeFault(fault: Fault, name: (replica: number) => string): string {
  return 'replica' in fault
    ? `${fault.kind} ${name(fault.replica)}`
    : `${fault.kind} ${fault.groups.map(group => group.map(name).join(' ')).join(' | ')}`
}
