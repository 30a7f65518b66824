import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { DEFAULT_FRAME_LIMITS, encodeMessage, HEARTBEAT_PROTOCOL_ID, PROTOCOL_ID } from '../../src/net/codec.ts'
import type { Message } from '../../src/tracker/messages.ts'
import { SAMPLES, SELF } from './codec-samples.ts'

const PAGE = readFileSync(`${import.meta.dirname}/../../docs/protocol.md`, 'utf8')

/** The cells of each row of a section's tables. */
function rowsOf(heading: string): string[][] {
  const section = PAGE.split(/^## /m).find(part => part.startsWith(`${heading}\n`)) ?? ''
  return section
    .split('\n')
    .filter(line => line.startsWith('| '))
    .map(line => line.split('|').map(cell => cell.trim()))
}

describe('docs/protocol.md', () => {
  test('docs/protocol.md: the table of limits has the defaults of the code, all of them', () => {
    const limits = rowsOf('Limits')
      .filter(([, , value]) => /^[\d,]+$/.test(value ?? ''))
      .map(([, name, value]) => [name, Number(value?.replaceAll(',', ''))])
    expect(Object.fromEntries(limits)).toEqual(DEFAULT_FRAME_LIMITS)
  })

  test('docs/protocol.md: the table of messages has the tags of the code, all of them', () => {
    const documented = rowsOf('Frame')
      .filter(([, tag]) => /^\d+$/.test(tag ?? ''))
      .map(([, tag, type]) => [type, Number(tag)])
    const written = Object.values(SAMPLES).map(message => [message.type, (encodeMessage(message)[1] as number) % 16])
    expect(Object.fromEntries(documented)).toEqual(Object.fromEntries(written))
  })

  test('docs/protocol.md: the worked example is what the encoder writes, and its rows are all of its bytes', () => {
    const frame = encodeMessage(SAMPLES['delta of one join'] as Message, { sender: SELF.id })
    const hex = Buffer.from(frame).toString('hex')
    expect(/^[0-9a-f]{80,}$/m.exec(PAGE)?.[0]).toBe(hex)
    const rows = rowsOf('A frame, byte by byte').filter(([, bytes]) => bytes?.startsWith('`'))
    expect(rows.map(([, bytes]) => bytes?.replaceAll(/[` ]/g, '')).join('')).toBe(hex)
  })

  test('docs/protocol.md: the protocol ids are those of the code', () => {
    expect(rowsOf('Streams').map(([, id]) => id)).toEqual(['protocol id', `\`${PROTOCOL_ID}\``, `\`${HEARTBEAT_PROTOCOL_ID}\``])
  })
})
