import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { codeOf, messageOf, UsageError } from './errors.ts'
import type { HostPort } from './host-port.ts'

/** How a server of ours listens. */
export interface ListenOptions extends HostPort {
  /** The setting that names the address, for errors. */
  readonly where: string
  /** When the port is taken, take any other: nobody asked for this one. */
  readonly anyPortInstead: boolean
}

/** Resolves with where it listens, once it does. Throws UsageError when the port is taken, or the address is not ours. */
export async function listen(server: Server, { host, port, where, anyPortInstead }: ListenOptions): Promise<HostPort> {
  try {
    return await attempt(server, host, port)
  } catch (error) {
    const isTaken = codeOf(error) === 'EADDRINUSE'
    if (isTaken && anyPortInstead) {
      return attempt(server, host, 0)
    }
    throw new UsageError(
      isTaken
        ? `${where} ${host}:${port} is taken by another process; give another port, or 0 for any`
        : `${where} ${host}:${port}: ${messageOf(error)}`
    )
  }
}

function attempt(server: Server, host: string, port: number): Promise<HostPort> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.removeListener('error', reject)
      resolve({ host, port: (server.address() as AddressInfo).port })
    })
  })
}
