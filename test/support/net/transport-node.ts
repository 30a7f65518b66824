import { noise } from '@chainsafe/libp2p-noise'
import { type Identify, identify } from '@libp2p/identify'
import type { Libp2p } from '@libp2p/interface'
import { tcp } from '@libp2p/tcp'
import { yamux } from '@libp2p/yamux'
import { createLibp2p, type Libp2pOptions } from 'libp2p'
import { type MemberAddress, parseBootstrap } from '../../../src/net/libp2p/addresses.ts'
import { Admission, type AdmissionInit } from '../../../src/net/libp2p/admission.ts'
import type { RollcallComponents } from '../../../src/net/libp2p/components.ts'
import { CONNECT_TIMINGS, type ConnectTimings, type LinkTimings, linkTimings } from '../../../src/net/libp2p/timings.ts'
import { Libp2pTransport } from '../../../src/net/libp2p/transport.ts'
import { createSystemEnvironment, type Environment } from '../../../src/tracker/environment.ts'

export interface TransportNodeOptions {
  readonly bootstrap?: readonly string[]
  readonly admission?: AdmissionInit
  readonly discovery?: boolean
  /** How many times faster verdicts of the hook grow old. Default 1. */
  readonly admissionSpeed?: number
  readonly linkTimings?: Partial<LinkTimings>
  readonly connectTimings?: Partial<ConnectTimings>
  readonly libp2p?: Partial<Libp2pOptions>
}

export interface TransportNode {
  readonly node: Libp2p<{ identify: Identify }>
  readonly transport: Libp2pTransport
  readonly id: string
  /** The first listen address, without the peer id. */
  readonly bare: string
  readonly full: string
}

/** Limits of libp2p that are in the way of several nodes on one host. */
export const roomyNode = (): Libp2pOptions => ({
  addresses: { listen: ['/ip4/127.0.0.1/tcp/0'] },
  transports: [tcp()],
  connectionEncrypters: [noise()],
  streamMuxers: [yamux({ streamOptions: { maxStreamWindowSize: 256 * 1024 } })],
  connectionManager: { inboundConnectionThreshold: 1_000, maxIncomingPendingConnections: 1_000 },
  connectionMonitor: { enabled: false }
})

/** A real node, and a transport on it that is not started. */
export async function createTransportNode(options: TransportNodeOptions = {}): Promise<TransportNode> {
  let transport: Libp2pTransport | undefined
  const environment = createSystemEnvironment()
  const speed = options.admissionSpeed ?? 1
  const hasty: Environment = { ...environment, monotonicMs: () => speed * environment.monotonicMs() }
  const bootstrap: MemberAddress[] = (options.bootstrap ?? []).map(parseBootstrap)
  const rollcall = (components: RollcallComponents): object => {
    transport = new Libp2pTransport(components, {
      admission: new Admission(options.admission ?? {}, components.connectionProtector !== undefined, hasty, 5_000),
      environment,
      bootstrap,
      discovery: options.discovery ?? false,
      maxLinks: 32,
      maxMembers: 1_000,
      forgetAfterMs: 3_600_000,
      linkTimings: { ...linkTimings(1_000), ...options.linkTimings },
      connectTimings: { ...CONNECT_TIMINGS, ...options.connectTimings }
    })
    transport.dial()
    return { stub: true }
  }
  const node = (await createLibp2p({
    ...roomyNode(),
    ...options.libp2p,
    services: { identify: identify(), rollcall } as never
  })) as unknown as Libp2p<{ identify: Identify }>
  const full = node.getMultiaddrs()[0]?.toString() ?? ''
  return {
    node,
    transport: transport as unknown as Libp2pTransport,
    id: node.peerId.toString(),
    bare: full.replace(/\/p2p\/.*/, ''),
    full
  }
}
