import type { ServerResponse } from 'node:http'

/** What a load balancer asks for. */
export interface Readiness {
  readonly ready: boolean
  readonly draining: boolean
}

/** Answers `/healthz` (the process runs) and `/readyz` (it can be given clients: 503 when not). False when the path is another one. */
export function answerProbe(path: string, readiness: () => Readiness, response: ServerResponse): boolean {
  if (path === '/healthz') {
    sendJson(response, 200, { ok: true })
    return true
  }
  if (path === '/readyz') {
    const { ready, draining } = readiness()
    sendJson(response, ready && !draining ? 200 : 503, { ready, draining })
    return true
  }
  return false
}

// JSON knows no Infinity, and phi may be one.
const finite = (_name: string, value: unknown): unknown =>
  typeof value === 'number' && !Number.isFinite(value) ? Math.sign(value) * Number.MAX_VALUE : value

/** The whole answer. */
export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body, finite)
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store', 'content-length': Buffer.byteLength(text) })
  response.end(text)
}
