import { readFileSync } from 'node:fs'
import { prometheusMetrics } from '@libp2p/prometheus-metrics'
import { Registry } from 'prom-client'
import { afterEach, describe, expect, it } from 'vitest'
import { createReplica, METRICS, NETWORK_DEFAULTS, type Replica, type ReplicaOptions, rollcall } from '../../src/net/libp2p/index.ts'
import { MERGE_HISTOGRAM } from '../../src/net/libp2p/metrics.ts'
import { splitOptions } from '../../src/net/libp2p/options.ts'
import { createTransportNode, roomyNode } from '../support/net/transport-node.ts'
import { until } from '../support/net/until.ts'

const operations = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8')

let replicas: Replica[] = []

afterEach(async () => {
  await Promise.all(replicas.map(one => one.stop()))
  replicas = []
})

async function replica(options: ReplicaOptions = {}): Promise<Replica> {
  const made = await createReplica(options)
  replicas.push(made)
  return made
}

describe('options of the libp2p service', () => {
  it.each([
    [{ bootstrap: ['nonsense'] }, /bootstrap holds "nonsense", allowed are direct multiaddrs/],
    [{ bootstrap: ['/ip4/1.2.3.4/tcp/1/p2p/12D3KooWD3eckifWpRn9wQpMG9R9hX3sD158z7EqHWmweQAJU5SA/p2p-circuit'] }, /bootstrap holds/],
    [{ bootstrap: '/ip4/1.2.3.4/tcp/1' as never }, /bootstrap is \/ip4.*, allowed is an array/],
    [{ allow: 'me' as never }, /allow is me, allowed is an array or a Set/],
    [{ admit: true as never }, /admit is true, allowed is a function/],
    [{ discovery: 1 as never }, /discovery is 1, allowed is true or false/],
    [{ maxLinks: 0 }, /maxLinks is 0, allowed is an integer from 1/],
    [{ dialTimeoutMs: 1.5 }, /dialTimeoutMs is 1.5/],
    [{ transport: {} } as never, /unknown option transport; known are cluster,.*bootstrap/],
    [{ bootsrap: [] } as never, /unknown option bootsrap/]
  ])('%j is refused', (init, message) => {
    expect(() => splitOptions(init)).toThrowError(message)
    expect(() => splitOptions(init)).toThrowError(expect.objectContaining({ code: 'ERR_INVALID_OPTIONS' }))
  })

  it('undefined means the default', () => {
    const { network } = splitOptions({ maxLinks: undefined as never, bootstrap: undefined as never })
    expect(network).toMatchObject({ ...NETWORK_DEFAULTS, admission: {} })
  })

  it('a bad option of the tracker is refused when the node is made', async () => {
    await expect(createReplica({ graceMs: -1 })).rejects.toThrow(/graceMs is -1/)
  })

  it('O6, docs: docs/operations.md has every option of the service with its default', () => {
    const shown = (value: unknown): string => (typeof value === 'number' ? value.toLocaleString('en') : String(value))
    for (const [name, value] of Object.entries(NETWORK_DEFAULTS)) {
      const row = operations.split('\n').find(line => line.startsWith(`| \`${name}\` |`))
      expect(row, name).toContain(Array.isArray(value) ? 'Default: none' : `Default: ${shown(value)}`)
    }
  })

  it('psk: what is no pre-shared key is refused without being shown', async () => {
    const made = createReplica({ psk: 'secret-secret' })
    await expect(made).rejects.toThrow(/psk is no pre-shared key/)
    await expect(made).rejects.not.toThrow(/secret-secret/)
  })
})

