import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../..', import.meta.url))

export interface SourceFile {
  /** Relative to the project, with slashes. */
  readonly path: string
  readonly text: string
}

export function sourceFiles(folder: string): SourceFile[] {
  return readdirSync(`${root}${folder}`, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts'))
    .map(name => `${folder}/${name.replaceAll('\\', '/')}`)
    .sort()
    .map(path => ({ path, text: readFileSync(`${root}${path}`, 'utf8') }))
}

/** What a file imports or re-exports, as written. */
export function importsOf(text: string): string[] {
  const found = [...text.matchAll(/(?:^|\n)\s*(?:import|export)\b[^'"\n;]*?(?:\n[^'"]*?)?from\s*['"]([^'"]+)['"]/g)].map(
    match => match[1] as string
  )
  const bare = [...text.matchAll(/(?:^|\n)\s*import\s*['"]([^'"]+)['"]/g)].map(match => match[1] as string)
  const dynamic = [...text.matchAll(/\bimport\(\s*['"]([^'"]+)['"]/g)].map(match => match[1] as string)
  return [...found, ...bare, ...dynamic]
}

/** The text without comments and the contents of strings: what is left is code. */
export function codeOf(text: string): string {
  return text
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/(^|[^:])\/\/.*$/gm, '$1')
    .replaceAll(/'(?:[^'\\\n]|\\.)*'/g, "''")
}
