import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { DoctorAnswer, NodesAnswer, WhoAnswer } from '../../src/cli/control/answers.ts'
import { createReplica, type Replica } from '../../src/net/libp2p/replica.ts'
import { closeAll } from '../support/gateway/close-all.ts'
import { openRaw, type RawClient } from '../support/gateway/raw-client.ts'
import { until as eventually } from '../support/net/until.ts'
import { CliProcess, type Outcome, runCli } from './support/run-cli.ts'

const state = mkdtempSync(join(tmpdir(), 'rollcall-serve-'))
const cluster = `test-${process.pid}`
let served: CliProcess
/** Holds the clients: `serve` has none of its own. */
let holder: Replica

const rollcall = (...args: string[]): Promise<Outcome> => runCli(args, { ROLLCALL_STATE: state })

async function json<T>(...args: string[]): Promise<T> {
  const outcome = await rollcall(...args, '--json')
  expect(outcome.stderr).toBe('')
  return JSON.parse(outcome.stdout) as T
}

/** Asks until the answer is as wanted; the test's own timeout ends it otherwise. */
async function until<T>(ask: () => Promise<T>, wanted: (answer: T) => boolean): Promise<T> {
  for (;;) {
    const answer = await ask()
    if (wanted(answer)) {
      return answer
    }
  }
}

/** By the gateway of the process. */
async function enter(user: string, topic: string): Promise<RawClient> {
  const [, url] = await served.printed(/clients connect to http:\/\/(\S+)/)
  const client = await openRaw(`ws://${url}`, { user, session: `of ${user}` })
  expect(await client.request(topic, 'phx_join')).toMatchObject({ status: 'ok' })
  return client
}

beforeAll(async () => {
  const flags = ['--cluster', cluster, '--grace', '1s', '--control', '127.0.0.1:0', '--gateway', '127.0.0.1:0']
  served = new CliProcess(['serve', ...flags], { ROLLCALL_STATE: state })
  const [, address] = await served.printed(/--peers (\S+)/)
  holder = await createReplica({ cluster, bootstrap: [address as string], graceMs: 1_000 })
  await until(
    () => json<NodesAnswer>('nodes'),
    answer => answer.nodes.length === 2 && answer.nodes.every(node => node.status === 'up' && node.complete)
  )
})

afterAll(async () => {
  served.child.kill('SIGKILL')
  await closeAll()
  await holder.stop()
  rmSync(state, { recursive: true, force: true })
})

describe('rollcall serve, and the commands', () => {
  test('the control file is its owner’s only, and a second replica of the same name is refused', async () => {
    expect(statSync(join(state, 'main.json')).mode & 0o777).toBe(0o600)
    expect(statSync(join(state, 'main.key')).mode & 0o777).toBe(0o600)
    const second = await rollcall('serve', '--cluster', cluster)
    expect(second.status).toBe(2)
    expect(second.stderr).toMatch(/a replica named "main" runs already .* give this one another --name/)
  })

  test('who, count, topics, user: what a client of another replica did', async () => {
    const connection = holder.presence.connect('ada')
    connection.track('room:1', { device: 'phone' })
    const who = await until(
      () => json<WhoAnswer>('who', 'room:1'),
      answer => answer.presences === 1
    )
    expect(who.list).toMatchObject([{ key: 'ada', user: 'ada', meta: { device: 'phone' }, replica: holder.id, state: 'online' }])
    expect((await rollcall('who', 'room:1')).stdout).toMatch(/ada\s+online .*12D3KooW\S+ +\{"device":"phone"\}\n1 key, 1 presence/)
    expect((await rollcall('count', 'room:1')).stdout).toBe('1 key, 1 presence\n')
    expect((await rollcall('topics', 'room:')).stdout).toMatch(/room:1\s+1\s+1/)
    expect((await rollcall('topics', 'hall:')).stdout).toBe('nobody is in a topic that begins with hall:\n')
    expect((await rollcall('user', 'ada')).stdout).toMatch(/^ada is online by 1 connection\n/)
    expect((await rollcall('nodes')).stdout).toMatch(/\(this\)\s+up/)
    connection.close()
  })

  test('watch: comings and goings as they happen; ends with status 0 on Ctrl-C', async () => {
    const watching = new CliProcess(['watch', 'room:2'], { ROLLCALL_STATE: state })
    await watching.printed(/room:2: 0 presences/)
    const connection = holder.presence.connect('ben')
    connection.track('room:2', { mood: 'fine' })
    await watching.printed(/\+ ben \{"mood":"fine"\}/)
    connection.update('room:2', { mood: 'better' })
    await watching.printed(/\* ben \(mood\) \{"mood":"better"\}/)
    connection.close()
    await watching.printed(/- ben \(closed\)/)
    watching.child.kill('SIGINT')
    expect((await watching.ended()).status).toBe(0)
  })

  test('doctor: why a user is online, by which replica, heard how long ago', async () => {
    const connection = holder.presence.connect('cleo')
    connection.track('room:3')
    const answer = await until(
      () => json<DoctorAnswer>('doctor', 'cleo'),
      ({ user }) => user?.presences.length === 1
    )
    expect(answer.user?.why).toBe(`cleo is online by 1 connection, with 1 presence held by ${holder.id}`)
    expect(answer.user?.presences).toMatchObject([{ topic: 'room:3', replica: holder.id, replicaStatus: 'up' }])
    expect((await rollcall('doctor')).stdout).toMatch(/event loop {3}p50/)
    connection.close()
  })

  test('forget an unknown replica: status 1, with where to look', async () => {
    const outcome = await rollcall('forget', 'nobody')
    expect(outcome).toMatchObject({ status: 1, stdout: 'nobody is not known here; rollcall nodes lists those that are\n' })
  })

  test('the gateway: its page’s address is printed and stands in the control file; its clients are seen everywhere', async () => {
    const [, url] = await served.printed(/live page at (\S+), clients connect to/)
    expect(JSON.parse(readFileSync(join(state, 'main.json'), 'utf8'))).toMatchObject({ gateway: url })
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
    const client = await enter('dora', 'room:4')
    await eventually('dora is seen by the other replica', () => holder.presence.count('room:4').presences === 1)
    expect((await rollcall('who', 'room:4')).stdout).toMatch(/dora\s+online/)
    client.terminate()
  })

  test('SIGTERM: sends clients elsewhere, where they come back unnoticed; stops with status 0, and its file is gone', async () => {
    const client = await enter('emil', 'room:5')
    await eventually('emil is seen by the other replica', () => holder.presence.get('room:5', 'emil').length === 1)
    const left: unknown[] = []
    holder.presence.addEventListener('diff', ({ detail }) => left.push(...(detail.topic === 'room:5' ? detail.leaves : [])))
    served.child.kill('SIGTERM')
    expect((await client.closed()).code).toBe(1012)
    holder.presence.connect('emil', { session: 'of emil' }).track('room:5')
    const { status, stdout } = await served.ended()
    expect(status).toBe(0)
    expect(stdout).toMatch(/SIGTERM: stopping, presences leave at once\n.*sending 1 client elsewhere\n.*stopped\n$/)
    expect(holder.presence.get('room:5', 'emil')).toMatchObject([{ replica: holder.id, state: 'online' }])
    expect(left).toEqual([])
    expect(() => statSync(join(state, 'main.json'))).toThrow()
    expect((await rollcall('nodes')).status).toBe(3)
  })
})
