import { describe, expect, test } from 'vitest'
import { Narrator } from '../../src/cli/demo/narrator.ts'
import { Crowd } from '../../src/cli/sim/crowd.ts'
import { Ledger } from '../../src/cli/sim/ledger.ts'
import { SAW_LEAVE, type WorkerEvents } from '../../src/cli/sim/worker-protocol.ts'

const NOTHING: WorkerEvents = {
  type: 'events',
  didSeqs: [],
  didAtMs: [],
  failures: [],
  topics: [],
  keys: [],
  kinds: [],
  sawAtMs: [],
  judged: [],
  ended: [],
  isolated: [],
  stalls: []
}

function setup() {
  const crowd = new Crowd({ seed: 1, replicas: 3, ledger: new Ledger() })
  for (const replica of [0, 1, 2]) {
    crowd.setAvailable(replica, true)
  }
  const told: string[] = []
  const narrator = new Narrator(crowd, ({ text }) => told.push(text))
  crowd.follow({ topic: 'lobby', user: 'ada', kind: 'join' }, 0)
  const replica = crowd.replicaOf('ada')
  const observers = [0, 1, 2].filter(other => other !== replica)
  const noticed = (observer: number, atMs: number) =>
    narrator.heard(observer, { ...NOTHING, judged: [{ id: 'it', status: 'unknown', atMs }] }, () => replica)
  return { crowd, narrator, told, replica, observers, noticed }
}

describe('Narrator', () => {
  test('a kill: told at once, noticed when all others have, and the return of its people', () => {
    const { crowd, narrator, told, replica, observers, noticed } = setup()
    narrator.begins({ kind: 'kill', replica, atMs: 1_000, untilMs: 5_000 }, observers, 1_000)
    crowd.replicaDied(replica, 1_000)
    noticed(observers[0] as number, 1_300)
    narrator.tick(1_350)
    expect(told).toHaveLength(1)
    expect(told[0]).toMatch(/^[abc] is killed, as by kill -9, and says no goodbye\. It held the connections of 1 person\./)
    noticed(observers[1] as number, 1_600)
    narrator.tick(1_650)
    expect(told[1]).toMatch(/^[abc] and [abc] noticed after 600ms: its people are shown as unknown/)
    crowd.tick(4_000)
    narrator.tick(4_050)
    expect(told[2]).toMatch(/Its people are back, on [abc]\. Same presences as before: nobody was shown as leaving\./)
    expect([narrator.kills, narrator.shownLeaving]).toEqual([1, 0])
  })

  test('who is shown as leaving though he is on his way back is counted', () => {
    const { crowd, narrator, told, replica, observers, noticed } = setup()
    narrator.begins({ kind: 'kill', replica, atMs: 1_000, untilMs: 5_000 }, observers, 1_000)
    crowd.replicaDied(replica, 1_000)
    for (const observer of observers) {
      noticed(observer, 1_100)
    }
    const left = { ...NOTHING, topics: ['lobby'], keys: ['ada'], kinds: [SAW_LEAVE], sawAtMs: [1_500] }
    narrator.heard(observers[0] as number, left, () => -1)
    crowd.tick(4_000)
    narrator.tick(4_050)
    expect(told.at(-1)).toMatch(/Shown as leaving meanwhile: 1 person\./)
    expect(narrator.shownLeaving).toBe(1)
  })

  test('a pause: how long it slept, also when everything else was told before', () => {
    const { narrator, told, replica, observers, noticed } = setup()
    const fault = { kind: 'pause', replica, atMs: 1_000, untilMs: 7_000 } as const
    narrator.begins(fault, observers, 1_000)
    for (const observer of observers) {
      noticed(observer, 5_200)
    }
    narrator.tick(5_300)
    narrator.ends(fault, 7_000, 3)
    expect(told.at(-1)).toMatch(/goes on\. It empties no room for having slept 6s\./)
  })
})
