import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { CommandError } from '../errors.ts'

/** Below what Linux, macOS and Windows draw for outgoing connections, so that a port stays free while its owner is down. */
const LOWEST = 20_000
const HIGHEST = 32_000
const ATTEMPTS = 200

/** A port of the loopback on which nobody listens. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const port = randomInt(LOWEST, HIGHEST)
    if (await isFree(port)) {
      return port
    }
  }
  throw new CommandError(`no free port found from ${LOWEST} to ${HIGHEST} in ${ATTEMPTS} attempts; stop what listens there`)
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  try {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    return true
  } catch {
    return false
  } finally {
    server.close()
  }
}
