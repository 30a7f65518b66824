import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { DoctorAnswer, NodesAnswer, StatusAnswer, TopicsAnswer, UserAnswer, WhoAnswer } from '../../src/cli/control/answers.ts'
import { ControlClient, locate } from '../../src/cli/control/client.ts'
import { examine, type Readings } from '../../src/cli/control/doctor.ts'
import { Endpoints } from '../../src/cli/control/endpoints.ts'
import { ControlServer } from '../../src/cli/control/server.ts'
import { readControlFile, removeControlFile, writeControlFile } from '../../src/cli/state-directory.ts'
import { createTracker } from '../../src/tracker/tracker.ts'
import type { ReplicaInfo, Tracker, WatchEvent } from '../../src/tracker/types.ts'

let tracker: Tracker
let server: ControlServer
let url: string
let client: ControlClient

beforeEach(async () => {
  tracker = createTracker({ graceMs: 0 })
  await tracker.start()
  await tracker.ready
  const endpoints = new Endpoints({ tracker, cluster: 'test', addresses: [], stop: () => tracker.stop() })
  server = new ControlServer({ listen: { host: '127.0.0.1', port: 0 }, token: 'secret', endpoints })
  url = await server.start()
  client = new ControlClient({ url, token: 'secret' }, 5_000)
})

afterEach(async () => {
  await server.stop()
  await tracker.stop()
})

describe('control API', () => {
  test('status and nodes: this replica, ready, up', async () => {
    const status = await client.ask<StatusAnswer>('GET', '/v1/status')
    expect(status).toMatchObject({ replica: tracker.id, cluster: 'test', pid: process.pid, ready: true, partial: false, draining: false })
    expect(status.gateway).toBeNull()
    const nodes = await client.ask<NodesAnswer>('GET', '/v1/nodes')
    expect(nodes).toMatchObject({ self: tracker.id, nodes: [{ id: tracker.id, status: 'up' }] })
  })

  test('topics, who, count and user: what the tracker lists, in pages', async () => {
    for (const user of ['ada', 'ben', 'cleo']) {
      tracker.connect(user).track('room/1?&#', { from: user })
    }
    tracker.connect('ada').track('hall')
    expect(await client.ask<TopicsAnswer>('GET', '/v1/topics')).toEqual({
      topics: [
        { topic: 'hall', keys: 1, presences: 1 },
        { topic: 'room/1?&#', keys: 3, presences: 3 }
      ],
      cursor: null
    })
    const first = await client.ask<WhoAnswer>('GET', '/v1/who', { topic: 'room/1?&#', limit: '2' })
    expect([first.list.map(presence => presence.key), first.keys, first.cursor]).toEqual([['ada', 'ben'], 3, 'ben'])
    const second = await client.ask<WhoAnswer>('GET', '/v1/who', { topic: 'room/1?&#', limit: '2', cursor: 'ben' })
    expect([second.list.map(presence => presence.meta), second.cursor]).toEqual([[{ from: 'cleo' }], null])
    expect(await client.ask('GET', '/v1/count', { topic: 'hall' })).toEqual({ topic: 'hall', keys: 1, presences: 1 })
    const user = await client.ask<UserAnswer>('GET', '/v1/user', { user: 'ada' })
    expect(user).toMatchObject({ user: 'ada', online: true, connections: 2 })
    expect(user.presences.map(presence => presence.topic).sort()).toEqual(['hall', 'room/1?&#'])
  })

  test('watch: a snapshot, then diffs, until the watcher goes', async () => {
    const stop = new AbortController()
    const events = client.stream<WatchEvent>('/v1/watch', { topic: 'room' }, stop.signal)
    expect((await events.next()).value).toMatchObject({ type: 'snapshot', topic: 'room', presences: [] })
    const connection = tracker.connect('ada')
    connection.track('room')
    expect((await events.next()).value).toMatchObject({ type: 'diff', joins: [{ key: 'ada' }] })
    connection.close()
    expect((await events.next()).value).toMatchObject({ type: 'diff', leaves: [{ reason: 'closed' }] })
    stop.abort()
    expect((await events.next()).done).toBe(true)
  })

  test('watch: the end of the server ends the stream', async () => {
    const events = client.stream<WatchEvent>('/v1/watch', { topic: 'room' }, new AbortController().signal)
    await events.next()
    const next = events.next().catch(error => error)
    await server.stop()
    const outcome = await next
    expect(outcome.done === true || outcome.name === 'UnreachableError').toBe(true)
  })

  test('kick ends the connections of a user; drain refuses new ones, and readyz says so', async () => {
    const connection = tracker.connect('ada')
    expect(await client.ask('POST', '/v1/kick', { user: 'ada' })).toEqual({ user: 'ada', kicked: 1 })
    expect(connection.open).toBe(false)
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
    expect(await client.ask('POST', '/v1/drain')).toEqual({ draining: true })
    expect(() => tracker.connect('ben')).toThrow(expect.objectContaining({ code: 'ERR_NOT_ACCEPTING' }))
    expect((await fetch(`${url}/readyz`)).status).toBe(503)
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
  })

  test('forget: not itself; an unknown one is not an error', async () => {
    await expect(client.ask('POST', '/v1/forget', { replica: tracker.id })).rejects.toMatchObject({ code: 'ERR_FORGET_SELF' })
    expect(await client.ask('POST', '/v1/forget', { replica: 'nobody' })).toEqual({ replica: 'nobody', forgotten: false })
  })

  test('mistakes are answered with a code and what is allowed', async () => {
    await expect(client.ask('GET', '/v1/nothing')).rejects.toThrow(/there is no GET \/v1\/nothing; there are GET \/v1\/status/)
    await expect(client.ask('POST', '/v1/nodes')).rejects.toMatchObject({ code: 'ERR_NO_ENDPOINT' })
    await expect(client.ask('GET', '/v1/who')).rejects.toMatchObject({ code: 'ERR_MISSING_PARAMETER' })
    await expect(client.ask('GET', '/v1/who', { topic: 'x', limit: 'many' })).rejects.toThrow(/limit is many, allowed is a whole number/)
    await expect(client.ask('POST', '/v1/kick', { user: '' })).rejects.toMatchObject({ name: 'CommandError', exitCode: 1 })
  })
})

