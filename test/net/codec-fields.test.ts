import { describe, expect, test } from 'vitest'
import { OrMap } from '../../src/crdt/index.ts'
import { decodeMessage, encodeMessage, InvalidFrameError } from '../../src/net/codec.ts'
import type { Message } from '../../src/tracker/messages.ts'
import { AWKWARD } from './codec-arbitrary.ts'
import { entry, interval, OTHER, SAMPLES, SELF } from './codec-samples.ts'

type Fields = Record<string, unknown>

/** A sample with other values in some places: paths as `intervals.0.adds.0.joinedAt`. */
function altered(sample: string, changes: Fields): Message {
  const copy = structuredClone(SAMPLES[sample]) as unknown as Fields
  for (const [path, value] of Object.entries(changes)) {
    const steps = path.split('.')
    const last = steps.pop() as string
    const parent = steps.reduce((object, step) => object[step] as Fields, copy)
    parent[last] = value
  }
  return copy as unknown as Message
}

const NOT_COUNTERS = [Number.NaN, -1, 0.5, 2 ** 52 + 1, Number.POSITIVE_INFINITY, '7', null, undefined, 7n, {}, [7]]
const NOT_TEXTS = [undefined, null, 7, {}, ['a'], '\ud800', 'a\udfff']

describe('codec: fields that are refused', () => {
  test.each([
    ['delta of one join', 'intervals.0.from', 'intervals.from'],
    ['delta of one join', 'intervals.0.to', 'intervals.to'],
    ['delta of one join', 'intervals.0.since', 'intervals.since'],
    ['delta of one join', 'intervals.0.asOf', 'intervals.asOf'],
    ['delta of one join', 'intervals.0.shard', 'intervals.shard'],
    ['delta of one join', 'intervals.0.replica.incarnation', 'replica.incarnation'],
    ['delta of one join', 'intervals.0.adds.0.counter', 'adds.counter'],
    ['delta of one join', 'intervals.0.adds.0.state', 'adds.state'],
    ['delta of one join', 'intervals.0.adds.0.connection', 'adds.connection'],
    ['delta of one join', 'intervals.0.adds.0.joinedAt', 'adds.joinedAt'],
    ['delta of one join', 'intervals.0.adds.0.revision', 'adds.revision'],
    ['delta of one join', 'intervals.0.adds.0.epoch', 'adds.epoch'],
    ['delta that answers with slices of two origins', 'intervals.0.adds.1.over.0.head', 'adds.over.head'],
    ['delta of an update and leaves', 'intervals.0.marks.0.event', 'marks.event'],
    ['delta of an update and leaves', 'intervals.0.marks.0.counter', 'marks.counter'],
    ['delta of an update and leaves', 'intervals.0.marks.0.state', 'marks.state'],
    ['delta of an update and leaves', 'intervals.0.marks.0.reason', 'marks.reason'],
    ['hello with a digest, requests and unreached ids', 'protocolVersion', 'protocolVersion'],
    ['hello with a digest, requests and unreached ids', 'graceMs', 'graceMs'],
    ['hello with a digest, requests and unreached ids', 'digest.0.head', 'digest.head'],
    ['hello with a digest, requests and unreached ids', 'digest.0.hash.low', 'digest.hash'],
    ['hello with a digest, requests and unreached ids', 'digest.0.floor', 'digest.floor'],
    ['hello with a digest, requests and unreached ids', 'digest.0.graceMs', 'digest.graceMs'],
    ['hello with a digest, requests and unreached ids', 'digest.0.shard', 'digest.shard'],
    ['hello with a digest, requests and unreached ids', 'want.0.head', 'requests.head'],
    ['hello with a digest, requests and unreached ids', 'want.0.shard', 'requests.shard'],
    ['hello with a digest, requests and unreached ids', 'want.0.cursor.to', 'requests.cursor.to'],
    ['hello with a digest, requests and unreached ids', 'want.0.cursor.asOf', 'requests.cursor.asOf'],
    ['heartbeat, idle', 'counter', 'counter'],
    ['heartbeat, idle', 'ageMs', 'ageMs'],
    ['heartbeat, idle', 'head', 'head'],
    ['heartbeat, idle', 'hash.high', 'hash'],
    ['heartbeat, idle', 'digestHash', 'digestHash'],
    ['heartbeat that waited, and relays', 'relayed.0.counter', 'relayed.counter'],
    ['heartbeat that waited, and relays', 'relayed.0.ageMs', 'relayed.ageMs'],
    ['bye', 'head', 'head'],
    ['stale', 'known', 'known']
  ])('pub-F7: %s, %s is no counter, refused by name and value', (sample, path, field) => {
    for (const value of NOT_COUNTERS) {
      const thrown = errorOf(() => encodeMessage(altered(sample, { [path]: value })))
      expect(thrown, String(value)).toMatchObject({ name: 'InvalidFrameError', code: 'ERR_INVALID_FRAME', field, value })
    }
  })

  test.each([
    ['delta of one join', 'intervals.0.adds.0.topic', 'adds.topic'],
    ['delta of one join', 'intervals.0.adds.0.key', 'adds.key'],
    ['delta of one join', 'intervals.0.adds.0.user', 'adds.key'],
    ['delta of one join', 'intervals.0.adds.0.meta', 'adds.meta'],
    ['delta of one join', 'intervals.0.adds.0.session', 'adds.session'],
    ['delta of one join', 'intervals.0.replica.id', 'replica.id'],
    ['hello of a newcomer', 'cluster', 'cluster'],
    ['hello of a newcomer', 'replica.id', 'replica.id'],
    ['heartbeat, idle', 'replica.id', 'replica.id'],
    ['bye', 'replica.id', 'replica.id'],
    ['stale', 'rejected.id', 'replica.id']
  ])('pub-F3: %s, %s is no well-formed text, refused by name', (sample, path, field) => {
    for (const value of NOT_TEXTS) {
      expect(
        errorOf(() => encodeMessage(altered(sample, { [path]: value }))),
        String(value)
      ).toMatchObject({ field, value })
    }
  })

  test.each([
    ['delta of one join', 'intervals', 7],
    ['delta of one join', 'intervals', [null]],
    ['delta of one join', 'intervals.0.replica', null],
    ['delta of one join', 'intervals.0.adds', 'adds'],
    ['delta of one join', 'intervals.0.adds', [undefined]],
    ['delta of one join', 'intervals.0.marks', null],
    ['delta of one join', 'intervals.0.adds.0.over', {}],
    ['delta of one join', 'answer', 1],
    ['digest that asks for a reply', 'entries', undefined],
    ['digest that asks for a reply', 'unreached', 'ids'],
    ['digest that asks for a reply', 'reply', 'yes'],
    ['digest that asks for a reply', 'entries.0.hash', 7],
    ['heartbeat, idle', 'relayed', null],
    ['heartbeat, idle', 'replica', undefined],
    ['hello of a newcomer', 'want', 'nothing'],
    ['bye', 'announce', 0],
    ['stale', 'beats', undefined]
  ])('codec: %s, %s is %j, refused', (sample, path, value) => {
    expect(errorOf(() => encodeMessage(altered(sample, { [path]: value })))).toBeInstanceOf(InvalidFrameError)
  })

  test.each([
    ['an entry below the interval', { 'intervals.0.adds.0.counter': 41 }, 'adds.counter'],
    ['an entry above the interval', { 'intervals.0.adds.0.counter': 43 }, 'adds.counter'],
    ['an entry of a removed dot', { 'intervals.0.adds.0.state': 3 }, 'adds.state'],
    ['an interval that ends before it starts', { 'intervals.0.to': 40, 'intervals.0.adds': [] }, 'intervals.to'],
    ['an interval past its own end', { 'intervals.0.asOf': 41 }, 'intervals.to'],
    ['a session of 15 characters', { 'intervals.0.adds.0.session': 'Rollcall0123AAA' }, 'adds.session'],
    ['a session in base64', { 'intervals.0.adds.0.session': 'Rollcall0123AA+/' }, 'adds.session'],
    ['a name of 1,025 bytes', { 'intervals.0.adds.0.key': 'x'.repeat(1_025) }, 'adds.key'],
    ['a name of 1,025 bytes in fewer characters', { 'intervals.0.adds.0.topic': `${'é'.repeat(512)}x` }, 'adds.topic'],
    ['a meta of 65,537 bytes', { 'intervals.0.adds.0.meta': `{"a":"${'x'.repeat(65_529)}"}` }, 'adds.meta'],
    ['a replica without a name', { 'intervals.0.replica.id': '' }, 'replica.id'],
    ['a replica id of 129 characters', { 'intervals.0.replica.id': 'x'.repeat(129) }, 'replica.id']
  ])('codec: %s, refused', (_, changes, field) => {
    expect(errorOf(() => encodeMessage(altered('delta of one join', changes as Fields)))).toMatchObject({ field })
  })

  test('codec: marks that do not ascend, or of dots not older than they are, refused', () => {
    for (const marks of [
      [
        { event: 43, counter: 1, state: 3, reason: 0 },
        { event: 43, counter: 2, state: 3, reason: 0 }
      ],
      [{ event: 42, counter: 42, state: 3, reason: 0 }],
      [{ event: 44, counter: 1, state: 3, reason: 0 }]
    ]) {
      const delta = { type: 'delta', answer: false, intervals: [interval(41, 43, { marks: marks as never })] } as const
      expect(errorOf(() => encodeMessage(delta))).toBeInstanceOf(InvalidFrameError)
    }
  })

  test.each([undefined, null, {}, { type: 'helo' }, { type: '__proto__' }, { type: 7 }, 'hello'])(
    'codec: %j as a message, refused',
    value => {
      expect(errorOf(() => encodeMessage(value as unknown as Message))).toMatchObject({ field: 'type' })
    }
  )

  test('codec: a frame without its sender’s id, decoded without it, refused', () => {
    for (const sample of ['heartbeat, idle', 'delta of one join', 'bye', 'hello of a newcomer']) {
      const frame = encodeMessage(SAMPLES[sample] as Message, { sender: SELF.id })
      expect(errorOf(() => decodeMessage(frame))).toBeInstanceOf(InvalidFrameError)
      expect(decodeMessage(frame, { sender: SELF.id })).toStrictEqual(SAMPLES[sample])
    }
  })

  test('codec: a message longer than the frame limit, refused', () => {
    const adds = Array.from({ length: 64 }, (_, i) =>
      entry(i + 1, { meta: JSON.stringify({ a: `${'x'.repeat(1_010)}${i}${'y'.repeat(i)}` }) })
    )
    const delta: Message = { type: 'delta', answer: false, intervals: [interval(0, 64, { adds })] }
    const whole = encodeMessage(delta)
    const limits = { frameBytes: whole.length }
    expect(encodeMessage(delta, { limits })).toStrictEqual(whole)
    expect(errorOf(() => encodeMessage(delta, { limits: { frameBytes: whole.length - 1 } }))).toMatchObject({ field: 'frame' })
    expect(decodeMessage(whole, { limits })).toStrictEqual(delta)
    expect(errorOf(() => decodeMessage(whole, { limits: { frameBytes: whole.length - 1 } }))).toMatchObject({ field: 'frame' })
  })
})

