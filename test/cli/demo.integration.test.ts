import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { closeAll } from '../support/gateway/close-all.ts'
import { openRaw } from '../support/gateway/raw-client.ts'
import { CliProcess } from './support/run-cli.ts'

const demo = new CliProcess(['demo', '--plain'])

afterEach(closeAll)
afterAll(() => void demo.child.kill('SIGKILL'))

describe('rollcall demo', () => {
  test('its live page shows all servers and rooms, and stays while they are broken; Ctrl-C ends it with status 0', async () => {
    const [, url] = await demo.printed(/live page at (http:\/\/127\.0\.0\.1:\d+)\n/)
    expect((await fetch(url as string)).headers.get('content-type')).toMatch(/^text\/html/)
    const watcher = await openRaw(`${url?.replace('http', 'ws')}/socket`)
    expect(await watcher.request('rollcall:cluster', 'phx_join')).toMatchObject({ status: 'ok' })
    const statuses = (payload: { replicas: { status: string }[] }): string => payload.replicas.map(({ status }) => status).join()
    const cluster = (holds: (payload: { replicas: { status: string }[]; topics: number }) => boolean, patienceMs?: number) =>
      watcher.next(([, , , event, payload]) => event === 'cluster' && holds(payload), patienceMs)
    await cluster(payload => statuses(payload) === 'up,up,up,up' && payload.topics >= 3)
    expect(await watcher.request('lobby', 'phx_join')).toMatchObject({ status: 'ok' })
    await demo.printed(/is killed, as by kill -9/)
    await cluster(payload => statuses(payload) !== 'up,up,up,up', 30_000)
    await demo.printed(/nobody was shown as leaving\./)
    demo.child.kill('SIGINT')
    const { status, stdout, stderr } = await demo.ended()
    expect([status, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/^starting three servers.*\nlive page at .*\n {2}0:00 {2}Three servers run/)
    expect(stdout.match(/live page/g)).toHaveLength(1)
    expect(stdout).toMatch(/servers? broken on the way: nobody was shown as leaving who was there\n/)
  })
})
