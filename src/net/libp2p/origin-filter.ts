import type { ReplicaId } from '../../crdt/dot.ts'
import type { Message } from '../../tracker/messages.ts'

/**
 * The message without what it says of origins that are not admitted: a member relays for others, and they pass the same admission as
 * if they had come themselves (INV-71). The same object when nothing had to go; undefined when nothing is left.
 *
 * @param admits Whether a third replica may be heard of; a verdict that is not known yet counts as no, as gossip repeats itself.
 */
export function filterOrigins(message: Message, sender: ReplicaId, admits: (origin: ReplicaId) => boolean): Message | undefined {
  const known = (item: { readonly replica: { readonly id: ReplicaId } }): boolean => item.replica.id === sender || admits(item.replica.id)
  switch (message.type) {
    case 'hello': {
      const digest = keep(message.digest, known)
      return digest === message.digest ? message : { ...message, digest }
    }
    case 'digest': {
      const entries = keep(message.entries, known)
      return entries === message.entries ? message : { ...message, entries }
    }
    case 'heartbeat': {
      const relayed = keep(message.relayed, known)
      return relayed === message.relayed ? message : { ...message, relayed }
    }
    case 'delta': {
      const intervals = keep(message.intervals, known)
      if (intervals === message.intervals) {
        return message
      }
      return intervals.length === 0 ? undefined : { ...message, intervals }
    }
    default:
      return message
  }
}

function keep<T>(items: readonly T[], admitted: (item: T) => boolean): readonly T[] {
  return items.every(admitted) ? items : items.filter(admitted)
}
