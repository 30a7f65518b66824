import { readFileSync } from 'node:fs'

/** Of this package, from its manifest: two levels up, from the sources and from the build alike. */
export function packageVersion(): string {
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
  return manifest.version
}
