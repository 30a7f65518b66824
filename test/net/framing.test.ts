import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodeFrame, FrameDecoder } from '../../src/net/libp2p/framing.ts'

const LIMIT = 65_536

/** All frames that the chunks hold. */
function decode(chunks: Iterable<Uint8Array>, limit = LIMIT): Uint8Array[] {
  const decoder = new FrameDecoder(limit)
  const frames: Uint8Array[] = []
  for (const chunk of chunks) {
    decoder.push(chunk)
    for (let frame = decoder.next(); frame !== undefined; frame = decoder.next()) {
      frames.push(frame)
    }
  }
  return frames
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.byteLength, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.byteLength
  }
  return whole
}

/** Compared as text: comparing arrays of numbers takes seconds. */
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1')

/** Cuts `bytes` at the given fractions. */
function cut(bytes: Uint8Array, fractions: readonly number[]): Uint8Array[] {
  const at = [0, ...fractions.map(f => Math.floor(f * bytes.byteLength)), bytes.byteLength].sort((a, b) => a - b)
  return at.slice(1).map((end, i) => bytes.slice(at[i], end))
}

describe('framing', () => {
  it('a frame: its length as a varint, then the payload', () => {
    expect(encodeFrame(new Uint8Array([7, 8]))).toEqual(new Uint8Array([2, 7, 8]))
    expect(encodeFrame(new Uint8Array(0))).toEqual(new Uint8Array([0]))
    expect([...encodeFrame(new Uint8Array(300)).subarray(0, 2)]).toEqual([0xac, 0x02])
    expect([...encodeFrame(new Uint8Array(65_536)).subarray(0, 3)]).toEqual([0x80, 0x80, 0x04])
  })

  it('any frames, cut anywhere: come out whole and in order', () => {
    const payload = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.integer({ min: 126, max: 40_000 }).map(n => new Uint8Array(n).fill(n & 0xff))
    )
    fc.assert(
      fc.property(
        fc.array(payload, { maxLength: 8 }),
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 }),
        (payloads, cuts) => {
          expect(decode(cut(concat(payloads.map(encodeFrame)), cuts)).map(text)).toEqual(payloads.map(text))
        }
      )
    )
  })

  it('frames handed out earlier: are not overwritten by what comes later', () => {
    const payloads = Array.from({ length: 50 }, (_, i) => new Uint8Array(40).fill(i))
    const wire = concat(payloads.map(encodeFrame))
    const decoder = new FrameDecoder(LIMIT)
    const frames: Uint8Array[] = []
    for (let at = 0; at < wire.byteLength; at += 7) {
      const chunk = wire.slice(at, at + 7)
      decoder.push(chunk)
      for (let frame = decoder.next(); frame !== undefined; frame = decoder.next()) {
        frames.push(frame)
      }
    }
    expect(frames).toEqual(payloads)
  })

  it('the longest frame is taken, one byte more is refused when its length is read', () => {
    expect(decode([encodeFrame(new Uint8Array(LIMIT))])).toHaveLength(1)
    expect(() => decode([encodeFrame(new Uint8Array(LIMIT + 1)).subarray(0, 3)])).toThrow(/65537 bytes is announced, allowed are 65536/)
  })

  it('pub-F6: INV-70: a varint without end is refused within three bytes', () => {
    const decoder = new FrameDecoder(LIMIT)
    decoder.push(new Uint8Array(1_000).fill(0x80))
    expect(() => decoder.next()).toThrow(expect.objectContaining({ name: 'FramingError', code: 'ERR_FRAME_LENGTH' }))
    const slowly = new FrameDecoder(LIMIT)
    slowly.push(new Uint8Array([0x80]))
    expect(slowly.next()).toBeUndefined()
    slowly.push(new Uint8Array([0x80]))
    expect(slowly.next()).toBeUndefined()
    slowly.push(new Uint8Array([0x80]))
    expect(() => slowly.next()).toThrow(/does not end within 3 bytes/)
  })

  it('pub-F6: INV-70: a length of 2^53, or any above the limit, is refused with nothing allocated', () => {
    const decoder = new FrameDecoder(LIMIT)
    decoder.push(new Uint8Array([0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10]))
    expect(() => decoder.next()).toThrow(/length/)
    const million = new FrameDecoder(LIMIT)
    million.push(new Uint8Array([0xc0, 0x84, 0x3d]))
    expect(() => million.next()).toThrow(/a frame of 1000000 bytes is announced/)
  })

  it('a padded length is refused', () => {
    expect(() => decode([new Uint8Array([0x81, 0x00, 0x07])])).toThrow(/padded/)
  })

  it('pub-F6: INV-70: a length at the limit, then silence: holds what has arrived, not what was announced', () => {
    const decoder = new FrameDecoder(LIMIT)
    decoder.push(encodeFrame(new Uint8Array(LIMIT)).slice(0, 3))
    expect(decoder.next()).toBeUndefined()
    expect(decoder.pendingBytes).toBe(3)
    expect(decoder.heldBytes).toBeLessThanOrEqual(6)
  })

  it('INV-70: one byte at a time: memory stays within twice the bytes that came', () => {
    const decoder = new FrameDecoder(LIMIT)
    const wire = encodeFrame(new Uint8Array(5_000))
    for (let at = 0; at < wire.byteLength - 1; at++) {
      decoder.push(wire.slice(at, at + 1))
      expect(decoder.next()).toBeUndefined()
      expect(decoder.heldBytes).toBeLessThanOrEqual(2 * (at + 1))
    }
    decoder.push(wire.slice(-1))
    expect(decoder.next()).toHaveLength(5_000)
  })

  it('INV-70: the rest of a large chunk does not hold on to the chunk', () => {
    const decoder = new FrameDecoder(LIMIT)
    const chunk = concat([encodeFrame(new Uint8Array(60_000)), new Uint8Array([0x05, 1])])
    decoder.push(chunk)
    expect(decoder.next()).toHaveLength(60_000)
    expect(decoder.next()).toBeUndefined()
    expect(decoder.heldBytes).toBe(2)
  })

  it('pub-F6: any garbage: gives frames or a FramingError, and never more memory than twice what came', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 64 }), { maxLength: 20 }), chunks => {
        const decoder = new FrameDecoder(48)
        let pushed = 0
        try {
          for (const chunk of chunks) {
            decoder.push(chunk)
            pushed += chunk.byteLength
            for (let frame = decoder.next(); frame !== undefined; frame = decoder.next()) {
              expect(frame.byteLength).toBeLessThanOrEqual(48)
            }
            expect(decoder.heldBytes).toBeLessThanOrEqual(2 * pushed)
          }
        } catch (error) {
          expect(error).toMatchObject({ name: 'FramingError', code: 'ERR_FRAME_LENGTH' })
        }
      })
    )
  })
})
