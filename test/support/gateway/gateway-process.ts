/**
 * A replica with a gateway in a process of its own: `fork('gateway-process.ts', [JSON.stringify(start)])`. Says so when clients may come. At SIGTERM it
 * drains, then stops, and says goodbye to the other replicas. Ends with its parent.
 */
import { createReplica } from '../../../src/net/libp2p/index.ts'
import type { ProcessStart } from './gateway-fleet.ts'
import { startGateway } from './serve-gateway.ts'

const { port, replica: replicaOptions, gateway } = JSON.parse(process.argv[2] ?? '') as ProcessStart

process.on('disconnect', () => process.exit(1))
const replica = await createReplica(replicaOptions)
await replica.presence.ready
const served = await startGateway({ tracker: replica.presence, port, gateway })
process.once('SIGTERM', async () => {
  await served.gateway.drain()
  await served.stop()
  await replica.stop({ announce: true })
  process.exit(0)
})
process.send?.('ready')
