import { UsageError } from './errors.ts'

/** Where something listens; port 0 for any. */
export interface HostPort {
  readonly host: string
  readonly port: number
}

const LOOPBACK = new Set(['127.0.0.1', 'localhost', '::1'])

/** Reads `127.0.0.1:7470`, `[::1]:7470`, `localhost:7470` or `:7470`. `where` names the source in errors. */
export function parseHostPort(value: string, where: string): HostPort {
  const match = /^(?:\[([0-9a-fA-F:]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(value)
  const port = Number(match?.[3])
  if (match === null || port > 65_535) {
    throw new UsageError(`${where} is ${value}, allowed is HOST:PORT with a port from 0 to 65535, such as 127.0.0.1:7470`)
  }
  return { host: (match[1] ?? match[2]) || '127.0.0.1', port }
}

/** @throws UsageError when the host is another machine's: the control API has a token, and no encryption. */
export function requireLoopback({ host }: HostPort, where: string): void {
  if (!LOOPBACK.has(host)) {
    throw new UsageError(
      `${where} names the host ${host}, allowed are ${[...LOOPBACK].join(', ')}: the control API is not encrypted; reach it from elsewhere through ssh -L`
    )
  }
}

/** The `http:` origin. */
export function originOf({ host, port }: HostPort): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
