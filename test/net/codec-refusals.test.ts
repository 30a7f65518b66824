import { describe, expect, test } from 'vitest'
import type { DeltaInterval, Over } from '../../src/crdt/index.ts'
import { ByteReader } from '../../src/net/codec/byte-reader.ts'
import { readColumn } from '../../src/net/codec/int-column.ts'
import { readSessions } from '../../src/net/codec/session-column.ts'
import { readTexts } from '../../src/net/codec/text-block.ts'
import { TextBudget } from '../../src/net/codec/text-budget.ts'
import { decodeMessage, encodeMessage, type FrameLimits } from '../../src/net/codec.ts'
import type { Message } from '../../src/tracker/messages.ts'
import { entry, interval, OTHER, SELF } from './codec-samples.ts'

/*
 * What no encoder writes, each rule of the decoder by bytes made by hand. The layouts are in docs/protocol.md.
 */

describe('int column: bytes that no encoder writes', () => {
  const MAX = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 16]

  test.each<[string, number, number[], RegExp]>([
    ['fewer rows than runs say', 3, [1 + 8, 0, 5], /field is 1, allowed is runs over 3 rows/],
    ['more rows than there are', 3, [1 + 16, 1, 5, 2, 5], /field is 5, allowed is runs over 3 rows/],
    ['a run longer than any column', 3, [1 + 8, ...MAX, 5], /field is 9007199254740992/],
    ['varints with an argument', 2, [2 + 8, 1, 1], /field is 1, allowed is 0 as the argument/],
    ['a width of 0 bits', 2, [3, 0, 0], /field is 0, allowed is a width of 1 to 53/],
    ['a width of 54 bits', 2, [0xb3, 3, 0, ...new Array<number>(14).fill(1)], /field is 54, allowed is a width of 1 to 53/],
    ['a bit in the unused ones of the last byte', 3, [3 + 8, 0, 0b1000], /field is 1, allowed is zero in the bits/],
    ['differences of one row', 1, [4, 7], /field is 1, allowed is at least two rows/],
    ['nothing', 1, [], /field is undefined, allowed is a byte/]
  ])('int column: %s, refused', (_, rows, bytes, reason) => {
    expect(() => readColumn(new ByteReader(Uint8Array.from(bytes)), rows, 'field')).toThrow(reason)
  })
})

describe('text block: bytes that no encoder writes', () => {
  const spec = { field: 'names', minBytes: 1, maxBytes: 8 }

  // Tables: columns 0b01 stem or shared, 0b10 number or bytes; a constant is the value times 8.
  test.each<[string, number, number[], RegExp]>([
    ['a stem before the first', 1, [0b01, 8, 0], /names.stem is 1, allowed is at most 0/],
    ['a share of a first stem', 1, [0, 0b01, 8], /names.shared is 1, allowed is at most 0/],
    ['a share longer than the stem before', 2, [0, 0b11, 2, 0, 3, 8, 97, 98], /names.shared is 3, allowed is at most 1/],
    ['a stem that is too long', 1, [0, 0b10, 72, ...new Array<number>(9).fill(97)], /names is "9 bytes", allowed is at most 8/],
    ['a stem that is too long by what it shares', 2, [0, 0b11, 2, 0, 8, 2, 8, 1, ...new Array<number>(9).fill(97)], /names is "9 bytes"/],
    ['a text that is too long by its number', 1, [0b10, ...once(100_000), 0b10, 32, 97, 97, 97, 97], /names is "9 bytes"/],
    ['a text that is too short', 1, [0, 0], /names is "0 bytes", allowed is 1 to 8/],
    ['bytes that are no UTF-8', 1, [0, 0b10, 8, 0xff], /names is of type object, allowed is UTF-8/],
    ['a surrogate as UTF-8', 1, [0, 0b10, 24, 0xed, 0xa0, 0x80], /allowed is UTF-8/],
    ['a character cut in two', 1, [0, 0b10, 16, 0xe2, 0x82], /allowed is UTF-8/],
    ['a long stem that is no UTF-8', 1, [0, 0b10, 64, 97, 97, 97, 97, 97, 97, 97, 0xff], /allowed is UTF-8/]
  ])('text block: %s, refused', (_, count, bytes, reason) => {
    expect(() => readTexts(new ByteReader(Uint8Array.from(bytes)), count, spec, new TextBudget(1_000))).toThrow(reason)
  })

  test('text block: what is put together counts against the budget, shared beginnings and repeated stems too', () => {
    const long = { field: 'names', minBytes: 0, maxBytes: 100 }
    const stem = [...new TextEncoder().encode('x'.repeat(60))]
    const read = (bytes: number[], count: number, budget: number): string[] =>
      readTexts(new ByteReader(Uint8Array.from(bytes)), count, long, new TextBudget(budget))
    const sharing = [0, 0b11, 2, 0, 60, 2, 60, 0, ...stem]
    expect(read(sharing, 2, 180)).toEqual(['x'.repeat(60), 'x'.repeat(60)])
    expect(() => read(sharing, 2, 179)).toThrow(/names is "180 bytes of text", allowed is at most 179/)
    const repeated = [0b01, 2, 0, 1, 0b10, ...once(60), ...stem]
    expect(read(repeated, 2, 120)).toEqual(['x'.repeat(60), 'x'.repeat(60)])
    expect(() => read(repeated, 2, 119)).toThrow(/names is "120 bytes of text", allowed is at most 119/)
  })
})