describe('control API: who may', () => {
  test('no token, or a wrong one: 401, and nothing is told', async () => {
    for (const token of ['', 'secreT', 'secret2', 'x'.repeat(100)]) {
      await expect(new ControlClient({ url, token }, 5_000).ask('GET', '/v1/status')).rejects.toMatchObject({ code: 'ERR_TOKEN' })
    }
  })

  test('a Host header of another name: 403, as a page that rebinds its name to the loopback would send', async () => {
    const { port } = new URL(url)
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const headers = { host: 'evil.example', authorization: 'Bearer secret' }
      request({ port, host: '127.0.0.1', path: '/v1/status', headers }, response => {
        response.resume()
        resolve(response.statusCode)
      })
        .on('error', reject)
        .end()
    })
    expect(status).toBe(403)
  })

  test('not on an address that others can reach', () => {
    const endpoints = new Endpoints({ tracker, cluster: 'test', addresses: [], stop: () => tracker.stop() })
    expect(() => new ControlServer({ listen: { host: '0.0.0.0', port: 0 }, token: 'x', endpoints })).toThrow(/allowed are 127\.0\.0\.1/)
    endpoints.stop()
  })

  test('a port that is taken: said as such, or another one where nobody asked for it', async () => {
    const listen = { host: '127.0.0.1', port: Number(new URL(url).port) }
    const endpoints = new Endpoints({ tracker, cluster: 'test', addresses: [], stop: () => tracker.stop() })
    await expect(new ControlServer({ listen, token: 'x', endpoints }).start()).rejects.toThrow(
      /is taken by another process; give another port/
    )
    const other = new ControlServer({ listen, token: 'x', endpoints, anyPortInstead: true })
    expect(await other.start()).not.toBe(url)
    await other.stop()
  })
})

describe('locate', () => {
  const state = mkdtempSync(join(tmpdir(), 'rollcall-state-'))
  const none = { control: undefined, token: undefined, state, name: 'a' }
  const file = { url: 'http://127.0.0.1:7999', token: 't', pid: process.pid, replica: 'r', cluster: 'c', startedAt: 1 }

  afterEach(() => rmSync(state, { recursive: true, force: true }))

  test('by name: the control file, which only its owner can read', () => {
    const path = writeControlFile(state, 'a', file)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(locate(none)).toEqual({ url: file.url, token: 't' })
    expect(locate({ ...none, token: 'mine' })).toEqual({ url: file.url, token: 'mine' })
    expect(locate({ ...none, control: '127.0.0.1:7999', name: 'b' })).toEqual({ url: file.url, token: 't' })
  })

  test('nobody there, or a file left behind by a dead process: says so, and who is there', () => {
    expect(() => locate(none)).toThrow(/no replica named "a" runs on this machine; start one with: rollcall serve/)
    writeControlFile(state, 'a', { ...file, pid: 2 ** 22 + 1 })
    expect(() => locate(none)).toThrow(/no replica named "a"/)
    writeControlFile(state, 'b', file)
    expect(() => locate(none)).toThrow(/running here: b \(choose with --name\)/)
    expect(() => locate({ ...none, control: '127.0.0.1:1' })).toThrow(/no token for http:\/\/127\.0\.0\.1:1/)
    expect(() => locate({ ...none, control: 'nonsense' })).toThrow(/--control is nonsense, allowed is HOST:PORT/)
  })

  test('the file is removed by the process that wrote it only', () => {
    writeControlFile(state, 'a', { ...file, pid: process.pid + 1 })
    removeControlFile(state, 'a', process.pid)
    expect(readControlFile(state, 'a')).toBeDefined()
    removeControlFile(state, 'a', process.pid + 1)
    expect(readControlFile(state, 'a')).toBeUndefined()
  })

  test('nobody listens: unreachable, with what to do', async () => {
    const gone = new ControlClient({ url: 'http://127.0.0.1:1', token: 'x' }, 2_000)
    await expect(gone.ask('GET', '/v1/status')).rejects.toMatchObject({ name: 'UnreachableError', exitCode: 3 })
  })
})

