import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { root, sourceFiles } from '../support/project.ts'

/** `A1`, `A2` … `A24` */
const upTo = (letter: string, last: number): string[] => Array.from({ length: last }, (_, i) => `${letter}${i + 1}`)
const ids = (text: string): string[] => text.split(' ')

const PAGES = {
  'docs/scenarios.md': [
    ...[...upTo('A', 24), ...upTo('B', 22), ...upTo('C', 17), ...upTo('D', 16)],
    ...[...upTo('E', 18), ...upTo('F', 10), ...upTo('G', 13)]
  ].map(id => `pub-${id}`),
  'docs/phoenix.md': [
    ...[...upTo('S', 15), ...upTo('C', 6), ...upTo('D', 7), ...upTo('R', 7)],
    ...[...upTo('O', 2), ...upTo('T', 1), ...upTo('P', 7), ...upTo('N', 18)]
  ],
  'docs/requirements.md': ids(
    'T1 T2 T3 T4 T5 T6 T7 T9 Q1 Q2 Q3 E1 E2 E3 E4 E7 E11 L1 L2 L5 L6 L7 L8 R1 R2 R3 R4 R5 R6 R7 R9 R10 F1 F2 F3 F5 F6 B1 B2 B3 B4 B5 B6 B9 B10 B11 R8 R13 F7 S4 S5 S8 O1 O2 O3 O4 O6 C1 C5 E5 E6 S1 S2 S3 S6 O5'
  )
} as const

interface Row {
  readonly id: string
  /** The tests and benches that it names: a file, and what is quoted from it. */
  readonly refs: readonly { readonly file: string; readonly text: string }[]
  /** What stands in its last cell besides. */
  readonly words: string
}

const REF = /`((?:test|bench)\/[\w./-]+\.ts)`: “([^”]+)”/g

function rowsOf(page: string): Row[] {
  return [...readFileSync(`${root}${page}`, 'utf8').matchAll(/^\| ((?:pub-)?[A-Z]\d+) \|.*\| (.*) \|$/gm)].map(([, id, cell]) => ({
    id: id as string,
    refs: [...(cell as string).matchAll(REF)].map(([, file, text]) => ({ file: file as string, text: text as string })),
    words: (cell as string)
      .replaceAll(REF, '')
      .replaceAll(/<br>|—/g, '')
      .trim()
  }))
}

/** The first arguments of all calls that are texts, as written: titles of tests are among them. */
function titlesIn(text: string): Set<string> {
  const literals = text.matchAll(/\(\s*(['"`])((?:\\.|(?!\1)[\s\S])*?)\1\s*,/g)
  return new Set([...literals].map(([, , title]) => (title as string).replaceAll(/\\(['"])/g, '$1')))
}

const tests = sourceFiles('test').map(({ path, text }) => ({ path, titles: titlesIn(text) }))

/** Undefined when it is there; else what is wrong, and where a test of that title is now. */
function missing(file: string, text: string): string | undefined {
  if (!existsSync(`${root}${file}`) && file.startsWith('bench/')) {
    return `there is no ${file}`
  }
  if (file.startsWith('bench/')) {
    return readFileSync(`${root}${file}`, 'utf8').includes(text) ? undefined : `${file} has no “${text}”`
  }
  const places = tests.filter(({ titles }) => titles.has(text)).map(({ path }) => path)
  const hint = places.length === 0 ? '' : `: it is in ${places.join(', ')}`
  return places.includes(file) ? undefined : `${file} has no test “${text}”${hint}`
}

describe.each(Object.entries(PAGES))('%s', (page, expected) => {
  const rows = rowsOf(page)

  it('has each id once, in order, and no other', () => {
    expect(rows.map(({ id }) => id)).toEqual(expected)
  })

  it('names only tests and benches that are there', () => {
    expect(
      rows.flatMap(({ id, refs }) =>
        refs
          .map(({ file, text }) => missing(file, text))
          .filter(Boolean)
          .map(fault => `${id}: ${fault}`)
      )
    ).toEqual([])
  })

  it('has a test in each row, or the reason why there is none', () => {
    expect(rows.filter(({ refs, words }) => refs.length === 0 && words.length < 20).map(({ id }) => id)).toEqual([])
  })
})

describe('ids in titles', () => {
  const all = tests.flatMap(({ path, titles }) => [...titles].map(title => ({ path, title })))

  it('a scenario’s row names tests with its id only, and each scenario that a title names is named there', () => {
    const rows = rowsOf('docs/scenarios.md')
    // F4 is shown by tests of other ids.
    const foreign = rows.flatMap(({ id, refs }) => refs.filter(({ text }) => id !== 'pub-F4' && !new RegExp(`${id}\\b`).test(text)))
    expect(foreign).toEqual([])
    const named = new Set(all.flatMap(({ title }) => title.match(/pub-[A-G]\d+\b/g) ?? []))
    expect([...named].filter(id => rows.find(row => row.id === id)?.refs.length === 0)).toEqual([])
  })

  it('names of scenarios that do not exist are not in titles', () => {
    const known: readonly string[] = PAGES['docs/scenarios.md']
    expect(
      all.flatMap(({ path, title }) => (title.match(/pub-[A-Z]\d+\b/g) ?? []).filter(id => !known.includes(id)).map(id => `${path}: ${id}`))
    ).toEqual([])
  })

  it('a test that is not there, and one that was renamed, are seen', () => {
    expect(missing('bench/nowhere.ts', 'x')).toBe('there is no bench/nowhere.ts')
    expect(missing('test/nowhere.test.ts', 'has each id once, in order, and no other')).toBe(
      'test/nowhere.test.ts has no test “has each id once, in order, and no other”: it is in test/project/coverage.test.ts'
    )
    expect(missing('test/project/coverage.test.ts', 'a test that nobody wrote')).toBe(
      'test/project/coverage.test.ts has no test “a test that nobody wrote”'
    )
    expect(missing('test/project/coverage.test.ts', 'names of scenarios that do not exist are not in titles')).toBeUndefined()
  })
})
