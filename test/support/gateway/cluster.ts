import { createReplica, type Replica, type ReplicaOptions } from '../../../src/net/libp2p/index.ts'
import type { StopOptions } from '../../../src/tracker/types.ts'
import { until } from '../net/until.ts'
import { closeLater } from './close-all.ts'
import { type ServedGateway, type ServeGatewayOptions, startGateway } from './serve-gateway.ts'

export interface ClusterOptions extends Pick<ServeGatewayOptions, 'gateway'> {
  readonly replica?: ReplicaOptions
}

/** A replica and its gateway. */
export interface ClusterMember extends ServedGateway {
  readonly replica: Replica
  /** Drains the gateway, stops it, and the replica after it. */
  stopGently(options?: StopOptions): Promise<void>
  /** As near to SIGKILL as one process can come: the links break without a goodbye, then the sockets of the clients do. */
  kill(): Promise<void>
}

export interface GatewayCluster {
  readonly members: readonly ClusterMember[]
  stop(): Promise<void>
}

/** Real replicas in this process, each with a gateway, all linked with each other. */
export async function startCluster(count: number, options: ClusterOptions = {}): Promise<GatewayCluster> {
  const members: ClusterMember[] = []
  for (let index = 0; index < count; index++) {
    members.push(await startMember(options, members[0]))
  }
  for (const { tracker } of members) {
    await until('all replicas know each other', () => {
      const known = tracker.replicas()
      return known.length === count && known.every(({ status, complete }) => status === 'up' && complete)
    })
  }
  return {
    members,
    async stop() {
      await Promise.all(members.map(member => member.stop()))
    }
  }
}

async function startMember(options: ClusterOptions, first: ClusterMember | undefined): Promise<ClusterMember> {
  const bootstrap = first?.replica.addresses() ?? []
  const replica = await createReplica({ cluster: 'test', bootstrap, ...options.replica })
  const stopReplica = closeLater(() => replica.stop())
  const served = await startGateway({ tracker: replica.presence, ...(options.gateway !== undefined && { gateway: options.gateway }) })
  return {
    ...served,
    replica,
    async stop() {
      await served.stop()
      await stopReplica()
    },
    async stopGently(stopOptions) {
      await served.gateway.drain()
      await served.stop()
      await replica.stop(stopOptions)
      await stopReplica()
    },
    async kill() {
      served.server.close()
      for (const connection of replica.node.getConnections()) {
        connection.abort(new Error('killed'))
      }
      const stopped = stopReplica()
      served.cut()
      await stopped
      await served.stop()
    }
  }
}
