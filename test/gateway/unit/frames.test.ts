import { describe, expect, it } from 'vitest'
import { closeFrame, errorFrame, parseBinaryPush, parseFrame, pushFrame, replyFrame } from '../../../src/net/gateway/protocol/frames.ts'

const GOOD = ['3', '4', 'room:1', 'track', { n: 1 }]
const without = (index: number, value: unknown): string => JSON.stringify(GOOD.with(index, value as string))

describe('frames', () => {
  it('a frame of five parts is read; refs may be null, and a payload of null is an empty one', () => {
    const text = JSON.stringify(GOOD)
    const read = { joinRef: '3', ref: '4', topic: 'room:1', event: 'track', payload: { n: 1 }, length: text.length }
    expect(parseFrame(text)).toEqual(read)
    expect(parseFrame('[null,null,"phoenix","heartbeat",null]')).toEqual({
      joinRef: null,
      ref: null,
      topic: 'phoenix',
      event: 'heartbeat',
      payload: {},
      length: 38
    })
  })

  it('refs, topics and events of the largest size are read', () => {
    const largest = ['r'.repeat(64), 'r'.repeat(64), 't'.repeat(1_024), 'e'.repeat(255), {}]
    expect(parseFrame(JSON.stringify(largest))).toMatchObject({
      joinRef: largest[0],
      ref: largest[1],
      topic: largest[2],
      event: largest[3]
    })
  })

  const MALFORMED: readonly (readonly [string, string])[] = [
    ['nothing', ''],
    ['no JSON', '[1,'],
    ['JSON with more behind it', '[null,null,"a","b",{}]x'],
    ['a number', '5'],
    ['null', 'null'],
    ['an object', '{"topic":"a"}'],
    ['an object of five parts', '{"0":null,"1":null,"2":"a","3":"b","4":{},"length":5}'],
    ['no parts', '[]'],
    ['four parts', '[null,null,"a","b"]'],
    ['six parts', '[null,null,"a","b",{},{}]'],
    ['a join ref that is a number', without(0, 3)],
    ['a ref that is a number', without(1, 4)],
    ['a ref that is an object', without(1, {})],
    ['a join ref of 65 characters', without(0, 'x'.repeat(65))],
    ['a ref of 65 characters', without(1, 'x'.repeat(65))],
    ['no topic', without(2, '')],
    ['a topic that is null', without(2, null)],
    ['a topic that is an array', without(2, ['room:1'])],
    ['a topic of 1,025 characters', without(2, 'x'.repeat(1_025))],
    ['no event', without(3, '')],
    ['an event that is a number', without(3, 1)],
    ['an event of 256 characters', without(3, 'x'.repeat(256))],
    ['a payload that is a text', without(4, 'text')],
    ['a payload that is a number', without(4, 7)],
    ['a payload that is true', without(4, true)],
    ['a payload that is an array', without(4, [])]
  ]
  it.each(MALFORMED)('%s is no frame', (_, text) => {
    expect(parseFrame(text)).toBeUndefined()
  })

  it('a frame nested as deeply as one can be is read, or is none: nothing throws', () => {
    const deep = `[null,null,"a","b",{"a":${'['.repeat(16_000)}${']'.repeat(16_000)}}]`
    expect(() => parseFrame(deep)).not.toThrow()
  })

  const binary = (kind: number, texts: readonly string[], payload = 'x'): Buffer =>
    Buffer.concat([
      Buffer.from([kind, ...texts.map(text => Buffer.byteLength(text))]),
      ...texts.map(text => Buffer.from(text)),
      Buffer.from(payload)
    ])

  it('the head of a binary push is read, whatever its payload is', () => {
    const head = { joinRef: '3', ref: '4', topic: 'räume:1', event: 'track' }
    expect(parseBinaryPush(binary(0, ['3', '4', 'räume:1', 'track']))).toEqual(head)
    expect(parseBinaryPush(binary(0, ['3', '4', 'räume:1', 'track'], ''))).toEqual(head)
  })

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['a kind alone', Buffer.from([0])],
    ['lengths cut off', Buffer.from([0, 1, 1, 1])],
    ['texts cut off', binary(0, ['3', '4', 'room:1', 'track'], '').subarray(0, -1)],
    ['lengths beyond its end', Buffer.from([0, 255, 255, 255, 255, 1])],
    ['a reply', binary(1, ['3', '4', 'room:1', 'track'])],
    ['an unknown kind', binary(9, ['3', '4', 'room:1', 'track'])]
  ])('binary, %s: no push', (_, bytes) => {
    expect(parseBinaryPush(bytes)).toBeUndefined()
  })

  it('bytes that are no UTF-8 do not throw', () => {
    expect(parseBinaryPush(Buffer.from([0, 1, 1, 1, 1, 0xff, 0xfe, 0xc0, 0x80]))).toMatchObject({ event: '\ufffd' })
  })

  it('frames of the server are what Phoenix clients parse, whatever the names', () => {
    const to = { joinRef: '1', ref: '2', topic: 'a"\u2028\\' }
    expect(JSON.parse(replyFrame(to, 'error', { reason: 'no' }).text)).toEqual([
      '1',
      '2',
      to.topic,
      'phx_reply',
      { status: 'error', response: { reason: 'no' } }
    ])
    expect(JSON.parse(pushFrame(to.topic, 'e"', { n: 1 }).text)).toEqual([null, null, to.topic, 'e"', { n: 1 }])
    expect(JSON.parse(pushFrame(to.topic, 'e', {}, '7').text)).toEqual(['7', null, to.topic, 'e', {}])
    expect(JSON.parse(closeFrame('t', '7').text)).toEqual(['7', '7', 't', 'phx_close', {}])
    expect(JSON.parse(errorFrame('t', '7', 'why').text)).toEqual(['7', '7', 't', 'phx_error', { reason: 'why' }])
    const frame = pushFrame('ß', 'e', { text: '\ud800' })
    expect(frame.bytes.toString()).toBe(frame.text)
  })
})