describe('session column: bytes that no encoder writes', () => {
  const session = new Array<number>(12).fill(0)

  test.each<[string, number[], number[], RegExp]>([
    ['a prefix before the first', [1], [0], /adds.session is 1, allowed is at most 0/],
    ['a step below 0', [0, 1], [...session, 8], /adds.session is -1, allowed is a number below/],
    ['a step past 30 bits', [0, 1], [...session, ...varint(8 * 2 ** 31)], /adds.session is 1073741824, allowed is a number below/],
    ['eleven bytes', [0], session.slice(1), /adds.session is 12, allowed is at most 11 bytes/]
  ])('session column: %s, refused', (_, references, bytes, reason) => {
    expect(() => readSessions(new ByteReader(Uint8Array.from(bytes)), references)).toThrow(reason)
  })
})

describe('codec: frames of an encoder with other limits', () => {
  const over: Over = { replica: OTHER, head: 1 }

  test.each<[string, Partial<DeltaInterval>[], Partial<FrameLimits>, RegExp]>([
    [
      'an entry that replaces 257 owners',
      [{ to: 1, asOf: 1, adds: [entry(1, { over: new Array<Over>(257).fill(over) })] }],
      { oversPerEntry: 300 },
      /adds.over is 257, allowed is at most 256/
    ],
    [
      'a delta that replaces 8,448 owners',
      [{ to: 33, asOf: 33, adds: Array.from({ length: 33 }, (_, i) => entry(i + 1, { over: new Array<Over>(256).fill(over) })) }],
      { overs: 9_000 },
      /adds.over is 8448, allowed is at most 8192/
    ],
    [
      '1,025 intervals',
      Array.from({ length: 1_025 }, () => ({ to: 1, asOf: 1 })),
      { intervals: 2_000 },
      /intervals is 1025, allowed is an integer from 0 to 1024/
    ],
    [
      '16,385 marks',
      [
        {
          from: 20_000,
          since: 20_000,
          to: 20_000,
          asOf: 40_000,
          marks: Array.from({ length: 16_385 }, (_, i) => ({ event: 20_001 + i, counter: i + 1, state: 3, reason: 0 }))
        }
      ],
      { marks: 20_000 },
      /marks is 16385, allowed is at most 16384/
    ],
    [
      'a name of 1,025 bytes',
      [{ to: 1, asOf: 1, adds: [entry(1, { key: 'x'.repeat(1_025) })] }],
      { nameBytes: 2_000 },
      /adds.key is "1025 bytes"/
    ]
  ])('codec: %s, refused', (_, parts, limits, reason) => {
    const delta: Message = { type: 'delta', answer: true, intervals: parts.map(part => interval(0, 0, part)) }
    expect(() => encodeMessage(delta)).toThrow(/^invalid frame/)
    expect(() => decodeMessage(encodeMessage(delta, { limits }))).toThrow(reason)
  })
})

