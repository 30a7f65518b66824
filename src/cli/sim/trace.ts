import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { createGunzip } from 'node:zlib'
import { createRandom } from '../../tracker/environment.ts'
import { codeOf, messageOf, UsageError } from '../errors.ts'

/** What a line of a trace tells. */
export type TraceKind = 'join' | 'leave'

/** In `topic`, `user` comes or goes, `ms` after the start of the trace. */
export interface TraceEvent {
  readonly ms: number
  readonly topic: string
  readonly user: string
  readonly kind: TraceKind
}

/** Events in the order of their time. */
export interface Trace {
  readonly name: string
  readonly events: readonly TraceEvent[]
  /** From 0 to the last event, in the trace's own time. */
  readonly lengthMs: number
}

const HEADER = 'ms,topic,user,event'

/**
 * Reads a CSV with the header `ms,topic,user,event`, gzipped when its name ends in `.gz`. Joins of who is there and leaves of who is
 * not are kept: the workload ignores them.
 *
 * @throws UsageError with the line number.
 */
export async function readTrace(path: string): Promise<Trace> {
  const events: TraceEvent[] = []
  const raw = createReadStream(path)
  const source = path.endsWith('.gz') ? raw.pipe(createGunzip()) : raw
  const failed = new Promise<never>((_, reject) => {
    raw.on('error', reject)
    source.on('error', reject)
  })
  try {
    await Promise.race([collect(path, createInterface({ input: source, crlfDelay: Number.POSITIVE_INFINITY }), events), failed])
  } catch (error) {
    raw.destroy()
    throw error instanceof UsageError ? error : new UsageError(`--trace ${path}: ${explain(error)}`)
  }
  return { name: path, events, lengthMs: events.at(-1)?.ms ?? 0 }
}

async function collect(path: string, lines: AsyncIterable<string>, events: TraceEvent[]): Promise<void> {
  let number = 0
  let last = 0
  // One string object per name, however often it occurs.
  const names = new Map<string, string>()
  const intern = (name: string): string => {
    const known = names.get(name)
    if (known === undefined) {
      names.set(name, name)
    }
    return known ?? name
  }
  for await (const line of lines) {
    number++
    if (number === 1) {
      if (line.trim() !== HEADER) {
        throw new UsageError(`--trace ${path}: line 1 is ${JSON.stringify(line.slice(0, 60))}, allowed is the header ${HEADER}`)
      }
    } else if (line !== '') {
      const event = parseLine(path, number, line, last)
      last = event.ms
      events.push({ ...event, topic: intern(event.topic), user: intern(event.user) })
    }
  }
  if (events.length === 0) {
    throw new UsageError(`--trace ${path} holds no events`)
  }
}

function parseLine(path: string, number: number, line: string, last: number): TraceEvent {
  const [ms, topic, user, kind, ...rest] = line.split(',')
  const bad = (why: string): UsageError => new UsageError(`--trace ${path}: line ${number} ${why}: ${line.slice(0, 80)}`)
  if (!topic || !user || kind === undefined || rest.length > 0) {
    throw bad(`has not the four fields ${HEADER}`)
  }
  if (kind !== 'join' && kind !== 'leave') {
    throw bad('has an event that is neither join nor leave')
  }
  const at = Number(ms)
  if (!/^\d+(\.\d+)?$/.test(ms as string) || !Number.isFinite(at)) {
    throw bad('has no time in ms')
  }
  if (at < last) {
    throw bad(`goes back in time (${last} came before)`)
  }
  return { ms: at, topic, user, kind }
}

function explain(error: unknown): string {
  const code = codeOf(error)
  if (code === 'ENOENT') {
    return 'there is no such file'
  }
  return code?.startsWith('Z_') || code === 'ERR_TRAILING_JUNK' ? `not a gzip file (${messageOf(error)})` : messageOf(error)
}

/** Keeps that share of the users, the same ones for the same seed, with all their events. */
export function thinned(trace: Trace, share: number, seed: number): Trace {
  if (share >= 1) {
    return trace
  }
  const kept = new Map<string, boolean>()
  const keeps = (user: string): boolean => {
    let keep = kept.get(user)
    if (keep === undefined) {
      keep = createRandom(`${seed}/${user}`).nextFloat() < share
      kept.set(user, keep)
    }
    return keep
  }
  const events = trace.events.filter(event => keeps(event.user))
  return { name: `${trace.name} (${Math.round(share * 100)} % of its users)`, events, lengthMs: events.at(-1)?.ms ?? 0 }
}
