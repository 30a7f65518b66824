import { MAX_COUNTER } from '../../crdt/dot.ts'
import type { Bye, Stale } from '../../tracker/messages.ts'
import { bitOf } from './checks.ts'
import type { PayloadReader, PayloadWriter } from './payload.ts'

const ANNOUNCE = 1
const BEATS = 1
const TOO_FAR_AHEAD = 2

/** Layout: flags, table of replicas with the sender's own, head. */
export function writeBye({ writer, replicas }: PayloadWriter, bye: Bye): void {
  replicas.ref(bye.replica)
  writer.byte(bitOf('announce', bye.announce) * ANNOUNCE)
  replicas.write(writer)
  writer.integer('head', bye.head, MAX_COUNTER)
}

/** @throws InvalidFrameError */
export function readBye(payload: PayloadReader): Bye {
  const flags = payload.reader.integer('flags', ANNOUNCE)
  const replica = payload.replicas().ref(0, 'replica')
  return { type: 'bye', replica, head: payload.reader.integer('head', MAX_COUNTER), announce: flags === ANNOUNCE }
}

/** Layout: flags, table of replicas with the rejected one, the known incarnation. */
export function writeStale({ writer, replicas }: PayloadWriter, stale: Stale): void {
  replicas.ref(stale.rejected)
  writer.byte(bitOf('beats', stale.beats) * BEATS + bitOf('tooFarAhead', stale.tooFarAhead) * TOO_FAR_AHEAD)
  replicas.write(writer)
  writer.integer('known', stale.known, MAX_COUNTER)
}

/** @throws InvalidFrameError */
export function readStale(payload: PayloadReader): Stale {
  const flags = payload.reader.integer('flags', BEATS + TOO_FAR_AHEAD)
  const rejected = payload.replicas().ref(0, 'rejected')
  const known = payload.reader.integer('known', MAX_COUNTER)
  return { type: 'stale', rejected, known, beats: (flags & BEATS) !== 0, tooFarAhead: (flags & TOO_FAR_AHEAD) !== 0 }
}
