import { UsageError } from './errors.ts'

/** Where something listens; port 0 for any. */
export interface HostPort {
  readonly host: string
  readonly port: number
}

const LOOPBACK = new Set(['127.0.0.1', 'localhost', '::1'])
const LOOPBACK_NAMES = new Set(['127.0.0.1', 'localhost', '[::1]'])

/** Reads `127.0.0.1:7470`, `[::1]:7470`, `localhost:7470` or `:7470`. `where` names the source in errors, `example` ends them. */
export function parseHostPort(value: string, where: string, example = '127.0.0.1:7470'): HostPort {
  const match = /^(?:\[([0-9a-fA-F:]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(value)
  const port = Number(match?.[3])
  if (match === null || port > 65_535) {
    throw new UsageError(`${where} is ${value}, allowed is HOST:PORT with a port from 0 to 65535, such as ${example}`)
  }
  return { host: (match[1] ?? match[2]) || '127.0.0.1', port }
}

/** Whether only this machine can reach it. */
export const isLoopback = ({ host }: HostPort): boolean => LOOPBACK.has(host)

/** Whether a Host header, port included, names the loopback: a page of another name got here by DNS rebinding. */
export const isLoopbackName = (header: string): boolean => LOOPBACK_NAMES.has(header.replace(/:\d+$/, ''))

/** @throws UsageError when the host is another machine's: the control API has a token, and no encryption. */
export function requireLoopback(address: HostPort, where: string): void {
  if (!isLoopback(address)) {
    throw new UsageError(
      `${where} names the host ${address.host}, allowed are ${[...LOOPBACK].join(', ')}: the control API is not encrypted; reach it from elsewhere through ssh -L`
    )
  }
}

/** The `http:` origin. */
export function originOf({ host, port }: HostPort): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
