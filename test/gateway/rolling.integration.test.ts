import { afterEach, expect, it } from 'vitest'
import { startFleet } from '../support/gateway/gateway-fleet.ts'
import { startLoadBalancer } from '../support/gateway/load-balancer.ts'
import { closeAll, joinTopic, openClient } from '../support/gateway/phoenix-client.ts'
import { SteadyCrowd, startObserver } from '../support/gateway/steady-crowd.ts'
import { until } from '../support/net/until.ts'

const SESSIONS = 300
const USERS = 270
const TOPIC = 'room:1'

afterEach(closeAll)

it('F3, B2: three replicas restart one after the other under 300 clients whose sessions come back: nobody sees anybody come or go', async () => {
  const { members, bootstrap } = await startFleet(3)
  const balancer = await startLoadBalancer(members.map(({ port }) => port))
  const observer = await startObserver(TOPIC, { bootstrap })
  const crowd = new SteadyCrowd({ url: balancer.url, topic: TOPIC, sessions: SESSIONS, users: USERS })
  await crowd.settle()
  await until('the observer lists everybody', () => observer.tracker.count(TOPIC).presences === SESSIONS)
  observer.seen.length = 0

  for (const { port, terminate, start } of members) {
    expect(balancer.openTo(port)).toBeGreaterThan(0)
    balancer.remove(port)
    await terminate()
    await until('nobody is connected to it', () => balancer.openTo(port) === 0)
    await crowd.untilBack()
    await start()
    balancer.add(port)
  }
  await crowd.untilBack()

  expect(crowd.returned).toBe(SESSIONS)
  crowd.expectUndisturbed()
  expect(observer.seen).toEqual([])
  expect(observer.tracker.count(TOPIC)).toEqual({ keys: USERS, presences: SESSIONS })

  // The quiet was not deafness.
  const newcomer = await joinTopic(openClient(balancer.url, { user: 'newcomer' }), TOPIC)
  await crowd.untilAll('sees the newcomer come', ({ room }) => room.keys().includes('newcomer'))
  await newcomer.leave()
  await crowd.untilAll('sees the newcomer go', ({ room }) => !room.keys().includes('newcomer'))
  crowd.expectUndisturbed(['join newcomer', 'leave newcomer'])
  await until('so does the observer', () => observer.seen.length === 2)
  expect(observer.seen).toEqual(['join newcomer', 'leave newcomer left'])
})
