import type { DeltaInterval } from '../../src/crdt/index.ts'
import { createEntry, type Entry, type EntryContent, type EntryState } from '../../src/crdt/index.ts'
import type { Message } from '../../src/tracker/messages.ts'

/** Message samples with fixed values: golden vectors are made of them, and fuzzers start from them. */

export const SELF = { id: '12D3KooWGzh5m2b6q9pXv1nVqN8mT3yF7dKc4uJwRsAeXzPtLhQk', incarnation: 1_807_360_126_418_432 }
export const OTHER = { id: '12D3KooWLmr3Yk1ZbQf8cWxTn5UeGhJd9PvSa7Ro2BiCq6DtEyHw', incarnation: 1_807_360_126_511_901 }
const THIRD = { id: 'relay-3', incarnation: 2 }

export function entry(counter: number, content: Partial<EntryContent> = {}, state: EntryState = 0): Entry {
  return createEntry(
    {
      topic: 'room:123',
      key: 'user:12345',
      user: content.user ?? content.key ?? 'user:12345',
      session: 'Rollcall0123AAAB',
      connection: 7,
      meta: '{}',
      joinedAt: 1_765_000_123_456,
      revision: 0,
      epoch: 1,
      over: [],
      ...content
    },
    counter,
    state
  )
}

/** A plain interval of `SELF` that ends with the last of the entries or marks. */
export function interval(from: number, to: number, parts: Partial<DeltaInterval> = {}): DeltaInterval {
  return { replica: SELF, shard: 0, from, to, since: from, asOf: to, adds: [], marks: [], ...parts }
}

export const SAMPLES: Readonly<Record<string, Message>> = {
  'hello of a newcomer': {
    type: 'hello',
    protocolVersion: 1,
    cluster: 'chat',
    replica: SELF,
    graceMs: 15_000,
    digest: [],
    want: 'all',
    unreached: []
  },
  'hello with a digest, requests and unreached ids': {
    type: 'hello',
    protocolVersion: 2,
    cluster: 'чат',
    replica: SELF,
    graceMs: 0,
    digest: [
      { replica: SELF, shard: 0, head: 10_000, hash: { high: 1, low: 0xffffffff }, floor: 0, graceMs: 15_000 },
      { replica: OTHER, shard: 3, head: 2 ** 52, hash: null, floor: 2 ** 52, graceMs: 2 ** 31 }
    ],
    want: [
      { replica: OTHER, shard: 0, head: 17, cursor: { to: 400, asOf: 512 } },
      { replica: THIRD, shard: 0, head: 0, cursor: null }
    ],
    unreached: [OTHER.id, 'relay-4']
  },
  'heartbeat, idle': {
    type: 'heartbeat',
    replica: SELF,
    counter: 86_400,
    ageMs: 0,
    head: 1_234_567,
    hash: { high: 0x01234567, low: 0x89abcdef },
    digestHash: 0xdeadbeef,
    relayed: []
  },
  'heartbeat that waited, and relays': {
    type: 'heartbeat',
    replica: SELF,
    counter: 1,
    ageMs: 250,
    head: 0,
    hash: { high: 0, low: 0 },
    digestHash: 0,
    relayed: [
      { replica: OTHER, counter: 77, ageMs: 1_250 },
      { replica: THIRD, counter: 3, ageMs: 0 }
    ]
  },
  'digest that asks for a reply': {
    type: 'digest',
    entries: [{ replica: OTHER, shard: 0, head: 9, hash: { high: 7, low: 8 }, floor: 2, graceMs: 15_000 }],
    unreached: [],
    reply: true
  },
  pull: { type: 'pull', requests: [{ replica: OTHER, shard: 0, head: 9, cursor: null }] },
  'delta of one join': { type: 'delta', answer: false, intervals: [interval(41, 42, { adds: [entry(42)] })] },
  'delta of a connect and a join': {
    type: 'delta',
    answer: false,
    intervals: [interval(41, 43, { adds: [entry(42, { topic: '$users' }), entry(43)] })]
  },
  'delta of joins with numbered sessions': {
    type: 'delta',
    answer: false,
    intervals: [
      interval(0, 3, {
        adds: ['Rollcall0123AAAA', 'Rollcall0123AAAB', 'Rollcall0123AAAD'].map((session, i) =>
          entry(i + 1, { session, key: `user:${[512, 7, 31_337][i]}`, connection: 20 + i, joinedAt: 1_765_000_123_456 + 3 * i })
        )
      })
    ]
  },
  'delta of an update and leaves': {
    type: 'delta',
    answer: false,
    intervals: [
      interval(100, 104, {
        adds: [entry(101, { meta: '{"device":"phone","name":"Zoë"}', revision: 1, epoch: 2 })],
        marks: [
          { event: 101, counter: 42, state: 3, reason: 9 },
          { event: 102, counter: 5, state: 1, reason: 2 },
          { event: 103, counter: 6, state: 2, reason: 0 },
          { event: 104, counter: 5, state: 3, reason: 255 }
        ]
      })
    ]
  },
  'delta that answers with slices of two origins': {
    type: 'delta',
    answer: true,
    intervals: [
      interval(0, 9, {
        since: 40,
        asOf: 42,
        adds: [entry(3, {}, 1), entry(9, { topic: 'room:lobby', key: 'a', user: 'b', over: [{ replica: OTHER, head: 12 }] }, 2)],
        marks: [{ event: 41, counter: 3, state: 1, reason: 4 }]
      }),
      { ...interval(7, 7, { asOf: 8, marks: [{ event: 8, counter: 1, state: 3, reason: 1 }] }), replica: THIRD, shard: 2 }
    ]
  },
  'delta of names that are none of a program': {
    type: 'delta',
    answer: false,
    intervals: [
      interval(0, 6, {
        adds: ['__proto__', 'constructor', '', '\u0000', '007', '👩‍👩‍👧 \ufeff'].map((name, i) =>
          entry(i + 1, { topic: name, key: name, user: name, meta: '{"__proto__":{"polluted":1}}' })
        )
      })
    ]
  },
  bye: { type: 'bye', replica: SELF, head: 4_711, announce: true },
  stale: { type: 'stale', rejected: OTHER, known: OTHER.incarnation + 1, beats: true, tooFarAhead: false },
  'stale, too far ahead': { type: 'stale', rejected: OTHER, known: 0, beats: false, tooFarAhead: true }
}