describe('codec: values that are allowed', () => {
  test('pub-F7: joinedAt in the year 9999, and 0, arrive as they are: no decision rests on them', () => {
    for (const joinedAt of [0, Date.UTC(9999, 11, 31), 2 ** 52]) {
      const delta: Message = { type: 'delta', answer: false, intervals: [interval(0, 1, { adds: [entry(1, { joinedAt })] })] }
      expect(decodeMessage(encodeMessage(delta))).toStrictEqual(delta)
    }
  })

  test.each(AWKWARD)('pub-F3: the name %j is an ordinary topic, key, user and name within a meta', name => {
    const meta = JSON.stringify(Object.fromEntries([[name, name]]))
    const adds = [entry(1, { topic: name, key: name, user: name, meta }), entry(2, { key: name, user: 'other' })]
    const delta: Message = { type: 'delta', answer: false, intervals: [interval(0, 2, { adds })] }
    const decoded = decodeMessage(encodeMessage(delta))
    expect(decoded).toStrictEqual(delta)
    const map = new OrMap({ self: OTHER })
    expect(decoded.type === 'delta' && map.merge(decoded.intervals[0] as never).added.length).toBe(2)
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })

  test.each(AWKWARD.filter(name => name.length > 0 && name.length <= 128))('pub-F3: the name %j is an ordinary replica id', id => {
    const relayed = { ...SAMPLES['heartbeat, idle'], relayed: [{ replica: { id, incarnation: 1 }, counter: 1, ageMs: 0 }] } as Message
    expect(decodeMessage(encodeMessage(relayed))).toStrictEqual(relayed)
  })
})

function errorOf(run: () => unknown): unknown {
  try {
    run()
  } catch (error) {
    return error
  }
  return undefined
}
