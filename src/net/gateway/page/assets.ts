import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** One file of the live page, ready to be sent. */
export interface Asset {
  readonly type: string
  readonly body: Buffer
  readonly etag: string
}

/** Under it lies all but the page itself. */
const FOLDER = '/rollcall/'
const PHOENIX = 'phoenix.mjs'

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  mjs: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml'
}

const SOURCE_MAP = /\n\/\/# sourceMappingURL=\S+\s*$/

let files: ReadonlyMap<string, string> | undefined

/**
 * The files of the live page by the path at which they are served: `/` and what lies in `/rollcall/`. They are read once per process.
 *
 * @param socketPath where the page connects
 */
export function loadAssets(socketPath: string): ReadonlyMap<string, Asset> {
  files ??= readFiles()
  const assets = new Map<string, Asset>()
  for (const [name, text] of files) {
    if (name === 'page.html') {
      assets.set('/', assetOf(name, completePage(text, [...files.keys()], socketPath)))
    } else {
      assets.set(FOLDER + name, assetOf(name, text))
    }
  }
  return assets
}

/** As they lie beside this file: in src/ the same as in dist/. */
function readFiles(): ReadonlyMap<string, string> {
  const folder = new URL('browser/', import.meta.url)
  const names = readdirSync(folder).filter(name => /\.(js|css|html|svg)$/.test(name))
  const read = (url: URL | string): string => readFileSync(fileURLToPath(url), 'utf8').replace(SOURCE_MAP, '\n')
  return new Map([
    ...names.sort().map(name => [name, read(new URL(name, folder))] as const),
    [PHOENIX, read(import.meta.resolve('phoenix'))]
  ])
}

/** Names all modules, so that they are fetched at once and not one after the other. */
function completePage(html: string, names: readonly string[], socketPath: string): string {
  const preloads = names.filter(name => /\.m?js$/.test(name)).map(name => `<link rel="modulepreload" href="${FOLDER.slice(1)}${name}">`)
  return html.replace('<!-- modules -->', preloads.join('\n    ')).replace('{socketPath}', socketPath)
}

function assetOf(name: string, text: string): Asset {
  const body = Buffer.from(text)
  const hash = createHash('sha256').update(body).digest('base64url').slice(0, 27)
  return { type: TYPES[name.slice(name.lastIndexOf('.') + 1)] as string, body, etag: `"${hash}"` }
}
