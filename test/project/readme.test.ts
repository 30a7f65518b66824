import { execFileSync, spawnSync } from 'node:child_process'
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
const asProgram = (code: string): string =>
  code
    .replaceAll("'rollcall'", `'${root}src/index.ts'`)
    .replaceAll("'rollcall/libp2p'", `'${root}src/net/libp2p/index.ts'`)
    .replaceAll("'rollcall/gateway'", `'${root}src/net/gateway/index.ts'`)

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

  it('all its programs, and those of docs/gateway.md, fit the types', () => {
    const folder = mkdtempSync(join(root, 'test', '.readme-'))
    try {
      const pages = [readme, readFileSync(`${root}docs/gateway.md`, 'utf8')]
      const programs = pages.flatMap(page => [...page.matchAll(/```ts\n([\s\S]*?)```/g)].map(match => match[1] as string))
      expect(programs.length).toBeGreaterThan(1)
      programs.forEach((code, i) => {
        writeFileSync(join(folder, `program-${i}.ts`), asProgram(code))
      })
      writeFileSync(
        join(folder, 'tsconfig.json'),
        JSON.stringify({ extends: '../../tsconfig.json', compilerOptions: { rewriteRelativeImportExtensions: false }, include: ['./*.ts'] })
      )
      const { status, stdout } = spawnSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder], {
        encoding: 'utf8'
      })
      expect(stdout).toBe('')
      expect(status).toBe(0)
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
