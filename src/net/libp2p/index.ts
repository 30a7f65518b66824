/**
 * Presence as a service of a libp2p 3 node.
 *
 * The service *is* a tracker: all of the `Tracker` interface, started and stopped with the node. The replica's id is the node's peer id.
 *
 * @packageDocumentation
 * @example
 * import { createLibp2p } from 'libp2p'
 * import { tcp } from '@libp2p/tcp'
 * import { noise } from '@chainsafe/libp2p-noise'
 * import { yamux } from '@libp2p/yamux'
 * import { identify } from '@libp2p/identify'
 * import { rollcall } from 'rollcall/libp2p'
 *
 * const node = await createLibp2p({
 *   addresses: { listen: ['/ip4/127.0.0.1/tcp/0'] },
 *   transports: [tcp()],
 *   connectionEncrypters: [noise()],
 *   streamMuxers: [yamux()],
 *   services: { identify: identify(), presence: rollcall({ cluster: 'chat', bootstrap: ['/ip4/127.0.0.1/tcp/7946'] }) }
 * })
 * const connection = node.services.presence.connect('user:42')
 * connection.track('room:1', { status: 'here' })
 *
 * @example A whole node with the settings that suit presence
 * import { createReplica } from 'rollcall/libp2p'
 *
 * const { presence, stop } = await createReplica({ cluster: 'chat', listen: ['/ip4/0.0.0.0/tcp/7946'], keyFile: '/var/lib/rollcall/key', allow })
 */
import type { RollcallComponents } from './components.ts'
import type { RollcallInit } from './options.ts'
import { type Rollcall, RollcallService } from './service.ts'

export { HEARTBEAT_PROTOCOL_ID, PROTOCOL_ID } from '../codec.ts'
export type { AdmissionInit, AdmitHook } from './admission.ts'
export type { RollcallComponents } from './components.ts'
export { AdmissionRequiredError, FramingError, KeyFileError, LinkError, NotAdmittedError } from './errors.ts'
export { admissionGater } from './gater.ts'
export { loadOrCreateKey } from './key-file.ts'
export { METRICS } from './metrics.ts'
export { NETWORK_DEFAULTS, type NetworkOptions, type RollcallInit } from './options.ts'
export { PEERS_PROTOCOL_ID } from './peer-exchange.ts'
export { createReplica, type Replica, type ReplicaOptions } from './replica.ts'
export type { Rollcall } from './service.ts'

/**
 * A factory for the `services` of `createLibp2p`. The node needs `identify`.
 *
 * Who may join: `allow`, `admit`, or a `connectionProtector` of the node; without one of them the node may listen on loopback only, and
 * starting it fails with an `AdmissionRequiredError`.
 *
 * @throws InvalidOptionsError when the node is created, naming the option, its value and what is allowed.
 */
export function rollcall(init: RollcallInit = {}): (components: RollcallComponents) => Rollcall {
  return components => new RollcallService(init, components)
}
