import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { entryBytes, INTERVAL_BYTES, MARK_BYTES } from '../../src/crdt/index.ts'
import { decodeMessage, encodeMessage, InvalidFrameError } from '../../src/net/codec.ts'
import type { Delta, Message } from '../../src/tracker/messages.ts'
import { delta, message } from './codec-arbitrary.ts'
import { entry, interval, SAMPLES, SELF } from './codec-samples.ts'

/** Room for a few dozen awkward entries; limits have tests of their own. */
const limits = { frameBytes: 2 ** 20 }

describe('codec: round trip', () => {
  test('codec: any message, decoded from its frame, is the same message', () => {
    fc.assert(
      fc.property(message, original => {
        expect(decodeMessage(encodeMessage(original, { limits }), { limits })).toStrictEqual(original)
      }),
      { numRuns: 1_000 }
    )
  })

  test('codec: a sender whose id the receiver knows from the stream, the message is the same and the frame is not longer', () => {
    fc.assert(
      fc.property(message, original => {
        const sender = senderOf(original)
        const frame = encodeMessage(original, { limits, sender })
        expect(decodeMessage(frame, { limits, sender })).toStrictEqual(original)
        expect(frame.length).toBeLessThanOrEqual(encodeMessage(original, { limits }).length)
      }),
      { numRuns: 500 }
    )
  })

  test('codec: a frame in the middle of a larger buffer decodes like one of its own', () => {
    fc.assert(
      fc.property(message, fc.nat(9), (original, offset) => {
        const frame = encodeMessage(original, { limits })
        const larger = Buffer.alloc(frame.length + 20, 0xff)
        larger.set(frame, offset)
        expect(decodeMessage(larger.subarray(offset, offset + frame.length), { limits })).toStrictEqual(original)
      }),
      { numRuns: 200 }
    )
  })

  test('codec: equal messages, whatever was encoded before, give equal bytes', () => {
    fc.assert(
      fc.property(message, message, (original, other) => {
        const first = encodeMessage(original, { limits })
        encodeMessage(other, { limits })
        const copy = decodeMessage(first, { limits })
        expect(Buffer.from(encodeMessage(copy, { limits })).equals(first)).toBe(true)
      }),
      { numRuns: 300 }
    )
  })

  test('codec: a frame handed out is not written to by the next one', () => {
    const first = encodeMessage(SAMPLES['delta of one join'] as Message)
    const before = Buffer.from(first)
    encodeMessage(SAMPLES['heartbeat, idle'] as Message)
    expect(before.equals(first)).toBe(true)
  })
})

describe('codec: sizes', () => {
  test('codec: a delta is never longer than the sums by which replication fills frames', () => {
    fc.assert(
      fc.property(
        delta.filter(one => one.intervals.length > 0),
        original => {
          expect(encodeMessage(original, { limits }).length).toBeLessThanOrEqual(estimate(original))
        }
      ),
      { numRuns: 1_000 }
    )
  })

  test('codec: a full frame of entries that have nothing in common, not longer than their sum', () => {
    const adds = Array.from({ length: 300 }, (_, i) => {
      const far = (n: number): number => (i % 2 === 0 ? n * 7 : 2 ** 52 - n * i)
      const text = (length: number): string => String.fromCharCode(0x4e00 + i * 37).repeat(length)
      const session = Buffer.from(`${far(31)}${text(4)}`)
        .toString('base64url')
        .slice(0, 16)
      const over = [{ replica: { id: text(20), incarnation: far(11) }, head: far(13) }]
      const numbers = { connection: far(1), joinedAt: far(2), revision: far(3), epoch: far(5) }
      return entry(1 + i * 2 ** 43, { topic: text(3), key: text(2), user: text(5), meta: `{"a":"${text(7)}"}`, session, over, ...numbers })
    })
    const original: Delta = { type: 'delta', answer: true, intervals: [interval(0, 2 ** 52, { adds })] }
    const frame = encodeMessage(original, { limits })
    expect(frame.length).toBeLessThanOrEqual(estimate(original))
    expect(decodeMessage(frame, { limits })).toStrictEqual(original)
  })

  test('codec: idle heartbeat, at most 32 bytes as long as counter and head are below 2^28', () => {
    const idle = { ...(SAMPLES['heartbeat, idle'] as Message & { type: 'heartbeat' }), counter: 2 ** 28 - 1, head: 2 ** 28 - 1 }
    const replica = { id: SELF.id, incarnation: 2 ** 52 }
    expect(encodeMessage({ ...idle, replica }, { sender: SELF.id }).length).toBe(32)
  })

  test('codec: one join alone, at most 80 bytes', () => {
    const { length } = encodeMessage(SAMPLES['delta of one join'] as Message, { sender: SELF.id })
    expect(length).toBeLessThanOrEqual(80)
  })
})

describe('codec: frames stand alone', () => {
  test('codec: whatever was decoded before, a frame decodes to the same', () => {
    const frame = encodeMessage(SAMPLES['delta of an update and leaves'] as Message)
    const expected = decodeMessage(frame)
    const hostile = fc.oneof(
      fc.uint8Array({ maxLength: 64 }),
      message.map(one => encodeMessage(one, { limits })),
      // MessagePack: a record definition, a reference to one, bundled strings, a pointer
      fc
        .constantFrom(
          [0xd4, 0x72, 0x40, 0x93, 0xa1, 0x61, 0xa1, 0x62, 0xa1, 0x63],
          [0x40, 1, 2, 3],
          [0xd6, 0x62, 0, 0, 0, 4, 0xc1, 1],
          [0xd6, 0x70, 0, 0, 0, 1]
        )
        .map(bytes => Uint8Array.from(bytes))
    )
    fc.assert(
      fc.property(fc.array(hostile, { maxLength: 4 }), before => {
        for (const bytes of before) {
          try {
            decodeMessage(bytes, { limits })
          } catch (error) {
            expect(error).toBeInstanceOf(InvalidFrameError)
          }
        }
        expect(decodeMessage(frame)).toStrictEqual(expected)
      }),
      { numRuns: 300 }
    )
  })
})

function estimate(one: Delta): number {
  return one.intervals.reduce(
    (sum, { adds, marks }) =>
      sum + INTERVAL_BYTES + marks.length * MARK_BYTES + adds.reduce((bytes, entry) => bytes + entryBytes(entry), 0),
    0
  )
}

function senderOf(one: Message): string {
  switch (one.type) {
    case 'hello':
    case 'heartbeat':
    case 'bye':
      return one.replica.id
    case 'stale':
      return one.rejected.id
    case 'delta':
      return one.intervals[0]?.replica.id ?? SELF.id
    case 'digest':
      return one.entries[0]?.replica.id ?? one.unreached[0] ?? SELF.id
    case 'pull':
      return one.requests[0]?.replica.id ?? SELF.id
  }
}
