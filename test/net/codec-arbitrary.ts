import fc from 'fast-check'
import { canonicalize, createEntry, type DeltaInterval, type EntryContent, type EntryState, type Mark } from '../../src/crdt/index.ts'
import type { DigestEntry, Message } from '../../src/tracker/messages.ts'

/** Every message that the types and limits allow, with an eye to what is awkward. */

const MAX = 2 ** 52

/** Decoded objects are ordinary ones; so are these, for a strict comparison. */
function record<T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> {
  return fc.record(model, { noNullPrototype: true }) as fc.Arbitrary<T>
}

export const AWKWARD = [
  '__proto__',
  'constructor',
  'prototype',
  'hasOwnProperty',
  'toString',
  'valueOf',
  '',
  '\u0000',
  '__proto__.x',
  '0',
  '00',
  '007',
  'user:0',
  'user:999999999999999',
  'user:9999999999999999',
  'user:12345678901234567890',
  '\ufeff',
  '\ufeffbom',
  '👩‍👩‍👧‍👦',
  'é'.repeat(512),
  'x'.repeat(1_024)
]

const bytesOf = (text: string): number => new TextEncoder().encode(text).length
const shortText = fc.string({ unit: 'binary', maxLength: 20 }).filter(text => text.isWellFormed())
const numbered = fc
  .tuple(fc.constantFrom('user:', 'room:', 'a', ''), fc.oneof(fc.nat(200), fc.nat(), fc.maxSafeNat()))
  .map(([stem, n]) => stem + n)

export const name = fc.oneof(fc.constantFrom(...AWKWARD), numbered, shortText, fc.uuid())
export const counter = fc.oneof(
  fc.nat(300),
  fc.nat(),
  fc.integer({ min: 0, max: MAX }),
  fc.constantFrom(0, 1, 2 ** 31, 2 ** 32, MAX - 1, MAX)
)
const lane = fc.integer({ min: 0, max: 2 ** 32 - 1 })
const hash = record({ high: lane, low: lane })

const id = fc.oneof(
  fc.constantFrom('a', 'b', '12D3KooWGzh5m2b6q9pXv1nVqN8mT3yF7dKc4uJwRsAeXzPtLhQk', '__proto__', '漢'.repeat(128)),
  shortText.filter(text => text.length > 0)
)
export const ref = record({ id, incarnation: counter })

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const session = fc.oneof(
  fc.string({ unit: fc.constantFrom(...alphabet), minLength: 16, maxLength: 16 }),
  fc.string({ unit: fc.constantFrom(...alphabet), minLength: 5, maxLength: 5 }).map(number => `Rollcall012${number}`)
)
const meta = fc.oneof(
  { weight: 3, arbitrary: fc.constant('{}') },
  {
    weight: 2,
    arbitrary: fc
      .dictionary(fc.oneof(fc.constant('__proto__'), shortText), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 })
      .map(value => canonicalText(value))
  }
)

function canonicalText(value: unknown): string {
  try {
    return canonicalize(value)
  } catch {
    return '{"not":"canonical"}'
  }
}

const content: fc.Arbitrary<EntryContent> = record({
  topic: name,
  key: name,
  user: fc.option(name, { nil: undefined }),
  session,
  connection: counter,
  meta,
  joinedAt: fc.oneof(fc.integer({ min: 1_765_000_000_000, max: 1_765_000_001_000 }), counter),
  revision: fc.oneof(fc.constant(0), counter),
  epoch: fc.oneof(fc.constant(1), counter),
  over: fc.oneof({ weight: 4, arbitrary: fc.constant([]) }, fc.array(record({ replica: ref, head: counter }), { maxLength: 4 }))
}).map(value => ({ ...value, user: value.user ?? value.key }))

interface Draft {
  replica: DeltaInterval['replica']
  shard: number
  from: number
  steps: { content: EntryContent; gap: number; state: number }[]
  marks: { gap: number; dot: number; state: number; reason: number }[]
  sinceBy: number
  tail: number
}

