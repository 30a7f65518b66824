import type { IncomingMessage, ServerResponse } from 'node:http'
import type { HttpRoute } from '../types.ts'
import { type Asset, loadAssets } from './assets.ts'

export interface PageRouteInit {
  /** Where the page connects: one of the gateway's paths. */
  readonly socketPath: string
}

/**
 * Nothing but files of this server, no inline script and no inline style; the socket is on the same host. A form that the script does not take goes
 * nowhere, as a token could be in it.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'"
].join('; ')

const HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-cache'
}

/**
 * Serves the live page at `/`, and its files. They hold no data, so nobody is asked who he is: what the page shows comes over the socket, whose client
 * has to say it.
 */
export function pageRoute({ socketPath }: PageRouteInit): HttpRoute {
  const assets = loadAssets(socketPath)
  return (request, response, url) => {
    const asset = assets.get(url.pathname)
    if (asset !== undefined) {
      answer(request, response, asset)
    }
    return asset !== undefined
  }
}

function answer(request: IncomingMessage, response: ServerResponse, { type, body, etag }: Asset): void {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.writeHead(405, { ...HEADERS, allow: 'GET, HEAD', 'content-type': 'text/plain' }).end('allowed are GET and HEAD\n')
    return
  }
  if (isKnown(request.headers['if-none-match'], etag)) {
    response.writeHead(304, { ...HEADERS, etag }).end()
    return
  }
  response.writeHead(200, { ...HEADERS, etag, 'content-type': type, 'content-length': body.length })
  response.end(request.method === 'HEAD' ? undefined : body)
}

/** A proxy that compresses makes weak tags of ours. */
function isKnown(header: string | undefined, etag: string): boolean {
  return header?.split(',').some(tag => tag.trim().replace(/^W\//, '') === etag) === true
}
