import { describe, expect, test } from 'vitest'
import { People, personName, TOPICS } from '../../src/cli/demo/people.ts'
import { clock, type DemoView, renderView, storyLines } from '../../src/cli/demo/view.ts'

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are not what is compared.
const plain = (lines: readonly string[]): string[] => lines.map(line => line.replace(/\u001b\[[0-9;]*m/g, ''))

const view = (more: Partial<DemoView> = {}): DemoView => ({
  elapsedMs: 67_000,
  page: 'http://127.0.0.1:7480',
  replicas: [
    { condition: 'up', connections: 7, listed: 9 },
    { condition: 'killed', connections: 0, listed: undefined },
    { condition: 'paused', connections: 2, listed: undefined }
  ],
  seenBy: 0,
  topics: new Map([
    [
      'lobby',
      [
        { user: 'ada', replica: 0, unknown: false },
        { user: 'ben', replica: 1, unknown: true }
      ]
    ]
  ]),
  agree: true,
  joinP50Ms: 3.21,
  story: [{ atMs: 5_000, mood: 'fault', text: 'b is killed.' }],
  ...more
})

describe('demo view', () => {
  test('replicas, who is where, and what happened', () => {
    const screen = plain(renderView(view(), 100, 30)).join('\n')
    expect(screen).toMatch(/rollcall demo {2}1:07/)
    expect(screen).toMatch(/live page +http:\/\/127\.0\.0\.1:7480 /)
    expect(screen).toMatch(/a ● up +7 connections +9 presences listed/)
    expect(screen).toMatch(/b ✗ killed/)
    expect(screen).toMatch(/c ‖ paused/)
    expect(screen).toMatch(/as a sees it/)
    expect(screen).toMatch(/#lobby +2 {2}ada ben\?/)
    expect(screen).toMatch(/after 3\.2 ms \(median\)/)
    expect(screen).toMatch(/0:05 {2}b is killed\./)
  })

  test('never wider or higher than the terminal, however much there is to tell', () => {
    const people = Array.from({ length: 300 }, (_, index) => ({ user: personName(index), replica: index % 3, unknown: false }))
    const story = Array.from({ length: 60 }, (_, index) => ({
      atMs: index * 1_000,
      mood: 'life' as const,
      text: 'word '.repeat(40).trim()
    }))
    for (const [width, height] of [
      [40, 10],
      [80, 24],
      [200, 60]
    ] as const) {
      const lines = plain(renderView(view({ topics: new Map([['lobby', people]]), story }), width, height))
      expect(lines.length).toBeLessThanOrEqual(height)
      expect(Math.max(...lines.map(line => line.length))).toBeLessThanOrEqual(width)
    }
  })

  test('the newest sentences are kept', () => {
    const story = Array.from({ length: 40 }, (_, index) => ({ atMs: index * 1_000, mood: 'life' as const, text: `sentence ${index}` }))
    const screen = plain(renderView(view({ story }), 80, 24)).join('\n')
    expect(screen).toMatch(/sentence 39/)
    expect(screen).not.toMatch(/sentence 0\b/)
  })

  test('before anybody answers', () => {
    const screen = plain(renderView(view({ page: undefined, seenBy: -1, topics: new Map(), joinP50Ms: 0 }), 80, 24)).join('\n')
    expect(screen).toMatch(/nobody to ask yet/)
    expect(screen).not.toMatch(/live page/)
  })

  test('storyLines: wraps at words, and aligns', () => {
    expect(plain(storyLines({ atMs: 61_000, mood: 'good', text: 'one two three four' }, 20))).toEqual([
      '  1:01  one two',
      '        three four'
    ])
    expect(clock(-5)).toBe('0:00')
  })
})

describe('People', () => {
  test('steps are consistent: nobody enters a room twice, or leaves one he is not in, or is in two for longer than a step', () => {
    const people = new People(24, 1)
    const rooms = new Map<string, Set<string>>()
    const apply = ({ topic, user, kind }: { topic: string; user: string; kind: string }): void => {
      const own = rooms.get(user) ?? new Set()
      rooms.set(user, own)
      expect(TOPICS).toContain(topic)
      expect(own.has(topic)).toBe(kind === 'leave')
      if (kind === 'join') {
        own.add(topic)
      } else {
        own.delete(topic)
      }
    }
    people.arrive().forEach(apply)
    for (let i = 0; i < 2_000; i++) {
      people.step().forEach(apply)
      expect([...rooms.values()].every(own => own.size <= 1)).toBe(true)
    }
  })
})
