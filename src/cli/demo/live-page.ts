import { openAuth } from '../gateway/gateway-auth.ts'
import { GatewayServer } from '../gateway/gateway-server.ts'
import type { ReplicaHandle } from '../replica.ts'

/** Of `serve` as well: whoever looks there finds whichever runs. */
const PORT = 7_480

/** The live page of the demo. Stays up while servers are broken: the replica that it shows is a fourth one, which only looks on. */
export interface LivePage {
  readonly url: string
  stop(): Promise<void>
}

/** Takes over the replica: it is stopped with the page, or when the page cannot be shown. */
export async function openLivePage(replica: ReplicaHandle): Promise<LivePage> {
  try {
    const gateway = await GatewayServer.open({ replica, listen: { host: '127.0.0.1', port: PORT }, anyPortInstead: true, auth: openAuth })
    return {
      url: gateway.url,
      async stop() {
        await gateway.stop()
        await replica.stop()
      }
    }
  } catch (error) {
    await replica.stop()
    throw error
  }
}
