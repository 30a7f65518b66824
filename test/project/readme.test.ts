import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../support/project.ts'

const readme = readFileSync(`${root}README.md`, 'utf8')
const block = (language: string, containing: string): string => {
  const found = [...readme.matchAll(/```(\w+)\n([\s\S]*?)```/g)].find(
    match => match[1] === language && (match[2] as string).includes(containing)
  )
  return found?.[2] as string
}

/** The example as a program of this checkout. */
const asProgram = (code: string): string => code.replaceAll("'rollcall'", `'${root}src/index.ts'`)

describe('README', () => {
  it('the first example prints what it says', () => {
    const folder = mkdtempSync(join(tmpdir(), 'rollcall-readme-'))
    try {
      writeFileSync(`${folder}/example.ts`, asProgram(block('ts', 'createTracker')))
      const printed = execFileSync(process.execPath, [`${folder}/example.ts`], { encoding: 'utf8', env: { ...process.env, NO_COLOR: '1' } })
      expect(printed).toBe(block('text', 'is online'))
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('its two commands are those of package.json', () => {
    const { scripts } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))
    expect(readme).toContain('npm ci && npm start')
    expect(readme).toContain('npm ci && npm test')
    expect(scripts.start).toContain('rollcall.js demo')
    expect(scripts.test).toContain('vitest run')
  })

  it('every page it names is there', () => {
    for (const [, page] of readme.matchAll(/\]\(((?:docs|bench)\/[\w./]+)\)/g)) {
      expect(() => readFileSync(`${root}${page}`), page as string).not.toThrow()
    }
  })
})
