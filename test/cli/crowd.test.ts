import { describe, expect, test } from 'vitest'
import { Crowd } from '../../src/cli/sim/crowd.ts'
import { Ledger, placeOf } from '../../src/cli/sim/ledger.ts'
import type { Op, WorkerEvents } from '../../src/cli/sim/worker-protocol.ts'

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

function setup(replicas = 3): {
  crowd: Crowd
  ledger: Ledger
  sent: () => (Op & { replica: number })[]
  done: (ops: readonly Op[], atMs: number) => void
} {
  const ledger = new Ledger()
  const crowd = new Crowd({ seed: 1, replicas, ledger })
  for (let replica = 0; replica < replicas; replica++) {
    crowd.setAvailable(replica, true)
  }
  const sent = () => {
    const all = crowd.outbox.flatMap((ops, replica) => ops.map(op => ({ ...op, replica })))
    crowd.outbox.fill([])
    for (let replica = 0; replica < replicas; replica++) {
      crowd.outbox[replica] = []
    }
    return all.sort((a, b) => a.seq - b.seq)
  }
  const done = (ops: readonly Op[], atMs: number) =>
    crowd.heard({ ...NOTHING, didSeqs: ops.map(op => op.seq), didAtMs: ops.map(() => atMs) }, atMs)
  return { crowd, ledger, sent, done }
}

const join = (user: string, topic = 'room') => ({ topic, user, kind: 'join' as const })
const leave = (user: string, topic = 'room') => ({ topic, user, kind: 'leave' as const })
const kinds = (ops: readonly Op[]) => ops.map(op => `${op.kind}${op.topic === undefined ? '' : ` ${op.topic}`}`)

describe('Crowd', () => {
  test('a first join connects, a second one tracks, the last leave closes; the ledger learns when each was done', () => {
    const { crowd, ledger, sent, done } = setup()
    crowd.follow(join('ada'), 100)
    crowd.follow(join('ada', 'hall'), 110)
    const ops = sent()
    expect(kinds(ops)).toEqual(['connect', 'track room', 'track hall'])
    expect(new Set(ops.map(op => op.replica)).size).toBe(1)
    done(ops, 150)
    crowd.follow(leave('ada'), 200)
    crowd.follow(leave('ada', 'hall'), 210)
    const ends = sent()
    expect(kinds(ends)).toEqual(['untrack room', 'close'])
    done(ends, 250)
    expect(ledger.spans.get(placeOf('room', 'ada'))).toMatchObject([{ fromMs: 100, heldMs: 150, endMs: 200, endedMs: 250, how: 'left' }])
    expect(crowd.connectedUsers()).toEqual([])
  })

  test('joins of who is there and leaves of who is not are ignored', () => {
    const { crowd, sent } = setup()
    crowd.follow(leave('ada'), 1)
    crowd.follow(join('ada'), 2)
    crowd.follow(join('ada'), 3)
    expect(kinds(sent())).toEqual(['connect', 'track room'])
  })

  test('its replica dies: the client comes back on another one, with all its topics; what was not confirmed is closed', () => {
    const { crowd, ledger, sent } = setup()
    crowd.follow(join('ada'), 100)
    crowd.follow(join('ada', 'hall'), 100)
    const first = sent()[0]?.replica as number
    crowd.replicaDied(first, 500)
    expect(ledger.spans.get(placeOf('room', 'ada'))).toMatchObject([{ how: 'died', endMs: 500, endedMs: 500 }])
    crowd.tick(599)
    expect(sent()).toEqual([])
    crowd.tick(2_600)
    const back = sent()
    expect(kinds(back)).toEqual(['connect', 'track room', 'track hall'])
    expect(back[0]?.replica).not.toBe(first)
    expect(crowd.replicaOf('ada')).toBe(back[0]?.replica)
  })

  test('a leave that its replica took to the grave ends with it', () => {
    const { crowd, ledger, sent, done } = setup()
    crowd.follow(join('ada'), 100)
    const ops = sent()
    done(ops, 101)
    crowd.follow(leave('ada'), 400)
    crowd.replicaDied(ops[0]?.replica as number, 500)
    expect(ledger.spans.get(placeOf('room', 'ada'))?.[0]).toMatchObject({ endMs: 400, endedMs: 500 })
  })

  test('leaving while between two connections: nothing is dialled, and a later join connects again', () => {
    const { crowd, sent } = setup()
    crowd.follow(join('ada'), 100)
    crowd.replicaDied(sent()[0]?.replica as number, 500)
    crowd.follow(leave('ada'), 550)
    crowd.tick(3_000)
    expect(sent()).toEqual([])
    crowd.follow(join('ada'), 4_000)
    expect(kinds(sent())).toEqual(['connect', 'track room'])
  })

  test('a paused replica: some clients move, and their old socket dies there', () => {
    const { crowd, sent } = setup(2)
    for (let i = 0; i < 100; i++) {
      crowd.follow(join(`user:${i}`), 100)
    }
    sent()
    const before = crowd.usersOn(0).length
    crowd.replicaPaused(0, 1_000)
    crowd.tick(10_000)
    const ops = sent()
    const lost = ops.filter(op => op.kind === 'lost')
    expect(lost.length).toBeGreaterThan(0)
    expect(lost.length).toBeLessThan(before)
    expect(lost.every(op => op.replica === 0)).toBe(true)
    expect(ops.filter(op => op.kind === 'connect').every(op => op.replica === 1)).toBe(true)
    expect(crowd.usersOn(0).length).toBe(before - lost.length)
  })

  test('a connection that ends by itself is a surprise, counted, and dialled again; an older one of the same client is none', () => {
    const { crowd, sent } = setup()
    crowd.follow(join('ada'), 100)
    const connectSeq = sent()[0]?.seq as number
    const ended = (seq: number) => ({ ...NOTHING, ended: [{ user: 'ada', end: 'expired', connectSeq: seq, atMs: 900 }] })
    crowd.heard(ended(connectSeq + 1_000), 900)
    expect(crowd.surprises.size).toBe(0)
    crowd.heard(ended(connectSeq), 900)
    expect(crowd.surprises).toEqual(new Map([['expired', 1]]))
    crowd.tick(5_000)
    expect(kinds(sent())).toEqual(['connect', 'track room'])
  })

  test('nobody to connect to: tried again until somebody is there', () => {
    const { crowd, sent } = setup(1)
    crowd.setAvailable(0, false)
    crowd.follow(join('ada'), 100)
    crowd.tick(5_000)
    expect(sent()).toEqual([])
    crowd.setAvailable(0, true)
    crowd.tick(10_000)
    expect(kinds(sent())).toEqual(['connect', 'track room'])
  })

  test('the same seed sends the same operations', () => {
    const script = () => {
      const { crowd, sent } = setup()
      for (let i = 0; i < 50; i++) {
        crowd.follow(join(`user:${i}`), i)
      }
      crowd.replicaDied(1, 100)
      crowd.tick(3_000)
      return sent()
    }
    expect(script()).toEqual(script())
  })
})
