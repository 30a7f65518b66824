import { freePort } from '../../../src/cli/sim/ports.ts'
import { type LinkMode, LinkProxy } from '../../../src/cli/sim/proxy.ts'
import { createReplica, type Replica, type ReplicaOptions } from '../../../src/net/libp2p/index.ts'
import { until } from '../net/until.ts'
import { closeLater } from './close-all.ts'
import { type ServedGateway, startGateway } from './serve-gateway.ts'

export interface SplitPair {
  readonly members: readonly [ServedGateway, ServedGateway]
  /** From now on nothing gets through between the two, either way; links stay open, as in a network that loses everything. */
  split(): Promise<void>
  /** The links break, what was on its way is lost, and the two may dial again. */
  heal(): Promise<void>
}

/** Two replicas with gateways, whose links go through proxies. */
export async function startSplitPair(options: ReplicaOptions): Promise<SplitPair> {
  const proxies = [await startProxy(), await startProxy()] as const
  const first = await startBehind(proxies[0], options)
  const second = await startBehind(proxies[1], { ...options, bootstrap: first.addresses() })
  for (const { presence } of [first, second]) {
    await until('the two know each other', () => {
      const known = presence.replicas()
      return known.length === 2 && known.every(({ status, complete }) => status === 'up' && complete)
    })
  }
  const setMode = async (mode: LinkMode): Promise<void> => void (await Promise.all(proxies.map(proxy => proxy.setMode(mode))))
  return {
    members: [await startGateway({ tracker: first.presence }), await startGateway({ tracker: second.presence })],
    split: () => setMode('blackhole'),
    async heal() {
      await setMode('cut')
      await setMode('open')
    }
  }
}

async function startProxy(): Promise<LinkProxy> {
  const proxy = new LinkProxy()
  await proxy.start()
  closeLater(() => proxy.stop())
  return proxy
}

/** Others are told the proxy's address only. */
async function startBehind(proxy: LinkProxy, options: ReplicaOptions): Promise<Replica> {
  const port = await freePort()
  const address = (at: number): string => `/ip4/127.0.0.1/tcp/${at}`
  const replica = await createReplica({ cluster: 'test', ...options, listen: [address(port)], announce: [address(proxy.port)] })
  closeLater(() => replica.stop())
  await proxy.retarget(port)
  return replica
}