describe('the service in a node', () => {
  it('is named, has its capability, and cannot be without identify', async () => {
    const { createLibp2p } = await import('libp2p')
    await expect(createLibp2p({ ...roomyNode(), services: { presence: rollcall() } as never })).rejects.toMatchObject({
      name: 'UnmetServiceDependenciesError',
      message: expect.stringContaining('@libp2p/identify')
    })
    const { presence } = await replica()
    expect(String(presence)).toBe('[object rollcall]')
  })

  it('is started and stopped with the node, again and again', async () => {
    const { node, presence } = await replica()
    expect(presence.isStarted()).toBe(true)
    await node.stop()
    expect(presence.isStarted()).toBe(false)
    await node.start()
    expect(presence.isStarted()).toBe(true)
    presence.connect('user:1')
    await presence.ready
    expect(presence.isOnline('user:1')).toBe(true)
  })

  it('a second one in the same node: is refused, and the first one goes on', async () => {
    const a = await createTransportNode()
    const { Recorder } = await import('../contract/transport-contract.ts')
    await a.transport.start(new Recorder())
    await expect(a.node.handle('/rollcall/1.0.0', () => {})).rejects.toMatchObject({ name: 'DuplicateProtocolHandlerError' })
    await a.transport.stop()
    await a.node.handle('/rollcall/heartbeat/1.0.0', () => {})
    await expect(a.transport.start(new Recorder())).rejects.toMatchObject({ name: 'DuplicateProtocolHandlerError' })
    expect(a.node.getProtocols()).not.toContain('/rollcall/1.0.0')
    expect(a.node.getProtocols()).toContain('/rollcall/heartbeat/1.0.0')
    expect(a.transport.sizes.timers).toBe(0)
    await a.node.stop()
  })
})

describe('metrics', () => {
  it('O1, O2, docs: docs/operations.md lists exactly the metrics that are registered, with their kinds and labels', () => {
    const listed = [...operations.matchAll(/^\| `(rollcall_\w+)(?:\{(\w+)\})?` \| (\w+) \|/gm)].map(([, name, label, kind]) => [
      name,
      label,
      kind
    ])
    const code = METRICS.map(({ name, label, kind }) => [name, label, kind])
    expect(listed.sort()).toEqual([...code, [MERGE_HISTOGRAM, undefined, 'histogram']].sort())
  })

  it('O1, O2: a scrape shows entries, traffic, replicas and lag; counters do not grow by being scraped', async () => {
    const registry = new Registry()
    const a = await replica({ metrics: prometheusMetrics({ registry, collectDefaultMetrics: false }) })
    const b = await replica({ bootstrap: a.addresses() })
    b.presence.connect('user:1').track('room')
    await until('listed', () => a.presence.count('room').keys === 1)
    const value = async (line: string): Promise<number> => {
      const text = await registry.metrics()
      const found = text.split('\n').find(one => one.startsWith(`${line} `))
      return Number(found?.slice(line.length + 1))
    }
    const waitFor = async (line: string, condition: (n: number) => boolean): Promise<void> => {
      for (let tries = 0; !condition(await value(line)); tries++) {
        expect(tries, line).toBeLessThan(500)
        await new Promise(resolve => setTimeout(resolve, 20))
      }
    }
    expect(await value('rollcall_entries')).toBe(2)
    expect(await value('rollcall_links')).toBe(1)
    expect(await value('rollcall_replicas{status="up"}')).toBe(2)
    expect(await value(`rollcall_replica_lag_dots{replica="${b.id}"}`)).toBe(0)
    expect(await value(`rollcall_replica_lag_ms{replica="${b.id}"}`)).toBe(0)
    await waitFor('rollcall_messages_received_total{type="delta"}', n => n > 0)
    await waitFor('rollcall_link_events_total{event="opened"}', n => n === 1)
    await waitFor('rollcall_merge_ms_count', n => n > 0)
    const hellos = 'rollcall_messages_sent_total{type="hello"}'
    const first = await value(hellos)
    expect(first).toBeGreaterThan(0)
    expect([await value(hellos), await value(hellos)]).toEqual([first, first])
    await waitFor('rollcall_messages_sent_total{type="heartbeat"}', n => n >= 3)
    expect(await value('rollcall_link_events_total{event="opened"}')).toBe(1)
    expect(await value('rollcall_hash_mismatches_total')).toBe(0)
    expect(await value('rollcall_tracker{stat="entries"}')).toBe(2)
    expect(await value('rollcall_event_loop_lag_ms')).toBeGreaterThanOrEqual(0)
  })
})