const gap = fc.oneof(fc.constant(0), fc.nat(40), fc.nat())

export const interval: fc.Arbitrary<DeltaInterval> = record({
  replica: ref,
  shard: fc.oneof(fc.constant(0), fc.nat(65_535)),
  from: fc.oneof(fc.nat(1_000), fc.integer({ min: 0, max: MAX - 2 ** 44 })),
  steps: fc.array(record({ content, gap, state: fc.nat(2) }), { maxLength: 12 }),
  marks: fc.array(record({ gap, dot: fc.nat(), state: fc.integer({ min: 1, max: 3 }), reason: fc.nat(255) }), { maxLength: 12 }),
  sinceBy: fc.oneof(fc.constant(0), fc.nat()),
  tail: fc.oneof(fc.constant(0), fc.nat(5))
}).map(buildInterval)

function buildInterval(draft: Draft): DeltaInterval {
  let dot = draft.from
  const adds = draft.steps.map(step => {
    dot += step.gap + 1
    return createEntry(step.content, dot, step.state as EntryState)
  })
  const to = dot + draft.tail
  const since = draft.from + draft.sinceBy
  let event = Math.max(since, 1)
  const marks: Mark[] = draft.marks.map(({ gap: skipped, dot: offset, state, reason }) => {
    event += skipped + 1
    return { event, counter: 1 + (offset % (event - 1)), state: state as Mark['state'], reason }
  })
  const asOf = Math.max(to, event, since)
  return { replica: draft.replica, shard: draft.shard, from: draft.from, to, since, asOf, adds, marks }
}

const digestEntry: fc.Arbitrary<DigestEntry> = record({
  replica: ref,
  shard: fc.oneof(fc.constant(0), fc.nat(65_535)),
  head: counter,
  hash: fc.option(hash),
  floor: counter,
  graceMs: fc.nat(2 ** 31 - 1)
})

const cursor = fc.tuple(counter, counter).map(([a, b]) => ({ to: Math.min(a, b), asOf: Math.max(a, b) }))
const request = record({ replica: ref, shard: fc.nat(65_535), head: counter, cursor: fc.option(cursor) })
const unreached = fc.array(id, { maxLength: 5 })

export const delta = record({
  type: fc.constant('delta' as const),
  intervals: fc.array(interval, { maxLength: 4 }),
  answer: fc.boolean()
})

export const message: fc.Arbitrary<Message> = fc.oneof(
  { weight: 4, arbitrary: delta },
  record({
    type: fc.constant('hello' as const),
    protocolVersion: fc.integer({ min: 1, max: 65_535 }),
    cluster: name.filter(text => text.length > 0 && bytesOf(text) <= 384),
    replica: ref,
    graceMs: fc.nat(2 ** 31 - 1),
    digest: fc.array(digestEntry, { maxLength: 6 }),
    want: fc.oneof(fc.constant('all' as const), fc.array(request, { maxLength: 6 })),
    unreached
  }),
  record({
    type: fc.constant('heartbeat' as const),
    replica: ref,
    counter,
    ageMs: fc.oneof(fc.constant(0), counter),
    head: counter,
    hash,
    digestHash: lane,
    relayed: fc.oneof(fc.constant([]), fc.array(record({ replica: ref, counter, ageMs: counter }), { maxLength: 6 }))
  }),
  record({ type: fc.constant('digest' as const), entries: fc.array(digestEntry, { maxLength: 6 }), unreached, reply: fc.boolean() }),
  record({ type: fc.constant('pull' as const), requests: fc.array(request, { maxLength: 6 }) }),
  record({ type: fc.constant('bye' as const), replica: ref, head: counter, announce: fc.boolean() }),
  record({ type: fc.constant('stale' as const), rejected: ref, known: counter, beats: fc.boolean(), tooFarAhead: fc.boolean() })
)
