import type { DeltaInterval, EntryContent, Mark, ReplicaRef } from '../../../src/crdt/index.ts'

export function ref(id: string, incarnation = 1): ReplicaRef {
  return { id, incarnation }
}

/** Content number `n`: no two numbers give the same, and neighbours share topics and users, as real ones do. */
export function content(n: number, given: Partial<EntryContent> = {}): EntryContent {
  return {
    topic: `room:${n % 3}`,
    key: `user:${n % 5}`,
    user: `user:${n % 5}`,
    session: String(n).padStart(16, 's'),
    connection: n,
    meta: `{"n":${n}}`,
    joinedAt: 1_700_000_000_000 + n,
    revision: 0,
    epoch: 1,
    over: [],
    ...given
  }
}

/** An interval of replica O, plain unless `given` says otherwise; for tests of what no honest replica sends, too. */
export function interval(from: number, to: number, given: Partial<DeltaInterval> = {}): DeltaInterval {
  return { replica: ref('O'), shard: 0, from, to, since: from, asOf: to, adds: [], marks: [], ...given }
}

export function mark(event: number, counter: number, state: Mark['state'] = 3, reason = 7): Mark {
  return { event, counter, state, reason }
}