describe('codec: payloads that no encoder writes', () => {
  // Delta: flags, no ids, one ref of the sender without incarnation, one interval
  const head = [0, 0, 1, 0, 1]
  const two52 = 2 ** 52

  test.each<[string, number, number[], RegExp]>([
    ['an interval past 2^52', 20, [...head, 0b11, ...once(two52), ...once(1)], /intervals.asOf is 4503599627370497/],
    [
      'an interval as of past 2^52',
      20,
      [...head, ...varint(0b1000_0001), ...once(two52), ...once(1)],
      /intervals.asOf is 4503599627370497/
    ],
    ['a since past 2^52', 20, [...head, ...varint(0b100_0001), ...once(two52), ...once(1)], /intervals.asOf is 4503599627370497/],
    ['a shard of 65,536', 20, [...head, 0b10_0000, ...once(65_536)], /intervals.shard is 65536/],
    ['a ref that the frame does not have', 20, [...head, 0b1_0000, ...once(1)], /intervals.replica is 1, allowed is a number below 1/],
    ['an id that the frame does not have', 20, [0, 0, 1, 8], /replica.id is 1, allowed is 0 to 0/],
    ['an incarnation above 2^52', 20, [0, 0, 1, 7, 1, 0, 0, 0, 0, 0, 16], /replica.incarnation is 4503599627370497/],
    [
      'an id of 129 characters',
      20,
      [0, 1, 0, 0b10, ...once(129), ...new Array<number>(129).fill(97), 0, 0],
      /replica.id is "a{64}"… \(129 characters\)/
    ],
    ['an id without characters', 20, [0, 1, 0, 0, 0, 0], /replica.id is "0 bytes", allowed is 1 to 384/],
    [
      'an entry past the interval',
      20,
      [...head, 0b110, ...once(1), ...once(1), ...varint(0b1000_0000), ...once(1), 0, 0, 0, 0, ...new Array<number>(12).fill(0)],
      /adds.counter is 2/
    ],
    [
      'a bare add',
      20,
      [...head, 0b110, ...once(1), ...once(1), ...varint(0b1_0000_0000), ...once(4), 0, 0, 0, 0, ...new Array<number>(12).fill(0)],
      /adds.state is 4/
    ],
    ['a mark past the interval', 20, [...head, 0b1010, ...once(5), ...once(1), 0b10, ...once(5)], /marks.event is 6/],
    [
      'a mark of a dot that is not older',
      20,
      [...head, 0b1010, ...once(5), ...once(1), 0b11, ...once(3), ...once(2)],
      /marks.counter is 3/
    ],
    ['a mark of dot 0', 20, [...head, 0b1010, ...once(5), ...once(1), 0b11, ...once(0), ...once(2)], /marks.counter is 0/],
    [
      'a column that the table does not have',
      20,
      [...head, ...varint(0b1_0000_0000)],
      /intervals.from is 256, allowed is an integer from 0 to 255/
    ],
    ['flags of a later version', 20, [2], /flags is 2, allowed is an integer from 0 to 1/],
    [
      'a cursor past 2^52',
      19,
      [0, 1, 0, 1, 0b1000, ...once(1), 0b11, ...once(two52), ...once(1)],
      /requests.cursor.asOf is 4503599627370497/
    ],
    ['a heartbeat, named and not', 17, [8 + 1, 7, 0, 0, ...new Array<number>(12).fill(0), 0, 1, 0], /flags is 9/],
    ['a heartbeat without its ref', 17, [8, 0, 0, ...new Array<number>(12).fill(0), 0, 0], /replica is 0, allowed is a number below 0/],
    ['a hello of version 0', 16, [1, 0, 1, 97, 0, 0, 1, 0, 0, 0], /protocolVersion is 0, allowed is an integer from 1/],
    ['a hello of no cluster', 16, [1, 1, 0, 0, 0, 1, 0, 0, 0], /cluster is 0, allowed is an integer from 1/],
    ['a cluster that is no UTF-8', 16, [1, 1, 1, 0xff, 0, 0, 1, 0, 0, 0], /cluster is of type object, allowed is UTF-8/]
  ])('codec: %s, refused', (_, kind, payload, reason) => {
    expect(() => decodeMessage(Uint8Array.of(0x92, kind, 0xc4, payload.length, ...payload), { sender: SELF.id })).toThrow(reason)
  })
})

/** A column of one value: a constant, or above 2^49 one run. */
function once(value: number): number[] {
  return value < 2 ** 49 ? varint(value * 8) : [1 + 8, 0, ...varint(value)]
}

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) + 128, ...varint(Math.floor(value / 128))]
}
