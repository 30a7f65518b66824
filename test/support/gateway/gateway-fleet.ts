import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../../src/cli/sim/ports.ts'
import type { GatewayOptions } from '../../../src/net/gateway/index.ts'
import type { ReplicaOptions } from '../../../src/net/libp2p/index.ts'
import { closeLater } from './close-all.ts'

export interface FleetOptions {
  readonly replica?: ReplicaOptions
  /** What JSON can carry. */
  readonly gateway?: Partial<GatewayOptions>
}

/** What a process is told. */
export interface ProcessStart {
  readonly port: number
  readonly replica: ReplicaOptions
  readonly gateway: Partial<GatewayOptions>
}

/** A replica in a process of its own. Its ports and its identity outlive the process. */
export interface FleetMember {
  /** Where clients connect, on 127.0.0.1. */
  readonly port: number
  /** Starts the process, and waits until clients may come: it has what the others have. */
  start(): Promise<void>
  /** SIGTERM. Resolves when it has drained and ended; throws when it does not end with 0. */
  terminate(): Promise<void>
  /** SIGKILL. Resolves when the process is gone. */
  kill(): Promise<void>
}

export interface GatewayFleet {
  readonly members: readonly FleetMember[]
  /** For one more replica: where the fleet is. */
  readonly bootstrap: readonly string[]
}

const SCRIPT = fileURLToPath(new URL('gateway-process.ts', import.meta.url))

/** So many replicas as processes, each with a gateway, all started. `closeAll` kills what is left of them. */
export async function startFleet(count: number, options: FleetOptions = {}): Promise<GatewayFleet> {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-fleet-'))
  closeLater(() => rm(folder, { recursive: true, force: true }))
  const bootstrap: string[] = []
  for (let index = 0; index < count; index++) {
    bootstrap.push(`/ip4/127.0.0.1/tcp/${await freePort()}`)
  }
  const members: FleetMember[] = []
  for (const [index, address] of bootstrap.entries()) {
    const keyFile = join(folder, `${index}.key`)
    const replica = { cluster: 'test', bootstrap, listen: [address], keyFile, ...options.replica }
    members.push(createMember({ port: await freePort(), replica, gateway: options.gateway ?? {} }))
  }
  await Promise.all(members.map(member => member.start()))
  return { members, bootstrap }
}

function createMember(start: ProcessStart): FleetMember {
  let child: ChildProcess | undefined
  const end = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<unknown> => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) {
      return undefined
    }
    const exited = once(child, 'exit')
    child.kill(signal)
    return (await exited)[0]
  }
  closeLater(() => end('SIGKILL') as Promise<void>)
  return {
    port: start.port,
    async start() {
      child = fork(SCRIPT, [JSON.stringify(start)], { execArgv: [] })
      const ended = once(child, 'exit').then(([code, signal]) => {
        throw new Error(`the replica ended instead of starting: ${code ?? signal}`)
      })
      await Promise.race([once(child, 'message'), ended])
    },
    async terminate() {
      const code = await end('SIGTERM')
      if (code !== 0) {
        throw new Error(`the replica ended with ${code}, not with 0`)
      }
    },
    async kill() {
      await end('SIGKILL')
    }
  }
}
