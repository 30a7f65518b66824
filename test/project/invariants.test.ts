import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { root, sourceFiles } from '../support/project.ts'

it('every invariant that the code names is stated in docs/, and the other way round', () => {
  const idsIn = (text: string): string[] => text.match(/INV-\d+/g) ?? []
  const code = new Set(sourceFiles('src').flatMap(({ text }) => idsIn(text)))
  const docs = new Set(
    readdirSync(`${root}docs`)
      .filter(name => name.endsWith('.md'))
      .flatMap(name => idsIn(readFileSync(`${root}docs/${name}`, 'utf8')))
  )
  expect([...code].sort()).toEqual([...docs].sort())
})
