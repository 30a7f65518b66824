import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../../src/cli/sim/ports.ts'
import type { GatewayOptions } from '../../../src/net/gateway/index.ts'
import type { ReplicaOptions } from '../../../src/net/libp2p/index.ts'
import { closeLater } from './close-all.ts'
import type { ProcessStart } from './gateway-fleet.ts'

/** A replica with a gateway, in a process that can be made to stand still. */
export interface Suspendable {
  /** For clients. */
  readonly url: string
  /** For other replicas. */
  readonly address: string
  /** SIGSTOP: its sockets stay open, and nobody answers. */
  suspend(): void
  /** SIGCONT. */
  resume(): void
  /** SIGKILL. */
  kill(): void
}

const SCRIPT = fileURLToPath(new URL('gateway-process.ts', import.meta.url))

export async function startSuspendable(replica: ReplicaOptions, gateway: Partial<GatewayOptions> = {}): Promise<Suspendable> {
  const port = await freePort()
  const address = `/ip4/127.0.0.1/tcp/${await freePort()}`
  const start: ProcessStart = { port, replica: { cluster: 'test', listen: [address], ...replica }, gateway }
  const child = fork(SCRIPT, [JSON.stringify(start)], { execArgv: [] })
  const exited = once(child, 'exit')
  closeLater(() => end(child, exited))
  const early = exited.then(([code, signal]) => {
    throw new Error(`the replica ended instead of starting: ${code ?? signal}`)
  })
  await Promise.race([once(child, 'message'), early])
  return {
    url: `ws://127.0.0.1:${port}/socket`,
    address,
    suspend: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    kill: () => void child.kill('SIGKILL')
  }
}

async function end(child: ChildProcess, exited: Promise<unknown>): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    child.kill('SIGKILL')
    await exited
  }
}
