import { generateKey } from '@libp2p/pnet'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createReplica, type Replica, type ReplicaOptions } from '../../src/net/libp2p/index.ts'
import type { TrackerEventName } from '../../src/tracker/types.ts'
import { type ChildReplica, spawnReplica } from '../support/net/child-replica.ts'
import { keysInOrder } from '../support/net/keys.ts'
import { until } from '../support/net/until.ts'

const LONG = process.env.ROLLCALL_LONG === '1'
const WATCHED: readonly TrackerEventName[] = ['replica:up', 'replica:suspect', 'replica:down', 'replica:diverged', 'isolated', 'error']

let replicas: Replica[] = []
let children: ChildReplica[] = []
const rejections: unknown[] = []
const onRejection = (reason: unknown): void => void rejections.push(reason)

beforeEach(() => {
  rejections.length = 0
  process.on('unhandledRejection', onRejection)
})

afterEach(async () => {
  for (const { child } of children) {
    child.kill('SIGCONT')
    child.kill('SIGKILL')
  }
  await Promise.all(replicas.map(replica => replica.stop()))
  replicas = []
  children = []
  process.off('unhandledRejection', onRejection)
  expect(rejections, 'unhandled rejections').toEqual([])
})

/** A replica and what it told, in order: `join room`, `leave room closed`, `replica:up`. */
async function replica(options: ReplicaOptions = {}): Promise<Replica & { log: string[] }> {
  const made = await createReplica({ cluster: 'test', ...options })
  replicas.push(made)
  const log: string[] = []
  for (const name of WATCHED) {
    made.presence.addEventListener(name, () => void log.push(name))
  }
  made.presence.addEventListener('diff', ({ detail }) => {
    log.push(...detail.joins.map(() => `join ${detail.topic}`), ...detail.leaves.map(({ reason }) => `leave ${detail.topic} ${reason}`))
  })
  return { ...made, log }
}

const bare = (one: Replica): string => (one.addresses()[0] ?? '').replace(/\/p2p\/.*/, '')
const keys = (one: Replica, topic: string): string[] => [...one.presence.list(topic).keys()].sort()
const statusOf = (one: Replica, id: string): string | undefined => one.presence.replicas().find(known => known.id === id)?.status

