import { afterEach, describe, expect, it } from 'vitest'
import type { Connection } from '../../src/index.ts'
import { closeAll } from '../support/gateway/close-all.ts'
import type { Json } from '../support/gateway/json.ts'
import { openRaw } from '../support/gateway/raw-client.ts'
import { type ServedGateway, startGateway } from '../support/gateway/serve-gateway.ts'
import { until } from '../support/net/until.ts'
import { type LightClient, openLight } from './unit/light-client.ts'

afterEach(closeAll)

const SOCKETS = 100
const LIMIT_BYTES = 262_144
const TOPICS = Array.from({ length: 10 }, (_, i) => `room:${i}`)
/** Large, so that what the kernels hold on both sides is soon full. */
const FILLING = 'x'.repeat(900)

/** One user who is in all topics, and updates each of them so often, a diff each time. Returns how many bytes waited at most. */
async function update({ gateway }: ServedGateway, busy: Connection, times: number): Promise<number> {
  let mostBytes = 0
  for (let n = 1; n <= times; n++) {
    const before = gateway.stats().diffFlushes ?? 0
    for (const topic of TOPICS) {
      busy.update(topic, { n, filling: FILLING })
    }
    while ((gateway.stats().diffFlushes ?? 0) < before + TOPICS.length) {
      await new Promise(resolve => setTimeout(resolve, 1))
    }
    mostBytes = Math.max(mostBytes, gateway.stats().bufferedBytes ?? 0)
  }
  return mostBytes
}

function enter({ tracker }: ServedGateway): Connection {
  const busy = tracker.connect('busy')
  for (const topic of TOPICS) {
    busy.track(topic, { n: 0, filling: FILLING })
  }
  return busy
}

const payload = (text: string | undefined): Json => JSON.parse(text ?? '[,,,,null]')[4]
const isLevel = (client: LightClient, n: number): boolean =>
  TOPICS.every(topic => payload(client.last(topic, 'presence_diff')).joins.busy.metas[0].n === n)

describe('one who does not read', () => {
  it('pub-D11: of 100 sockets one stops reading for 10,000 diffs: what waits for it is bounded, it gets one snapshot per topic, the others notice nothing', async () => {
    const served = await startGateway({
      gateway: { diffWindowMs: 0, limits: { bufferedBytes: LIMIT_BYTES, slowMs: 600_000 }, interval: { aboveFanOut: 2 ** 31 } }
    })
    const { gateway, tracker } = served
    const busy = enter(served)
    const clients = await Promise.all(Array.from({ length: SOCKETS }, (_, i) => openLight(served.url, `user${i}`, TOPICS)))
    const [slow, ...others] = clients as [LightClient, ...LightClient[]]
    expect(gateway.stats()).toMatchObject({ sockets: SOCKETS, watchers: SOCKETS * TOPICS.length, behind: 0 })
    slow.ws.pause()

    const mostBytes = await update(served, busy, 1_000)
    const snapshots = TOPICS.length * 2_000
    expect(mostBytes).toBeLessThan(LIMIT_BYTES + snapshots)
    expect(gateway.stats()).toMatchObject({ diffFlushes: 10_000, diffEncodes: 10_000, behind: 1, resyncs: 0 })
    await until('the others are level', () => others.every(client => isLevel(client, 1_000)))
    expect(others.every(({ frames, close }) => frames.presence_diff === 10_000 && frames.presence_state === TOPICS.length && !close)).toBe(
      true
    )
    expect(slow.frames.presence_diff ?? 0).toBeLessThan(10_000)

    slow.ws.resume()
    const states = (): number => slow.frames.presence_state ?? 0
    await until('it is given each state anew', () => states() === 2 * TOPICS.length)
    for (const topic of TOPICS) {
      expect(payload(slow.last(topic, 'presence_state')).busy.metas.map(({ n }: { n: number }) => n)).toEqual([1_000])
    }
    expect(gateway.stats()).toMatchObject({ behind: 0, resyncs: TOPICS.length })
    const diffs = slow.frames.presence_diff ?? 0
    expect(diffs).toBeLessThan(10_000)
    await update(served, busy, 1)
    await until('all are level', () => [slow, ...others].every(({ frames }) => (frames.presence_diff ?? 0) >= 1))
    await until('it is told of what comes then', () => slow.frames.presence_diff === diffs + TOPICS.length)
    expect(tracker.list('room:0').size).toBe(1)
    expect(states()).toBe(2 * TOPICS.length)
  })

  it('pub-D11: one that does not read in time is closed, and every registry forgets it', async () => {
    const served = await startGateway({
      gateway: { diffWindowMs: 0, limits: { bufferedBytes: LIMIT_BYTES, slowMs: 500 } },
      trackerOptions: { graceMs: 0 }
    })
    const { gateway, tracker } = served
    const busy = enter(served)
    const honest = await openLight(served.url, 'honest', TOPICS)
    const before = { ...gateway.stats(), ...tracker.stats() }
    const slow = await openLight(served.url, 'slow', TOPICS)
    slow.ws.pause()
    while (gateway.stats()['closed.slow'] !== 1) {
      await update(served, busy, 10)
    }
    await until('nothing is left of it', () => tracker.stats().connections === before.connections)
    const after: Record<string, number> = { ...gateway.stats(), ...tracker.stats() }
    for (const name of ['sockets', 'channels', 'behind', 'feeds', 'watchers', 'connections', 'topicWatches', 'ownEntries'] as const) {
      expect([name, after[name]]).toEqual([name, before[name]])
    }
    slow.ws.resume()
    await until('it is told why, or cut off', () => slow.close !== undefined)
    expect([
      [1013, 'slow'],
      [1006, '']
    ]).toContainEqual([slow.close?.code, slow.close?.reason])
    expect(honest.close).toBeUndefined()
  })

  it('INV-94: one that is in no topic, asks for answers and does not read them is closed as well', async () => {
    const served = await startGateway({
      gateway: { limits: { bufferedBytes: 65_536, slowMs: 300, framesPerSecond: 1_000_000, frameBurst: 1_000_000 } }
    })
    const client = await openRaw(served.url, { user: 'ann' })
    client.stopReading()
    const topic = '\u0001'.repeat(1_000)
    const ask = setInterval(() => {
      for (let i = 0; i < 50; i++) {
        client.send([null, 'x'.repeat(64), topic, 'whatever', {}])
      }
    }, 5)
    await until('it is closed', () => served.gateway.stats()['closed.slow'] === 1)
    clearInterval(ask)
    expect(served.gateway.stats()).toMatchObject({ sockets: 0, bufferedBytes: 0 })
  })
})
