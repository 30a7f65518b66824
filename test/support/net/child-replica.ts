import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export interface ChildReplica {
  readonly child: ChildProcess
  readonly address: string
  readonly id: string
}

/** Starts a replica in a process of its own and waits until it listens. */
export async function spawnReplica(options: object): Promise<ChildReplica> {
  const script = fileURLToPath(new URL('replica-process.ts', import.meta.url))
  const child = spawn(process.execPath, [script, JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [chunk] = (await once(child.stdout as NodeJS.ReadableStream, 'data')) as [Buffer]
  const address = chunk.toString().trim()
  return { child, address, id: address.split('/p2p/')[1] ?? '' }
}
