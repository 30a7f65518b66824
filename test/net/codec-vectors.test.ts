import { describe, expect, test } from 'vitest'
import { decodeMessage, encodeMessage, HEARTBEAT_PROTOCOL_ID, PROTOCOL_ID } from '../../src/net/codec.ts'
import { PROTOCOL_VERSION } from '../../src/tracker/messages.ts'
import { messageOf, readVectors } from './codec-vectors.ts'

const VERSIONS = Array.from({ length: PROTOCOL_VERSION }, (_, i) => i + 1)

describe.each(VERSIONS)('codec: golden bytes of version %i', version => {
  test.each(readVectors(version))('codec: $name, these bytes are read as this message', vector => {
    expect(decodeMessage(Buffer.from(vector.hex, 'hex'), optionsOf(vector.sender))).toStrictEqual(messageOf(vector))
  })
})

describe(`codec: golden bytes of version ${PROTOCOL_VERSION}, which is written`, () => {
  test.each(readVectors(PROTOCOL_VERSION))('codec: $name, this message is written as these bytes', vector => {
    expect(Buffer.from(encodeMessage(messageOf(vector), optionsOf(vector.sender))).toString('hex')).toBe(vector.hex)
  })

  test('codec: the protocol ids, by which peers of another major version refuse a stream', () => {
    expect([PROTOCOL_ID, HEARTBEAT_PROTOCOL_ID]).toEqual(['/rollcall/1.0.0', '/rollcall/heartbeat/1.0.0'])
  })
})

function optionsOf(sender: string | undefined): { sender?: string } {
  return sender === undefined ? {} : { sender }
}
