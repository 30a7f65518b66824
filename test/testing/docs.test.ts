import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { PLANTED_FAULTS } from '../support/faults.ts'
import { root } from '../support/project.ts'

const page = readFileSync(`${root}docs/testing.md`, 'utf8')
const blocks = [...page.matchAll(/```(\w+)\n([\s\S]*?)```/g)].map(([, language, text]) => ({ language, text: text as string }))
const script = blocks.find(({ language, text }) => language === 'ts' && text.includes('createSimulation')) as { text: string }
const output = blocks.find(({ language }) => language === 'text') as { text: string }

describe('docs/testing.md', () => {
  test('O7: the fault script has less than 20 lines, and prints what the page says', () => {
    expect(script.text.split('\n').filter(line => line.trim() !== '').length).toBeLessThan(20)
    const folder = mkdtempSync(join(tmpdir(), 'rollcall-testing-'))
    try {
      writeFileSync(`${folder}/script.ts`, script.text.replaceAll("'rollcall/testing'", `'${root}src/testing/index.ts'`))
      const printed = execFileSync(process.execPath, [`${folder}/script.ts`], { encoding: 'utf8', env: { ...process.env, NO_COLOR: '1' } })
      const lines = printed.trim().split('\n')
      expect(lines.slice(0, -1)).toEqual(output.text.trim().split('\n').slice(0, -1))
      expect(lines.at(-1)).toMatch(/^[0-9a-f]{16}$/)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  test('it lists the planted faults', () => {
    expect([...page.matchAll(/^\d+\. (.*)$/gm)].map(([, name]) => name)).toEqual(PLANTED_FAULTS.map(({ name }) => name))
  })

  test('it names every export of rollcall/testing that a script begins with', async () => {
    const kit = await import('../../src/testing/index.ts')
    for (const name of [
      'createSimulation',
      'randomScenario',
      'runScenario',
      'shrinkScenario',
      'arbitraryFaultSchedule',
      'arbitraryWorkload',
      'replay'
    ]) {
      expect(kit).toHaveProperty(name)
      expect(page).toContain(`\`${name}`)
    }
  })
})
