import { readFileSync } from 'node:fs'
import { createReplica, type ReplicaOptions } from '../net/libp2p/replica.ts'
import type { TrackerOptions } from '../tracker/options.ts'
import { codeOf, messageOf, UsageError } from './errors.ts'
import type { ReplicaHandle } from './replica.ts'
import { inFlags } from './tuning.ts'

/** What a process needs to become a replica. */
export interface OpenReplicaOptions {
  readonly cluster: string
  /** Multiaddrs. */
  readonly listen: readonly string[]
  readonly peers: readonly string[]
  /** Tell nobody an address of ours: others know only those that they were started with. For links that must pass a proxy. */
  readonly hideAddresses?: boolean
  /** Path of the key file. */
  readonly identity: string
  readonly allow: readonly string[]
  /** Path of the pre-shared key. */
  readonly swarmKey: string | undefined
  readonly mdns: boolean
  readonly options: Omit<TrackerOptions, 'transport' | 'environment' | 'cluster'>
}

/** What libp2p takes for an address and no replica can dial. */
const NOWHERE = '/ip4/127.0.0.1/udp/9'

/**
 * Starts a replica with its network.
 *
 * @throws UsageError for what the person who started it can put right: options, files, addresses that are taken or not ours.
 */
export async function openReplica(options: OpenReplicaOptions): Promise<ReplicaHandle> {
  const replica = await createReplica(toReplicaOptions(options)).catch((error: unknown) => {
    throw asUsageError(error, options)
  })
  return {
    tracker: replica.presence,
    cluster: options.cluster,
    addresses: replica.addresses(),
    metrics: replica.node.metrics,
    logger: replica.node.logger,
    stop: stopOptions => replica.stop(stopOptions)
  }
}

function toReplicaOptions(options: OpenReplicaOptions): ReplicaOptions {
  return {
    ...options.options,
    cluster: options.cluster,
    listen: options.listen,
    bootstrap: options.peers,
    mdns: options.mdns,
    keyFile: options.identity,
    ...(options.hideAddresses && { announce: [NOWHERE] }),
    ...(options.allow.length > 0 && { allow: options.allow }),
    ...(options.swarmKey !== undefined && { psk: readSwarmKey(options.swarmKey) })
  }
}

function readSwarmKey(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new UsageError(`--swarm-key ${path}: ${codeOf(error) === 'ENOENT' ? 'there is no such file' : messageOf(error)}`)
  }
}

function asUsageError(error: unknown, { listen }: OpenReplicaOptions): unknown {
  if (!(error instanceof Error)) {
    return error
  }
  switch (error.name) {
    case 'InvalidOptionsError':
      return new UsageError(inFlags(error.message))
    case 'KeyFileError':
      return new UsageError(error.message)
    case 'AdmissionRequiredError':
      return new UsageError(`${error.message} (--allow PEER_ID …, or --swarm-key FILE)`)
    case 'UnsupportedListenAddressesError':
    case 'NoValidAddressesError':
      return new UsageError(
        `cannot listen on ${listen.join(', ')}: taken by another process, or no address of this machine; ${firstLine(error)}`
      )
    default:
      return error
  }
}

// Libp2p writes one line per address.
function firstLine(error: Error): string {
  const lines = error.message.split('\n').filter(line => line.trim() !== '')
  return (lines[1] ?? lines[0] ?? '').trim()
}