describe('doctor', () => {
  const readings = (more: Partial<Readings> = {}): Readings => ({
    status: {
      replica: tracker.id,
      cluster: 'test',
      incarnation: 1,
      addresses: [],
      pid: 1,
      node: 'v26',
      uptimeMs: 1,
      ready: true,
      partial: false,
      draining: false,
      gateway: null
    },
    loop: { p50Ms: 1, p99Ms: 2, maxMs: 3 },
    clock: { wallMs: Date.now(), steppedMs: 0 },
    ...more
  })
  const peer = (more: Partial<ReplicaInfo>): ReplicaInfo => ({
    id: 'peer',
    incarnation: 1,
    status: 'up',
    phi: 0,
    head: 5,
    lagMs: 0,
    complete: true,
    silentMs: 100,
    hash: '0000000000000000',
    agrees: true,
    ...more
  })
  const withNodes = (...nodes: ReplicaInfo[]): Tracker =>
    new Proxy(tracker, {
      get: (target, name) => {
        const value = name === 'replicas' ? () => nodes : Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      }
    })

  test('all is well: says so', () => {
    expect(examine(tracker, readings()).findings).toEqual([{ severity: 'ok', what: 'nothing is wrong', advice: '' }])
  })

  test('each trouble is named, with what to do', () => {
    const found = (given: DoctorAnswer) => given.findings.map(({ what }) => what).join('\n')
    expect(found(examine(withNodes(peer({ status: 'down', silentMs: 60_000, phi: 40 })), readings()))).toMatch(
      /peer is down: not heard for 1m \(phi 40\.0\)/
    )
    expect(found(examine(withNodes(peer({ lagMs: 5_000 })), readings()))).toMatch(/events of peer are missing here for 5s/)
    expect(found(examine(withNodes(peer({ complete: false })), readings()))).toMatch(/state of peer is still being transferred/)
    expect(found(examine(tracker, readings({ loop: { p50Ms: 1, p99Ms: 2, maxMs: 900 } })))).toMatch(/event loop was late by up to 900ms/)
    expect(found(examine(tracker, readings({ clock: { wallMs: Date.now(), steppedMs: -3_600_000 } })))).toMatch(/wall clock moved by -1h/)
    const status = { ...readings().status, ready: false, draining: true, partial: true }
    expect(found(examine(tracker, readings({ status })))).toMatch(/not ready[\s\S]*without the state of every replica[\s\S]*drains/)
  })

  test('a presence from the future: its owner’s clock is ahead', () => {
    tracker.connect('ada').track('room')
    const past = { wallMs: Date.now() - 60_000, steppedMs: 0 }
    expect(examine(tracker, readings({ clock: past })).findings[0]?.what).toMatch(/the wall clock of .* is at least (1m|59\.\ds) ahead/)
  })

  test('why is a user online: connections, owner, last proof of life; and offline since when', async () => {
    const connection = tracker.connect('ada')
    expect(examine(tracker, readings(), 'ada').user?.why).toBe('ada is online by 1 connection in no topic')
    connection.track('room')
    const { user } = examine(tracker, readings(), 'ada')
    expect(user?.why).toBe(`ada is online by 1 connection, with 1 presence held by ${tracker.id}`)
    expect(user?.presences).toMatchObject([{ topic: 'room', key: 'ada', replicaStatus: 'up', state: 'online', provenMsAgo: 0 }])
    expect(examine(tracker, readings(), 'eve').user?.why).toBe('eve is offline and was not seen here')
  })
})
