import type { DeltaInterval } from '../crdt/delta-interval.ts'
import type { DigestEntry, Message } from '../tracker/messages.ts'
import type { Diff, Presence, WatchEvent } from '../tracker/types.ts'

/** A message in one short line, for traces. */
export function messageLine(message: Message): string {
  switch (message.type) {
    case 'hello': {
      const want = message.want === 'all' ? 'all' : `${message.want.length} origins`
      return `hello ${refOf(message.replica)} wants ${want}, has ${message.digest.map(digestLine).join(' ')}`
    }
    case 'heartbeat': {
      const relayed = message.relayed.map(({ replica, counter, ageMs }) => `${refOf(replica)}:${counter} (${Math.round(ageMs)} ms ago)`)
      return `heartbeat ${message.counter} at ${message.head}${relayed.length > 0 ? ` relays ${relayed.join(' ')}` : ''}`
    }
    case 'digest':
      return `digest ${message.entries.map(digestLine).join(' ')}${message.reply ? ', asks for ours' : ''}`
    case 'pull':
      return `pull ${message.requests.map(({ replica, head, cursor }) => `${refOf(replica)} from ${cursor === null ? head : `${cursor.to}@${cursor.asOf}`}`).join(' ')}`
    case 'delta':
      return `${message.answer ? 'answer' : 'delta'} ${message.intervals.map(intervalLine).join(' ')}`
    case 'bye':
      return `bye ${refOf(message.replica)} at ${message.head}${message.announce ? ', announced' : ''}`
    case 'stale':
      return `stale: rejects ${refOf(message.rejected)}, knows ${refOf({ id: message.rejected.id, incarnation: message.known })}${message.beats ? ', which beats' : ''}`
  }
}

/** A diff in one short line: `+` joins, `-` leaves, `~` updates, `>` moves. */
export function diffLine({ topic, cause, joins, leaves, updates, moves, replicas }: Diff): string {
  return [
    `diff ${topic} (${cause})`,
    ...joins.map(presence => `+${nameOf(presence)} at ${presence.replica}`),
    ...leaves.map(({ presence, reason }) => `-${nameOf(presence)} ${reason}`),
    ...updates.map(({ prev, next }) => `~${nameOf(prev)} to ${JSON.stringify(next.meta)}`),
    ...moves.map(({ key, ref, replica }) => `>${key} ${ref} to ${replica}`),
    ...replicas.map(({ id, state }) => `${id} ${state}`)
  ].join(' ')
}

/** What a watcher is told, in one line. */
export function watchLine(event: WatchEvent): string {
  if (event.type === 'snapshot') {
    return `snapshot ${event.topic} (${event.reason}) ${event.presences.map(presence => `${nameOf(presence)} at ${presence.replica}`).join(' ')}`
  }
  const replaced = event.replace.map(({ replica, presences }) => `replace ${replica}: ${presences.map(nameOf).join(' ')}`)
  const reset = event.resets.map(({ key, presence }) => `reset ${key}${presence === null ? '' : ` to ${nameOf(presence)}`}`)
  return [diffLine(event), ...replaced, ...reset].join(' ')
}

const nameOf = ({ key, ref, meta }: Presence): string => `${key} ${ref} ${JSON.stringify(meta)}`

/** Incarnations of one run differ in their last digits only. */
const refOf = ({ id, incarnation }: { readonly id: string; readonly incarnation: number }): string => `${id}#…${incarnation % 1_000_000}`

const digestLine = ({ replica, head, hash }: DigestEntry): string => `${refOf(replica)}:${head}${hash === null ? '?' : ''}`

function intervalLine({ replica, from, to, since, asOf, adds, marks }: DeltaInterval): string {
  const point = (dot: number, event: number): string => (dot === event ? String(dot) : `${dot}@${event}`)
  const added = adds.map(
    ({ counter, topic, key, state }) => ` +${counter} ${topic.replace('\u0000', '')}/${key}${'_lc'[state] === '_' ? '' : ` (${state})`}`
  )
  const marked = marks.map(({ event, counter, state, reason }) => ` ${event}:${counter}→${state} (${reason})`)
  return `${refOf(replica)}(${point(from, since)},${point(to, asOf)}]${added.join('')}${marked.join('')}`
}
