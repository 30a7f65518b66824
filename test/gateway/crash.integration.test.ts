import { afterEach, expect, it } from 'vitest'
import { type FleetMember, startFleet } from '../support/gateway/gateway-fleet.ts'
import { startLoadBalancer } from '../support/gateway/load-balancer.ts'
import { closeAll } from '../support/gateway/phoenix-client.ts'
import { openRaw } from '../support/gateway/raw-client.ts'
import { SteadyCrowd, startObserver } from '../support/gateway/steady-crowd.ts'
import { until } from '../support/net/until.ts'

const SESSIONS = 50
const TOPIC = 'room:1'

afterEach(closeAll)

it('F3, B2: a replica is killed under 50 clients, who come back to others: nobody sees them go; one who does not come back leaves after the grace', async () => {
  // The grace begins when the replica is judged dead; no outcome depends on its length.
  const replica = { graceMs: 3_000 }
  const { members, bootstrap } = await startFleet(3, { replica })
  const [victim] = members as [FleetMember]
  const balancer = await startLoadBalancer(members.map(({ port }) => port))
  const observer = await startObserver(TOPIC, { bootstrap, ...replica })
  const stranger = await openRaw(`ws://127.0.0.1:${victim.port}/socket`, { user: 'stranger', session: 'stranger' })
  await stranger.request(TOPIC, 'phx_join', { index: SESSIONS })
  const crowd = new SteadyCrowd({ url: balancer.url, topic: TOPIC, sessions: SESSIONS, users: SESSIONS })
  await crowd.settle()
  await until('the observer lists everybody', () => observer.tracker.count(TOPIC).presences === SESSIONS + 1)
  observer.seen.length = 0
  const orphans = balancer.openTo(victim.port)
  expect(orphans).toBeGreaterThan(10)

  await victim.kill()
  await until('the orphans are elsewhere', () => crowd.returned === orphans)
  await crowd.untilBack()
  await crowd.untilAll('sees the stranger go', ({ room }) => !room.keys().includes('stranger'))
  await until('so does the observer', () => observer.seen.length > 0)

  crowd.expectUndisturbed(['leave stranger'])
  expect(observer.seen).toEqual(['leave stranger node-failed'])
  expect(observer.tracker.count(TOPIC).presences).toBe(SESSIONS)
})
