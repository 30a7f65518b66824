import { posix } from 'node:path'
import { describe, expect, it } from 'vitest'
import { codeOf, importsOf, type SourceFile, sourceFiles } from '../support/project.ts'

/** Rooms, and the rooms that each may import from. */
const ARROWS: Record<string, readonly string[]> = {
  crdt: ['crdt'],
  tracker: ['tracker', 'crdt'],
  net: ['net', 'tracker', 'crdt'],
  testing: ['testing', 'net', 'tracker', 'crdt'],
  cli: ['cli', 'testing', 'net', 'tracker', 'crdt', 'index.ts'],
  'index.ts': ['tracker', 'crdt']
}

/** Packages that the pure rooms may use: they run in every runtime, and read no clock. */
const PURE_PACKAGES = new Set(['@noble/hashes/hmac.js', '@noble/hashes/sha2.js'])

/** The one file that touches time and entropy. */
const ENVIRONMENT = 'src/tracker/environment.ts'

const IMPURE = /\b(Date\b|performance\b|Math\.random|setTimeout|setInterval|setImmediate|queueMicrotask|crypto\.|process\.)/

function roomOf(path: string): string {
  return path.split('/')[1] as string
}

/** Each rule that a file breaks, in words. */
function faults({ path, text }: SourceFile): string[] {
  const room = roomOf(path)
  const allowed = ARROWS[room] ?? []
  const found: string[] = []
  for (const target of importsOf(text)) {
    if (target.startsWith('.')) {
      const to = roomOf(posix.join(posix.dirname(path), target))
      if (!allowed.includes(to)) {
        found.push(`${path}: ${room} must not import ${to} (${target})`)
      }
      if (!target.endsWith('.ts')) {
        found.push(`${path}: ${target} lacks its ending`)
      }
    } else if (room === 'crdt' || (room === 'tracker' && !PURE_PACKAGES.has(target))) {
      found.push(`${path}: ${room} must not import ${target}`)
    }
  }
  if ((room === 'crdt' || room === 'tracker') && path !== ENVIRONMENT && IMPURE.test(codeOf(text))) {
    found.push(`${path}: time, entropy or the process (${IMPURE.exec(codeOf(text))?.[0]})`)
  }
  return found
}

describe('the arrows of the house', () => {
  it('point down only: cli → net → tracker → crdt; crdt and tracker know no clock, timer, entropy or runtime', () => {
    const all = sourceFiles('src')
    expect(all.length).toBeGreaterThan(50)
    expect(all.flatMap(faults)).toEqual([])
  })

  it.each([
    ['src/crdt/x.ts', "import { y } from '../tracker/y.ts'"],
    ['src/crdt/x.ts', "import fs from 'node:fs'"],
    ['src/tracker/x.ts', "import { y } from '../net/codec.ts'"],
    ['src/tracker/x.ts', "import type { PeerId } from '@libp2p/interface'"],
    ['src/tracker/x.ts', "export { a } from '../testing/a.ts'"],
    ['src/tracker/x.ts', "import {\n  a,\n  b\n} from '../net/a.ts'"],
    ['src/net/x.ts', "import { a } from '../cli/a.ts'"],
    ['src/crdt/x.ts', "import { a } from './a'"],
    ['src/crdt/x.ts', 'const now = Date.now()'],
    ['src/tracker/x.ts', 'const a = performance.now()'],
    ['src/tracker/x.ts', 'setTimeout(() => {}, 5)'],
    ['src/tracker/x.ts', 'const a = Math.random()'],
    ['src/tracker/x.ts', "await import('node:fs')"]
  ])('are seen when broken: %s with %s', (path, text) => {
    expect(faults({ path, text })).toHaveLength(1)
  })

  it('are not seen broken in comments and texts', () => {
    expect(faults({ path: 'src/crdt/x.ts', text: "// Date.now()\n/* setTimeout */ const a = 'Math.random'\n" })).toEqual([])
  })
})