describe('rollcall over libp2p', () => {
  it('three replicas, of which two know the first one’s bare address: list the same', async () => {
    const a = await replica()
    const b = await replica({ bootstrap: [bare(a)] })
    const c = await replica({ bootstrap: [bare(a)] })
    for (const [i, one] of [a, b, c].entries()) {
      one.presence.connect(`user:${i}`).track('room', { from: i })
    }
    for (const one of [a, b, c]) {
      await until('all three', () => keys(one, 'room').length === 3)
      expect(keys(one, 'room')).toEqual(['user:0', 'user:1', 'user:2'])
      expect(one.presence.get('room', 'user:1')[0]?.meta).toEqual({ from: 1 })
      await until('all up', () => one.presence.replicas().every(({ status }) => status === 'up'))
    }
    await until('a full mesh', () => [a, b, c].every(one => one.presence.stats().transportLinks === 2))
  })

  it('R5: a newcomer: is ready and complete', async () => {
    const a = await replica()
    const connection = a.presence.connect('user:1')
    for (let i = 0; i < 500; i++) {
      connection.track(`room:${i}`, { i })
    }
    const b = await replica({ bootstrap: [bare(a)] })
    await b.presence.ready
    expect(b.presence.partial).toBe(false)
    expect(b.presence.topics().size).toBe(500)
    expect(b.presence.isOnline('user:1')).toBe(true)
  })

  it('pub-B19: stop with announce: the others are told before the links close; leaves come once, and nothing after the goodbye', async () => {
    const a = await replica()
    const b = await replica({ bootstrap: [bare(a)] })
    a.presence.connect('user:1').track('room')
    await until('listed', () => keys(b, 'room').length === 1)
    await a.stop({ announce: true })
    await until('left', () => b.log.includes('leave room node-left'))
    await until('no link', () => b.presence.stats().transportLinks === 0)
    expect(b.log.filter(line => line.startsWith('leave room'))).toEqual(['leave room node-left'])
    expect(a.presence.stats()).toMatchObject({ transportLinks: 0, transportTimers: 0, transportOpening: 0 })
  })

  it('pub-B19: node.stop alone says goodbye as well: held for the grace, then left, without waiting for the detector', async () => {
    const a = await replica({ graceMs: 300 })
    const b = await replica({ bootstrap: [bare(a)] })
    a.presence.connect('user:1').track('room')
    await until('listed', () => keys(b, 'room').length === 1)
    await a.node.stop()
    await until('left', () => b.log.includes('leave room node-left'))
    expect(b.presence.stats().byes).toBe(1)
  })

  it('presence.stop, then start, while the node runs on: takes part again', async () => {
    const a = await replica()
    const b = await replica({ bootstrap: [bare(a)] })
    await until('up', () => statusOf(a, b.id) === 'up')
    await b.presence.stop({ announce: true })
    expect(b.presence.isStarted()).toBe(false)
    await b.presence.start()
    b.presence.connect('user:2').track('room')
    a.presence.connect('user:1').track('room')
    for (const one of [a, b]) {
      await until('both', () => keys(one, 'room').length === 2)
    }
  })

  it('R9: a replica that restarts with its key: supersedes its old incarnation, and who is back within the grace never left', async () => {
    const [key] = await keysInOrder(1)
    const a = await replica()
    const options = { bootstrap: [bare(a)], ...(key !== undefined && { privateKey: key.privateKey }) }
    const b = await replica(options)
    b.presence.connect('user:1', { session: 's1' }).track('room')
    await until('listed', () => keys(a, 'room').length === 1)
    const ref = a.presence.get('room', 'user:1')[0]?.ref
    // The process is gone without a word.
    for (const connection of b.node.getConnections()) {
      connection.abort(new Error('gone'))
    }
    await b.stop()
    const again = await replica(options)
    again.presence.connect('user:1', { session: 's1' }).track('room')
    await until('superseded', () => a.presence.replicas().filter(({ id }) => id === b.id).length === 1 && statusOf(a, b.id) === 'up')
    await until('handed over', () => a.presence.get('room', 'user:1').length === 1)
    expect(a.log.filter(line => line.includes('room'))).toEqual(['join room'])
    expect(a.presence.get('room', 'user:1')[0]?.ref).toBe(ref)
  })

  it('pub-G4, O3: a peer process that stands still: suspect, down, though libp2p holds the connection open; up again when it goes on', async () => {
    const a = await replica({ graceMs: 300 })
    const child = await spawnReplica({ cluster: 'test', bootstrap: [bare(a)], graceMs: 300 })
    children.push(child)
    await until('listed', () => keys(a, 'room').length === 1)
    child.child.kill('SIGSTOP')
    await until('suspect', () => statusOf(a, child.id) === 'suspect')
    expect(a.presence.get('room', 'user:child')[0]?.state).toBe('unknown')
    await until('down', () => statusOf(a, child.id) === 'down')
    await until('its presences left', () => keys(a, 'room').length === 0)
    child.child.kill('SIGCONT')
    await until('up', () => statusOf(a, child.id) === 'up')
    await until('listed again', () => keys(a, 'room').length === 1)
    expect(a.log.filter(line => line.includes('room'))).toEqual(['join room', 'leave room node-failed', 'join room'])
  })

  it('pub-G4: a peer process that stands still for long: its connection is closed by us, and a redial works when it goes on', {
    timeout: 120_000
  }, async () => {
    const a = await replica()
    const child = await spawnReplica({ cluster: 'test', bootstrap: [bare(a)] })
    children.push(child)
    await until('listed', () => keys(a, 'room').length === 1)
    child.child.kill('SIGSTOP')
    await until('closed by us', () => a.presence.stats().transportLinks === 0, 30_000)
    await until('its connection as well', () => a.node.getConnections().length === 0)
    child.child.kill('SIGCONT')
    await until('linked again', () => statusOf(a, child.id) === 'up' && a.presence.stats().transportLinks === 1, 40_000)
    await until('listed', () => keys(a, 'room').length === 1)
  })

  it('F1: a peer process that is killed: unknown at once, as nobody listens any more, and gone after detection and grace', async () => {
    const a = await replica({ graceMs: 300 })
    const child = await spawnReplica({ cluster: 'test', bootstrap: [bare(a)], graceMs: 300 })
    children.push(child)
    await until('listed', () => keys(a, 'room').length === 1)
    child.child.kill('SIGKILL')
    await until('unknown', () => a.presence.get('room', 'user:child')[0]?.state === 'unknown')
    await until('gone', () => keys(a, 'room').length === 0)
    expect(a.log.filter(line => line.includes('room'))).toEqual(['join room', 'leave room node-failed'])
  })

  it(`pub-B21, pub-D4: a newcomer is sent ${LONG ? 50_000 : 10_000} entries in frames, heartbeats share the connection: nobody is suspected`, {
    timeout: 180_000
  }, async () => {
    const count = LONG ? 50_000 : 10_000
    const a = await replica()
    fill(a, count)
    const b = await replica({ bootstrap: [bare(a)] })
    await until('all entries', () => b.presence.stats().entries === a.presence.stats().entries, 120_000)
    await until('all sent', () => b.presence.replicas().every(({ complete }) => complete))
    expect(a.presence.stats()).toMatchObject({ suspicions: 0, downs: 0 })
    expect(b.presence.stats()).toMatchObject({ suspicions: 0, downs: 0, diverged: 0, invalid: 0 })
  })

  it('pub-D4: a transfer that is interrupted in the middle: goes on over the next link, and ends with the same state', {
    timeout: 180_000
  }, async () => {
    const a = await replica()
    fill(a, 10_000)
    const b = await replica({ bootstrap: [bare(a)] })
    await until('some entries', () => (b.presence.stats().entries ?? 0) > 500)
    for (const connection of b.node.getConnections()) {
      connection.abort(new Error('pub-D4'))
    }
    expect(b.presence.stats().entries).toBeLessThan(10_000)
    await until('all entries', () => b.presence.stats().entries === a.presence.stats().entries, 60_000)
    await until('complete', () => b.presence.replicas().every(({ complete }) => complete))
    expect(keys(b, 'room:3')).toEqual(keys(a, 'room:3'))
    expect(b.presence.stats()).toMatchObject({ diverged: 0, invalid: 0 })
  })

  it('pub-D5: a meta of 2 MiB: is refused by track, not lost on the wire', async () => {
    const a = await replica()
    const connection = a.presence.connect('user:1')
    expect(() => connection.track('room', { text: 'x'.repeat(2 * 1024 * 1024) })).toThrow(
      expect.objectContaining({ code: 'ERR_META_TOO_BIG' })
    )
    expect(a.presence.stats().ownEntries).toBe(1)
  })

  it('S4: INV-71: an allow-list: members converge, a stranger of the same cluster name neither learns nor teaches', async () => {
    const [one, two, three] = await keysInOrder(3)
    if (one === undefined || two === undefined || three === undefined) {
      throw new Error('three keys')
    }
    const allow = [two.id, three.id]
    const a = await replica({ allow, privateKey: two.privateKey })
    const b = await replica({ allow, privateKey: three.privateKey, bootstrap: [bare(a)] })
    const stranger = await replica({ privateKey: one.privateKey, bootstrap: [bare(a), bare(b)] })
    stranger.presence.connect('mallory').track('room')
    a.presence.connect('user:1').track('room')
    await until('members converge', () => keys(b, 'room').includes('user:1'))
    await until('the stranger was turned away', () => stranger.presence.stats().transportOpening === 0)
    await stranger.presence.ready
    expect([keys(a, 'room'), keys(b, 'room')]).toEqual([['user:1'], ['user:1']])
    expect(keys(stranger, 'room')).toEqual(['mallory'])
    expect(
      a.presence
        .replicas()
        .map(({ id }) => id)
        .sort()
    ).toEqual([...allow].sort())
  })

  it('S4: INV-71: an origin that is relayed by a member passes the same admission: c, who does not admit b, learns nothing of it through a', async () => {
    const [one, two, three] = await keysInOrder(3)
    if (one === undefined || two === undefined || three === undefined) {
      throw new Error('three keys')
    }
    const a = await replica({ allow: [one.id, two.id, three.id], privateKey: one.privateKey })
    const b = await replica({ allow: [one.id, two.id], privateKey: two.privateKey, bootstrap: [bare(a)] })
    const c = await replica({ allow: [one.id, three.id], privateKey: three.privateKey, bootstrap: [bare(a)] })
    b.presence.connect('user:b').track('room')
    a.presence.connect('user:a').track('room')
    await until('a has both', () => keys(a, 'room').length === 2)
    await until('c has those of a', () => keys(c, 'room').includes('user:a'))
    await c.presence.ready
    expect(keys(c, 'room')).toEqual(['user:a'])
    expect(c.presence.replicas().map(({ id }) => id)).not.toContain(b.id)
  })

  it('S5: a pre-shared key: those who know it converge, beyond loopback too; who does not cannot connect', async () => {
    const [psk, other] = [new Uint8Array(95), new Uint8Array(95)]
    generateKey(psk)
    generateKey(other)
    const a = await replica({ psk, listen: ['/ip4/0.0.0.0/tcp/0'] })
    const address = a.addresses().find(one => one.includes('127.0.0.1')) as string
    const b = await replica({ psk: new TextDecoder().decode(psk), bootstrap: [address] })
    const stranger = await replica({ psk: other, bootstrap: [address] })
    a.presence.connect('user:1').track('room')
    await until('converged', () => keys(b, 'room').length === 1)
    expect(stranger.node.getConnections()).toEqual([])
    expect(a.node.getConnections()[0]?.encryption).toBe('/noise')
  })

  it('a node that listens beyond loopback, and says nothing of admission: is refused with an error that says what to give', async () => {
    await expect(createReplica({ listen: ['/ip4/0.0.0.0/tcp/0'] })).rejects.toMatchObject({
      name: 'AdmissionRequiredError',
      message: expect.stringMatching(/0\.0\.0\.0.*allow.*admit.*connectionProtector/)
    })
  })

  it('mDNS: two replicas that know nothing find each other; one of another cluster is not found', async () => {
    const cluster = `mdns-${process.pid}`
    const a = await replica({ cluster, mdns: true })
    const b = await replica({ cluster, mdns: true })
    const c = await replica({ cluster: `${cluster}-other`, mdns: true })
    a.presence.connect('user:1').track('room')
    await until('found', () => keys(b, 'room').length === 1)
    expect(c.presence.replicas()).toHaveLength(1)
  })

  it('two clusters that share a bootstrap address by mistake: do not mix', async () => {
    const a = await replica()
    const b = await replica({ cluster: 'another', bootstrap: [bare(a)] })
    a.presence.connect('user:1').track('room')
    await b.presence.ready
    expect(keys(b, 'room')).toEqual([])
    expect(a.presence.replicas()).toHaveLength(1)
  })
})

/** Entries of about 500 bytes, a thousand per connection. */
function fill(one: Replica, count: number): void {
  for (let c = 0; c < count / 1_000; c++) {
    const connection = one.presence.connect(`user:${c}`)
    one.presence.batch(() => {
      for (let i = 0; i < 1_000; i++) {
        connection.track(`room:${i % 50}`, { text: `${c}/${i}/${'x'.repeat(480)}` }, { key: `${c}/${i}` })
      }
    })
  }
}
