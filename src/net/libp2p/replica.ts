import { noise } from '@chainsafe/libp2p-noise'
import { type Identify, identify } from '@libp2p/identify'
import type { Libp2p, PrivateKey } from '@libp2p/interface'
import { mdns } from '@libp2p/mdns'
import { preSharedKey } from '@libp2p/pnet'
import { tcp } from '@libp2p/tcp'
import { yamux } from '@libp2p/yamux'
import { createLibp2p, type Libp2pOptions } from 'libp2p'
import { InvalidOptionsError } from '../../tracker/errors.ts'
import { DEFAULTS } from '../../tracker/options.ts'
import type { StopOptions } from '../../tracker/types.ts'
import { admissionGater } from './gater.ts'
import { loadOrCreateKey } from './key-file.ts'
import type { RollcallInit } from './options.ts'
import { type Rollcall, RollcallService } from './service.ts'

export interface ReplicaOptions extends RollcallInit {
  /** Multiaddrs to listen on. Default: /ip4/127.0.0.1/tcp/0, reachable on this host only. */
  readonly listen?: readonly string[]
  /** Multiaddrs to tell others instead, where those are not the ones to dial. */
  readonly announce?: readonly string[]
  /** Find and be found by replicas of the same cluster on the local network. Default false. */
  readonly mdns?: boolean
  /** Keeps the replica's identity over restarts; see `loadOrCreateKey`. Default: a new identity each time. */
  readonly keyFile?: string
  /** In place of a key file. */
  readonly privateKey?: PrivateKey
  /** The pre-shared key of the cluster, in the form of `generateKey` of @libp2p/pnet: three lines, the last one 64 hex digits. */
  readonly psk?: string | Uint8Array
  /** As for `createLibp2p`, e.g. `prometheusMetrics()`. */
  readonly metrics?: NonNullable<Libp2pOptions['metrics']>
  /** As for `createLibp2p`. */
  readonly logger?: NonNullable<Libp2pOptions['logger']>
}

/** A running replica. */
export interface Replica {
  readonly id: string
  readonly node: Libp2p<{ identify: Identify; presence: Rollcall }>
  readonly presence: Rollcall
  /** Where others reach it, peer id included: what to give them as `bootstrap`. */
  addresses(): string[]
  /** Says goodbye, then stops the node. */
  stop(options?: StopOptions): Promise<void>
}

const PSK_LINES = /^\/key\/swarm\/psk\/1\.0\.0\/\r?\n\/base16\/\r?\n[0-9a-f]{64}\s*$/i
/** More than this in flight on one stream would delay the heartbeats that share the socket. */
const STREAM_WINDOW_BYTES = 256 * 1024
/** The node's limit; links are bounded by `maxLinks`. */
const MAX_CONNECTIONS = 1_024

/**
 * A libp2p node that serves presence, started: TCP, noise, yamux, with libp2p's limits set for a cluster. Its addresses never expire,
 * connections are judged by the failure detector instead of libp2p's monitor, and strangers are turned away at the connection.
 *
 * @throws InvalidOptionsError, KeyFileError, AdmissionRequiredError, or what libp2p says of an address that is taken.
 */
export async function createReplica(options: ReplicaOptions = {}): Promise<Replica> {
  const { listen = ['/ip4/127.0.0.1/tcp/0'], announce, mdns: useMdns = false, keyFile, psk, metrics, logger, ...rest } = options
  const { privateKey: givenKey, ...init } = rest
  if (keyFile !== undefined && givenKey !== undefined) {
    throw new InvalidOptionsError('keyFile and privateKey are both given, allowed is one of them')
  }
  const privateKey = keyFile === undefined ? givenKey : await loadOrCreateKey(keyFile)
  // Both the node and the service read it, and an iterator can be read once.
  const allow = init.allow === undefined ? undefined : [...init.allow]
  const admission = { ...(allow !== undefined && { allow }), ...(init.admit !== undefined && { admit: init.admit }) }
  let presence: Rollcall | undefined
  const node = await createLibp2p({
    ...(privateKey !== undefined && { privateKey }),
    ...(metrics !== undefined && { metrics }),
    ...(logger !== undefined && { logger }),
    ...(psk !== undefined && { connectionProtector: preSharedKey({ psk: checkedPsk(psk) }) }),
    ...(useMdns && { peerDiscovery: [mdns({ serviceTag: serviceTag(init.cluster ?? DEFAULTS.cluster) })] }),
    ...(Object.keys(admission).length > 0 && { connectionGater: admissionGater(admission) }),
    addresses: { listen: [...listen], ...(announce !== undefined && { announce: [...announce] }) },
    transports: [tcp()],
    connectionEncrypters: [noise()],
    streamMuxers: [yamux({ streamOptions: { maxStreamWindowSize: STREAM_WINDOW_BYTES } })],
    connectionManager: { maxConnections: MAX_CONNECTIONS, inboundConnectionThreshold: 100, maxIncomingPendingConnections: 100 },
    connectionMonitor: { enabled: false },
    peerStore: { maxAddressAge: Number.POSITIVE_INFINITY, maxPeerAge: Number.POSITIVE_INFINITY },
    services: {
      identify: identify(),
      presence: components => {
        presence = new RollcallService({ ...init, ...admission }, components)
        return presence
      }
    }
  })
  return toReplica(node as Replica['node'], presence as Rollcall)
}

function toReplica(node: Replica['node'], presence: Rollcall): Replica {
  return {
    id: presence.id,
    node,
    presence,
    addresses: () => node.getMultiaddrs().map(String),
    async stop(options) {
      await presence.stop(options)
      await node.stop()
    }
  }
}

function checkedPsk(psk: string | Uint8Array): Uint8Array {
  const bytes = typeof psk === 'string' ? new TextEncoder().encode(psk) : psk
  if (!(bytes instanceof Uint8Array) || !PSK_LINES.test(new TextDecoder().decode(bytes))) {
    // The key itself must not end up in a log.
    throw new InvalidOptionsError('psk is no pre-shared key; allowed are the lines /key/swarm/psk/1.0.0/, /base16/ and 64 hex digits')
  }
  return bytes
}

/** Only replicas of the same cluster answer. */
function serviceTag(cluster: string): string {
  return `_rollcall-${cluster
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 40)}._udp.local`
}
