import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pageRoute } from '../../src/net/gateway/page/index.ts'

let server: Server
let origin: string

beforeAll(async () => {
  const route = pageRoute({ socketPath: '/live/socket' })
  server = createServer((request, response) => {
    if (!route(request, response, new URL(request.url ?? '/', 'http://any'))) {
      response.writeHead(404).end('somebody else')
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterAll(() => void server.close())

const get = (path: string, init?: RequestInit): Promise<Response> => fetch(origin + path, init)

/** Whatever the page and its modules name, by path. */
async function everyFile(): Promise<Map<string, { readonly response: Response; readonly text: string }>> {
  const found = new Map<string, { readonly response: Response; readonly text: string }>()
  const waiting = ['/']
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (!found.has(path)) {
      const response = await get(path)
      const text = await response.text()
      found.set(path, { response, text })
      const named = [...text.matchAll(/(?:href|src)="([^"#]+)"/g), ...text.matchAll(/^import [^'"]*['"](\.[^'"]+)['"]/gm)]
      waiting.push(...named.map(([, name]) => new URL(name as string, origin + path).pathname))
    }
  }
  return found
}

describe('the files of the live page', () => {
  it('are all there, each with its type, and the page names every module, so that they come at once', async () => {
    const files = await everyFile()
    expect([...files].filter(([, { response }]) => response.status !== 200).map(([path]) => path)).toEqual([])
    const types = Object.fromEntries([...files].map(([path, { response }]) => [path, response.headers.get('content-type')]))
    expect(types).toMatchObject({
      '/': 'text/html; charset=utf-8',
      '/rollcall/page.css': 'text/css; charset=utf-8',
      '/rollcall/page.js': 'text/javascript; charset=utf-8',
      '/rollcall/phoenix.mjs': 'text/javascript; charset=utf-8',
      '/rollcall/icon.svg': 'image/svg+xml'
    })
    const html = files.get('/')?.text as string
    for (const path of files.keys()) {
      expect(path === '/' || html.includes(`href="${path.slice(1)}"`), path).toBe(true)
    }
  })

  it('are the unchanged client `phoenix`, and a page that is told where to connect', async () => {
    const installed = readFileSync(new URL(import.meta.resolve('phoenix')), 'utf8')
    expect(installed.startsWith((await (await get('/rollcall/phoenix.mjs')).text()).trimEnd())).toBe(true)
    expect(installed.slice(-60)).toContain('sourceMappingURL')
    expect(await (await get('/')).text()).toContain('<meta name="rollcall-socket" content="/live/socket">')
  })

  it('come with strict headers, the page and refusals as well', async () => {
    const files = await everyFile()
    for (const { response } of [...files.values(), { response: await get('/', { method: 'POST' }) }]) {
      expect(Object.fromEntries(response.headers)).toMatchObject({
        'content-security-policy':
          "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'referrer-policy': 'no-referrer',
        'cross-origin-resource-policy': 'same-origin',
        'cache-control': 'no-cache'
      })
    }
  })

  it('name no other host, and have no script and no style inline', async () => {
    const files = await everyFile()
    files.delete('/rollcall/phoenix.mjs')
    for (const [path, { text }] of files) {
      expect([path, text.replaceAll('http://www.w3.org/2000/svg', '').match(/(https?:)?\/\/[\w-]+\.\w+/g)]).toEqual([path, null])
      expect([path, text.match(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function/g)]).toEqual([path, null])
    }
    const html = files.get('/')?.text as string
    expect(html.match(/<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|javascript:/gi)).toBeNull()
  })

  it('say nothing of source maps that nobody serves', async () => {
    for (const [path, { text }] of await everyFile()) {
      expect([path, text.includes('sourceMappingURL')]).toEqual([path, false])
    }
  })

  it('HEAD gives the headers of GET and no body', async () => {
    const whole = await get('/rollcall/page.css')
    const head = await get('/rollcall/page.css', { method: 'HEAD' })
    expect(head.status).toBe(200)
    expect(head.headers.get('etag')).toBe(whole.headers.get('etag'))
    expect(Number(head.headers.get('content-length'))).toBe((await whole.arrayBuffer()).byteLength)
    expect(await head.text()).toBe('')
  })

  it('are not sent again to one who has them', async () => {
    const etag = (await get('/')).headers.get('etag') as string
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`]) {
      const again = await get('/', { headers: { 'if-none-match': known } })
      expect([again.status, await again.text(), again.headers.get('etag')]).toEqual([304, '', etag])
    }
    expect((await get('/', { headers: { 'if-none-match': '"other"' } })).status).toBe(200)
  })

  it('are only read: any other method gets 405, and is told which are allowed', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const response = await get('/', { method })
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    }
  })

  it.each(['/rollcall', '/rollcall/', '/rollcall/nothing.js', '/rollcall/page.html', '/rollcall/..%2fassets.ts', '/index.html', '/socket'])(
    'leave %s to others',
    async path => {
      const response = await get(path)
      expect([response.status, await response.text()]).toEqual([404, 'somebody else'])
    }
  )
})
