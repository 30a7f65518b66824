import { describe, expect, it } from 'vitest'
import { createRandom } from '../../src/tracker/environment.ts'
import { Member } from '../../src/tracker/membership/member.ts'
import { newIncarnation } from '../../src/tracker/membership.ts'
import type { Heartbeat, Message } from '../../src/tracker/messages.ts'
import { resolveOptions } from '../../src/tracker/options.ts'
import { type Node, names, World } from '../support/cluster-harness.ts'

const DAY_MS = 86_400_000

const eventsOf = (node: Node, id: string): string[] =>
  node.log
    .filter(event => event.name.startsWith('replica:') && event.id === id)
    .map(event => `${event.name.slice(8)} ${String(event.incarnation)}`)

const timeOf = (node: Node, name: string, from = 0): number =>
  node.log.find(event => event.name === name && event.atMs >= from)?.atMs ?? Number.NaN

describe('membership: detection', () => {
  it('F1: SIGKILL, the socket closes: unknown within a second, down by silence, hidden a grace later', () => {
    const world = new World()
    const [a, b] = world.mesh('a', 'b') as [Node, Node]
    b.track('x')
    world.run(5_000)
    const killedMs = world.clock.nowMs
    world.kill(b)
    world.run(1_000)
    expect(a.certainties.get('b')).toBe('unknown')
    world.run(30_000)
    expect(eventsOf(a, 'b').map(event => event.split(' ')[0])).toEqual(['up', 'suspect', 'down'])
    expect(timeOf(a, 'replica:down') - killedMs).toBeLessThan(10_000)
    expect(timeOf(a, 'hide') - timeOf(a, 'replica:down')).toBeGreaterThanOrEqual(15_000)
    expect(timeOf(a, 'hide') - timeOf(a, 'replica:down')).toBeLessThan(15_500)
    expect(a.list()).toEqual([])
    expect(a.cluster.isHidden(b.self)).toBe(true)
    expect(a.cluster.isolated).toBe(false)
  })

  it('F1: the host is gone without a word: suspect within 6 s, leaves within 10 s and a grace', () => {
    const world = new World()
    const [a, b] = world.mesh('a', 'b') as [Node, Node]
    world.run(5_000)
    const killedMs = world.clock.nowMs
    world.kill(b, 'silent')
    world.run(30_000)
    expect(timeOf(a, 'replica:suspect') - killedMs).toBeLessThanOrEqual(6_000)
    expect(timeOf(a, 'hide') - killedMs).toBeLessThanOrEqual(25_000)
  })

  it('a refused dial: is suspect at once; a closed link that is opened again in time is not', () => {
    const world = new World()
    const [a] = world.mesh('a', 'b') as [Node, Node]
    world.run(5_000)
    world.unlink('a', 'b')
    world.run(200)
    world.link('a', 'b')
    world.run(3_000)
    expect(a.stat('suspicions')).toBe(0)
    world.unlink('a', 'b')
    world.refuse('a', 'b')
    expect(a.status('b')).toBe('suspect')
  })

  it('pub-B2: a peer that stands still for 3 s: no leave, and it is up again', () => {
    const world = new World()
    const [a, b] = world.mesh('a', 'b') as [Node, Node]
    b.track('x')
    world.run(10_000)
    b.process.pause()
    world.run(3_000)
    b.process.resume()
    world.run(30_000)
    expect(a.logged('hide')).toEqual([])
    expect(a.status('b')).toBe('up')
    expect(b.stat('suspicions')).toBe(0)
  })

  it('pub-B22: this process sleeps for a minute: nobody is judged for it', () => {
    const world = new World()
    const [a, b, c] = world.mesh('a', 'b', 'c') as [Node, Node, Node]
    b.track('x')
    c.track('y')
    world.run(10_000)
    a.process.pause()
    world.run(60_000)
    a.process.resume()
    world.run(30_000)
    expect(a.stat('suspicions')).toBe(0)
    expect(a.list()).toEqual(['x', 'y'])
    expect(b.status('a')).toBe('up')
  })

  it('this process sleeps, and nothing of that time is waiting for it: the sleep is taken off every silence and every grace', () => {
    const world = new World()
    const [a, b, c] = world.mesh('a', 'b', 'c') as [Node, Node, Node]
    c.track('x')
    world.run(10_000)
    world.kill(c)
    const again = world.start('c')
    world.link('c', 'a')
    world.link('c', 'b')
    world.run(5_000)
    expect(a.list()).toEqual(['x'])
    for (const id of ['b', 'c']) {
      world.cut('a', id)
    }
    a.process.pause()
    world.run(30_000)
    for (const id of ['b', 'c']) {
      world.heal('a', id)
    }
    a.process.resume()
    const suspicions = a.stat('suspicions')
    world.run(8_000)
    expect(a.list()).toEqual(['x'])
    world.run(8_000)
    expect(a.list()).toEqual([])
    expect(a.stat('suspicions')).toBe(suspicions)
    expect([b.status('c'), again.status('b')]).toEqual(['up', 'up'])
  })

  it('L5: the wall clock jumps an hour each way: no decision changes', () => {
    const world = new World()
    const [a, b] = world.mesh('a', 'b') as [Node, Node]
    b.track('x')
    world.run(5_000)
    a.process.shiftWallClock(3_600_000)
    world.run(5_000)
    a.process.shiftWallClock(-7_200_000)
    world.run(60_000)
    expect(a.stat('suspicions') + b.stat('suspicions')).toBe(0)
  })

  it('pub-B3: one heartbeat by five paths is one sample: a late one is forgiven as before', () => {
    const world = new World()
    const nodes = world.line('a', 'b')
    for (const id of ['d', 'e', 'c']) {
      nodes.push(world.start(id))
    }
    for (const id of ['d', 'e']) {
      world.link('a', id)
      world.link(id, 'c')
    }
    world.link('b', 'c')
    const [a] = nodes as [Node]
    world.run(60_000)
    expect(a.status('c')).toBe('up')
    // Once more by every path, each heartbeat: nothing changes.
    for (let i = 0; i < 20; i++) {
      world.run(1_000)
      const relayed = world.frames('heartbeat', frame => frame.to === 'a').map(frame => frame.message as Heartbeat)
      const newest = relayed
        .flatMap(heartbeat => heartbeat.relayed)
        .filter(one => one.replica.id === 'c')
        .at(-1)!
      for (const via of ['b', 'd', 'e']) {
        const last = relayed.filter(heartbeat => heartbeat.replica.id === via).at(-1)!
        world.inject(via, 'a', { ...last, counter: last.counter, relayed: [newest] })
      }
    }
    const nowMs = world.clock.nowMs
    for (const via of ['b', 'd', 'e']) {
      world.hold('c', via)
    }
    world.run(1_800)
    expect(world.clock.nowMs - nowMs).toBe(1_800)
    expect(a.stat('suspicions')).toBe(0)
  })

  it('pub-B4: old heartbeats of a dead replica trickle through a relay: it is down as soon as without', () => {
    const world = new World()
    const [a, , c] = world.mesh('a', 'b', 'c') as [Node, Node, Node]
    world.run(10_000)
    const held = world.hold('c', 'b')
    world.run(20_000)
    const atMs = world.clock.nowMs
    world.kill(c, 'silent')
    world.direction('c', 'b').mode = 'hold'
    while (held.length > 0) {
      world.deliver('c', 'b')
      world.run(1_000)
    }
    expect(timeOf(a, 'replica:down', atMs) - atMs).toBeLessThan(8_000)
  })

  it('pub-B5: after an outage of a minute the next silence is found as soon as before', () => {
    const detection = (outage: boolean): number => {
      const world = new World()
      const [a] = world.mesh('a', 'b') as [Node]
      world.run(100_000)
      if (outage) {
        world.cut('a', 'b')
        world.run(60_000)
        world.heal('a', 'b')
        world.run(5_000)
      }
      const atMs = world.clock.nowMs
      world.cut('a', 'b')
      world.run(20_000)
      return timeOf(a, 'replica:down', atMs) - atMs
    }
    const [without, afterOutage] = [detection(false), detection(true)]
    expect(afterOutage).toBeGreaterThan(without * 0.6)
    expect(afterOutage).toBeLessThan(without * 1.4)
  })

  it('pub-B6: INV-33: state and digests make nobody up, nor does a first relayed heartbeat; the second, higher one does', () => {
    const world = new World()
    const [a, b] = world.line('a', 'b') as [Node, Node]
    const c = world.start('c')
    c.track('x')
    world.link('b', 'c')
    world.run(300)
    world.hold('b', 'a')
    world.run(10)
    const entry = { replica: c.self, shard: 0, head: 1, hash: c.map.record(c.self)!.hash, floor: 0, graceMs: 15_000 }
    world.inject('b', 'a', { type: 'digest', entries: [entry], unreached: [], reply: false })
    world.inject('b', 'a', { type: 'delta', intervals: [c.map.serve({ replica: c.self, shard: 0, head: 0, cursor: null })!], answer: true })
    expect(a.list()).toEqual(['x'])
    expect(a.status('c')).toBe('suspect')
    expect(a.certainties.get('c')).toBe('unknown')
    const beat = (counter: number, own: number): Message => ({
      type: 'heartbeat',
      replica: b.self,
      counter: own,
      ageMs: 0,
      head: 0,
      hash: { high: 0, low: 0 },
      digestHash: 0,
      relayed: [{ replica: c.self, counter, ageMs: 10 }]
    })
    world.inject('b', 'a', beat(7, 101))
    world.inject('b', 'a', beat(7, 102))
    expect(a.status('c')).toBe('suspect')
    world.inject('b', 'a', beat(8, 103))
    expect(a.status('c')).toBe('up')
    expect(a.certainties.get('c')).toBe('online')
  })

  it('pub-B7: permdown comes exactly at its time after the first silence, however often it is evaluated', () => {
    const world = new World({ options: { permdownAfterMs: 60_000 } })
    const [a, b] = world.mesh('a', 'b') as [Node, Node]
    world.run(5_000)
    const lastMs = Math.max(...world.frames('heartbeat', frame => frame.from === 'b').map(frame => frame.sentMs)) + 5
    world.kill(b, 'silent')
    for (let i = 0; i < 1_000; i++) {
      world.run(50)
      a.cluster.tick(a.process.monotonicMs())
    }
    world.run(30_000)
    const at = timeOf(a, 'replica:permdown')
    expect(at - lastMs).toBeGreaterThanOrEqual(60_000)
    expect(at - lastMs).toBeLessThanOrEqual(60_250)
    expect(a.map.record(b.self)).toBeUndefined()
    expect(a.cluster.isForgotten(b.self)).toBe(true)
  })

  it('pub-B10: a newcomer hears nothing of one that all others hold down', () => {
    const world = new World()
    const [a, , c] = world.mesh('a', 'b', 'c') as [Node, Node, Node]
    c.track('x')
    world.run(2_000)
    world.kill(c)
    world.run(30_000)
    expect(a.status('c')).toBe('down')
    const d = world.start('d')
    world.link('d', 'a')
    world.link('d', 'b')
    world.run(10_000)
    expect(d.list()).toEqual([])
    expect(
      d.cluster
        .replicas()
        .map(replica => replica.id)
        .sort()
    ).toEqual(['a', 'b', 'd'])
  })

  it("pub-C17: one link of three is cut: that is one replica's view, and nobody else sees a leave", () => {
    const world = new World({ options: { graceMs: 2_000 } })
    const [a, b, c] = world.mesh('a', 'b', 'c') as [Node, Node, Node]
    c.track('x')
    world.run(5_000)
    world.cut('a', 'c')
    world.run(20_000)
    expect(a.list()).toEqual([])
    expect(b.list()).toEqual(['x'])
    expect(b.logged('hide')).toEqual([])
    world.heal('a', 'c')
    world.run(2_000)
    expect(a.list()).toEqual(['x'])
    expect(c.list()).toEqual(['x'])
  })

  it('F2: INV-46: a split heals: what left meanwhile does not flash up, what stayed comes once, what is new comes once', () => {
    const world = new World({ options: { graceMs: 2_000 } })
    const [a, b] = world.mesh('a', 'b') as [Node, Node]
    b.track('gone', 'stays')
    world.run(5_000)
    world.cut('a', 'b')
    world.run(1_000)
    b.untrack('gone')
    b.track('new')
    world.run(59_000)
    expect(a.list()).toEqual([])
    world.heal('a', 'b')
    const seen: string[] = []
    for (let i = 0; i < 3_000; i++) {
      world.run(1)
      const list = a.list().join()
      if (list !== seen.at(-1)) {
        seen.push(list)
      }
    }
    expect(seen).toEqual(['', 'new,stays'])
  })

  it('a closed link between two that both reach a third: each stays up, by relay', () => {
    const world = new World()
    const [a, , c] = world.mesh('a', 'b', 'c') as [Node, Node, Node]
    c.track('x')
    world.run(5_000)
    world.unlink('a', 'c')
    world.run(60_000)
    expect(a.status('c')).toBe('up')
    expect(a.list()).toEqual(['x'])
    expect(a.logged('hide')).toEqual([])
    c.track('y')
    world.run(20)
    expect(a.list()).toEqual(['x', 'y'])
  })

  it('G4: a stream that stays silent long after down: is closed by us', () => {
    const world = new World()
    const [, b] = world.mesh('a', 'b') as [Node, Node]
    world.run(5_000)
    world.kill(b, 'silent')
    expect(world.isLinked('a', 'b')).toBe(true)
    world.run(90_000)
    expect(world.isLinked('a', 'b')).toBe(false)
  })
})

describe('membership: incarnations', () => {
  const restart = (world: World, id: string, peers: readonly string[], wallClockMs?: number): Node => {
    const node = world.start(id, wallClockMs === undefined ? {} : { wallClockMs })
    for (const peer of peers) {
      world.link(id, peer)
    }
    return node
  }

  it('pub-E8: a restart: suspect, permdown of the old, then up of the new; the old presences stay for the grace', () => {
    const world = new World()
    const [a, b] = world.mesh('a', 'b') as [Node, Node]
    a.track('x')
    world.run(5_000)
    const old = a.self
    world.kill(a)
    world.run(1_000)
    const again = restart(world, 'a', ['b'])
    world.run(20)
    const seen = eventsOf(b, 'a')
    expect(seen).toEqual([
      `up ${old.incarnation}`,
      `suspect ${old.incarnation}`,
      `permdown ${old.incarnation}`,
      `up ${again.self.incarnation}`
    ])
    expect(b.list()).toEqual(['x'])
    expect(b.certainties.get('a')).toBe('online')
    world.run(14_000)
    expect(b.list()).toEqual(['x'])
    world.run(2_000)
    expect(b.list()).toEqual([])
    expect(b.logged('drop').map(event => [event.ref, event.reason])).toEqual([[old, 'node-left']])
    expect(b.stat('held')).toBe(0)
  })

  for (const [name, shiftMs] of [
    ['the same', 0],
    ['an earlier', -3_600_000]
  ] as const) {
    it(`a restart with ${name} wall clock: is told, takes a higher incarnation, and is seen at once`, () => {
      const world = new World()
      const [a, b, c] = world.mesh('a', 'b', 'c') as [Node, Node, Node]
      const wallClockMs = world.wallMs()
      a.track('x')
      world.run(5_000)
      const old = a.self
      world.kill(a)
      const again = restart(world, 'a', ['b', 'c'], wallClockMs + shiftMs)
      again.track('y')
      world.run(100)
      for (const node of [b, c]) {
        expect(node.list()).toEqual(['x', 'y'])
        expect(node.status('a')).toBe('up')
      }
      expect(again.self.incarnation).toBeGreaterThan(shiftMs < 0 ? old.incarnation : 0)
      expect(again.stat('reincarnations')).toBeLessThanOrEqual(1)
      world.run(30_000)
      expect(b.list()).toEqual(['y'])
    })
  }

  it('a restart with an earlier wall clock, just after the death, told by nothing but the rejection: is no twin', () => {
    const world = new World()
    const [a, b] = world.mesh('a', 'b') as [Node, Node]
    world.run(5_000)
    world.kill(a)
    world.direction('b', 'a').lose = 1
    const again = restart(world, 'a', ['b'], world.wallMs() - 3_600_000)
    world.run(20)
    expect(again.stat('reincarnations')).toBe(1)
    expect(again.logged('replica:duplicate')).toEqual([])
    world.run(3_000)
    expect(b.status('a')).toBe('up')
  })

  it('pub-B8: ten restarts in ten minutes: one incarnation is up, the others are gone, heartbeats keep their size', () => {
    const world = new World({ options: { permdownAfterMs: 60_000 } })
    const [, b] = world.mesh('a', 'b') as [Node, Node]
    let a = world.start('a')
    for (let i = 0; i < 10; i++) {
      world.kill(a)
      world.run(30_000)
      a = restart(world, 'a', ['b'])
      a.track('x')
      world.run(30_000)
    }
    expect(b.cluster.replicas().map(replica => [replica.id, replica.status])).toEqual([
      ['b', 'up'],
      ['a', 'up']
    ])
    expect([...b.map.records()]).toHaveLength(2)
    world.run(60_000)
    expect(b.stat('graves')).toBeLessThanOrEqual(1)
    const sizes = world.frames('heartbeat', frame => frame.from === 'b').map(frame => frame.bytes)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(32)
  })

  it('pub-B9: one drops a dead replica before the other: what the other says does not bring it back', () => {
    const world = new World({ options: { permdownAfterMs: 30_000 } })
    const [a, d, c] = world.mesh('a', 'd', 'c') as [Node, Node, Node]
    c.track('x')
    world.run(5_000)
    world.cut('a', 'c')
    world.run(3_000)
    world.kill(c, 'silent')
    world.run(29_000)
    expect(a.map.record(c.self)).toBeUndefined()
    expect(d.map.record(c.self)).toBeDefined()
    world.run(20_000)
    expect(a.logged('merged').filter(event => event.atMs > 6_000)).toEqual([])
    expect(a.stat('members')).toBe(1)
    world.run(40_000)
    expect(a.stat('graves')).toBe(0)
  })

  it('pub-B11: five restart at once, and the messages of their former lives come afterwards, in any order: all are up', () => {
    for (const seed of [1, 2, 3]) {
      const world = new World({ seed })
      const ids = ['a', 'b', 'c', 'd', 'e']
      for (const node of world.mesh(...ids)) {
        node.track(`old-${node.id}`)
      }
      world.run(3_000)
      const former = world.random.shuffle(world.sent.slice(-80))
      const old = ids.map(id => world.isLinked(id, 'a') || id === 'a')
      expect(old.every(Boolean)).toBe(true)
      for (let i = 0; i < ids.length; i++) {
        for (let j = i + 1; j < ids.length; j++) {
          world.unlink(ids[i] as string, ids[j] as string)
        }
      }
      const nodes = world.mesh(...ids)
      for (const node of nodes) {
        node.track(`new-${node.id}`)
      }
      for (const frame of former) {
        world.run(world.random.below(40))
        world.inject(frame.from, frame.to, frame.message)
      }
      world.run(5_000)
      for (const node of nodes) {
        expect(node.cluster.replicas().map(replica => replica.status)).toEqual(['up', 'up', 'up', 'up', 'up'])
        expect(node.list()).toEqual(ids.map(id => `new-${id}`))
      }
    }
  })

  it('pub-B12: a goodbye of the former life comes after the hello of the new one: the new one is up', () => {
    const world = new World()
    const [a, b] = world.mesh('a', 'b') as [Node, Node]
    a.track('x')
    world.run(2_000)
    const bye: Message = { type: 'bye', replica: a.self, head: 1, announce: false }
    world.kill(a)
    const again = restart(world, 'a', ['b'])
    again.track('y')
    world.run(50)
    world.inject('a', 'b', bye)
    world.run(10_000)
    expect(b.status('a')).toBe('up')
    expect(b.list()).toContain('y')
  })

  it('pub-B13: two goodbyes of one replica, at different times, at two others: nothing is passed on', () => {
    const world = new World()
    const [a, b, c] = world.mesh('a', 'b', 'c') as [Node, Node, Node]
    world.run(2_000)
    const bye = (head: number): Message => ({ type: 'bye', replica: a.self, head, announce: false })
    world.kill(a, 'silent')
    for (const id of ['b', 'c']) {
      world.inject('a', id, bye(0))
      world.inject('a', id, bye(5))
    }
    world.run(3_000)
    const fromMs = world.clock.nowMs
    world.run(5_000)
    expect(world.frames(undefined, frame => frame.sentMs >= fromMs && frame.message.type !== 'heartbeat')).toEqual([])
    expect([b.stat('isolations'), c.stat('isolations')]).toEqual([0, 0])
  })

  it('pub-B14: two processes with one key for five minutes: reported, nobody flaps, bytes are flat, and nobody escalates', () => {
    const world = new World()
    const [a, b, c] = world.mesh('a', 'b', 'c') as [Node, Node, Node]
    a.track('first')
    world.run(5_000)
    // The twin's frames come under the same id; what is sent to `a` reaches the twin, and the first one as well.
    const twin = world.twin(a)
    twin.track('second')
    world.run(30_000)
    const before = {
      sent: world.bytes(undefined, world.clock.nowMs - 10_000),
      reincarnations: a.stat('reincarnations') + twin.stat('reincarnations')
    }
    world.run(270_000)
    expect(world.bytes(undefined, world.clock.nowMs - 10_000)).toBeLessThan(before.sent * 1.2)
    expect(a.stat('reincarnations') + twin.stat('reincarnations')).toBe(before.reincarnations)
    expect(before.reincarnations).toBe(0)
    for (const node of [b, c]) {
      expect(node.cluster.replicas().map(replica => replica.status)).toEqual(['up', 'up', 'up'])
      expect(
        node
          .events('b')
          .concat(node.events('c'))
          .filter(event => event !== 'up')
      ).toEqual([])
      const reports = node.logged('replica:duplicate').length
      expect(reports).toBeGreaterThanOrEqual(4)
      expect(reports).toBeLessThanOrEqual(6)
    }
    const own = a.logged('replica:duplicate').length + twin.logged('replica:duplicate').length
    expect(own).toBeGreaterThanOrEqual(4)
    expect(own).toBeLessThanOrEqual(12)
  })

  it('pub-B15: the old stream closes after the hello of the new life: the new entries stay', () => {
    const world = new World()
    const [a, b] = world.mesh('a', 'b') as [Node, Node]
    a.track('x')
    world.run(2_000)
    a.process.kill()
    world.unlink('a', 'b')
    const again = restart(world, 'a', ['b'])
    again.track('y')
    world.run(50)
    world.unlink('a', 'b')
    world.run(100)
    world.link('a', 'b')
    world.run(20_000)
    expect(b.list()).toEqual(['y'])
    expect(b.status('a')).toBe('up')
  })

  it('pub-B16: a late heartbeat of the former life: no transition, no diff', () => {
    const world = new World()
    const [a, b] = world.mesh('a', 'b') as [Node, Node]
    world.run(2_000)
    const late = world.frames('heartbeat', frame => frame.from === 'a').at(-1)!.message
    world.kill(a)
    const again = restart(world, 'a', ['b'])
    world.run(20_000)
    const told = b.log.length
    world.inject('a', 'b', late)
    world.run(5_000)
    expect(b.log.slice(told).filter(event => event.name !== 'replica:duplicate')).toEqual([])
    expect(again.stat('reincarnations')).toBe(0)
  })

  it('pub-B17: INV-36: a restart 400 days later is taken; one ten years ahead of the receiver is refused, and told', () => {
    const world = new World()
    const a = world.start('a', { wallClockMs: 0 })
    const b = world.start('b', { wallClockMs: 400 * DAY_MS })
    world.link('a', 'b')
    world.run(1_000)
    expect(b.status('a')).toBe('up')
    world.kill(a)
    const later = restart(world, 'a', ['b'], 400 * DAY_MS)
    world.run(1_000)
    expect(b.status('a')).toBe('up')
    expect(b.cluster.replicas()[1]?.incarnation).toBe(later.self.incarnation)
    const ahead = world.start('z', { wallClockMs: 4_050 * DAY_MS })
    world.link('z', 'b')
    world.run(5_000)
    expect(b.status('z')).toBeUndefined()
    expect(b.stat('tooFarAhead')).toBeGreaterThan(0)
    expect(ahead.logged('error').map(event => (event.error as { code: string }).code)).toEqual(['ERR_CLOCK_AHEAD'])
  })

  it('a claim about us (higher incarnation, head above ours): we live on above it, our presences stay, at most once in ten seconds', () => {
    const world = new World()
    const [a, b] = world.mesh('a', 'b') as [Node, Node]
    a.track(...names('x', 5))
    world.run(2_000)
    const claim = (): void => {
      const replica = { id: 'a', incarnation: a.self.incarnation }
      world.inject('b', 'a', {
        type: 'digest',
        entries: [{ replica, shard: 0, head: 99, hash: { high: 0, low: 0 }, floor: 0, graceMs: 0 }],
        unreached: [],
        reply: false
      })
    }
    claim()
    expect(a.stat('reincarnations')).toBe(1)
    claim()
    claim()
    world.run(9_000)
    expect(a.stat('reincarnations')).toBe(1)
    world.run(2_000)
    expect(a.stat('reincarnations')).toBe(2)
    world.run(1_000)
    expect(new Set(b.list())).toEqual(new Set(names('x', 5)))
    expect(b.map.record(a.self)?.count).toBe(5)
    world.run(30_000)
    expect(b.list()).toEqual(names('x', 5))
  })

  it('a claim from days ahead of our clock: is believed of most of the peers, and not of one', () => {
    const world = new World()
    const [a] = world.mesh('a', 'b', 'c', 'd') as [Node]
    world.run(3_000)
    const known = (world.wallMs() + 3 * DAY_MS) * 1_024
    const claim = (from: string): void => {
      world.inject(from, 'a', { type: 'stale', rejected: a.self, known, beats: false, tooFarAhead: false })
    }
    claim('b')
    expect(a.stat('reincarnations')).toBe(0)
    claim('c')
    expect(a.stat('reincarnations')).toBe(1)
    expect(a.self.incarnation).toBeGreaterThan(known)
  })

  it('what a relay says of the incarnation of a replica that has a stream to us: changes nothing here, and the replica is told', () => {
    const world = new World()
    const [a, b, c] = world.mesh('a', 'b', 'c') as [Node, Node, Node]
    c.track('x')
    world.run(2_000)
    const before = c.self
    const replica = { id: 'c', incarnation: before.incarnation + 5_000 }
    world.inject('b', 'a', {
      type: 'digest',
      entries: [{ replica, shard: 0, head: 3, hash: { high: 0, low: 0 }, floor: 0, graceMs: 0 }],
      unreached: [],
      reply: false
    })
    expect(a.cluster.replicas().find(one => one.id === 'c')?.incarnation).toBe(before.incarnation)
    world.run(100)
    expect(c.self.incarnation).toBeGreaterThan(replica.incarnation)
    world.run(20_000)
    expect(a.list()).toEqual(['x'])
    expect(b.list()).toEqual(['x'])
  })

  it('newIncarnation: grows with the wall clock, 1,024 to a millisecond, and never leaves 2^52', () => {
    const environment = (wallMs: number) => ({
      monotonicMs: () => 0,
      wallClockMs: () => wallMs,
      random: createRandom(1),
      schedule: () => () => {}
    })
    expect(newIncarnation(environment(1_000))).toBeGreaterThan(1_000 * 1_024)
    expect(newIncarnation(environment(1_000))).toBeLessThanOrEqual(1_001 * 1_024)
    expect(newIncarnation(environment(-5))).toBeGreaterThan(0)
    expect(newIncarnation(environment(1e15))).toBe(2 ** 52)
  })
})

describe('membership: goodbyes', () => {
  it('pub-B19: a goodbye: presences are held for the grace and leave once; nothing is sent after it, no timer is left', () => {
    const world = new World()
    const [a, b] = world.mesh('a', 'b') as [Node, Node]
    a.track('x')
    world.run(2_000)
    const atMs = world.clock.nowMs
    a.track('y')
    a.track('z')
    world.stop(a)
    expect(a.stat('timers')).toBe(0)
    expect(world.frames(undefined, frame => frame.from === 'a' && frame.sentMs >= atMs).at(-1)?.message.type).toBe('bye')
    world.run(100)
    expect(b.list()).toEqual(['x', 'y', 'z'])
    expect(b.certainties.get('a')).toBe('unknown')
    world.run(14_500)
    expect(b.list()).toEqual(['x', 'y', 'z'])
    world.run(1_000)
    expect(b.list()).toEqual([])
    expect(b.events('a')).toEqual(['up', 'down', 'permdown'])
    expect(b.logged('drop').map(event => event.reason)).toEqual(['node-left'])
    world.run(60_000)
    expect(b.logged('drop')).toHaveLength(1)
  })

  it('pub-B19: after its goodbye a replica that runs on says nothing and hears nothing', () => {
    const world = new World()
    const [a, b] = world.mesh('a', 'b') as [Node, Node]
    world.run(2_000)
    a.cluster.bye(false)
    expect(a.stat('timers')).toBe(0)
    b.track('x')
    world.run(5_000)
    expect(world.frames(undefined, frame => frame.from === 'a').at(-1)?.message.type).toBe('bye')
    expect(a.list()).toEqual([])
  })

  it('pub-B19: announced: its presences leave within a round; a goodbye of another incarnation is ignored', () => {
    const world = new World()
    const [a, b, c] = world.mesh('a', 'b', 'c') as [Node, Node, Node]
    a.track('x')
    world.run(2_000)
    world.inject('a', 'b', { type: 'bye', replica: { id: 'a', incarnation: a.self.incarnation - 1 }, head: 0, announce: true })
    world.inject('a', 'b', { type: 'bye', replica: c.self, head: 0, announce: true })
    expect(b.list()).toEqual(['x'])
    world.stop(a, true)
    expect(b.list()).toEqual([])
    expect(c.list()).toEqual([])
    world.run(60_000)
    expect(b.cluster.replicas().map(replica => replica.id)).toEqual(['b', 'c'])
  })

  it('a goodbye with events that one has not got: they are fetched from the others', () => {
    const world = new World()
    const [a, b, c] = world.mesh('a', 'b', 'c') as [Node, Node, Node]
    world.run(2_000)
    world.direction('a', 'b').mode = 'cut'
    a.track('x')
    world.run(1)
    world.direction('a', 'b').mode = 'flow'
    world.stop(a)
    world.run(50)
    expect(c.list()).toEqual(['x'])
    expect(b.list()).toEqual(['x'])
  })

  it('one that said goodbye speaks on: is told that it is gone, and comes back above it', () => {
    const world = new World()
    const [a, b] = world.mesh('a', 'b') as [Node, Node]
    a.track('x')
    world.run(2_000)
    world.inject('a', 'b', { type: 'bye', replica: a.self, head: 1, announce: true })
    expect(b.list()).toEqual([])
    world.run(2_000)
    expect(b.list()).toEqual(['x'])
    expect(a.stat('reincarnations')).toBe(1)
  })

  it('forget of a replica that lives: it is told, and comes back', () => {
    const world = new World()
    const [a, b] = world.mesh('a', 'b') as [Node, Node]
    a.track('x')
    world.run(2_000)
    expect(b.cluster.forget('a')).toBe(true)
    expect(b.list()).toEqual([])
    world.run(2_000)
    expect(b.list()).toEqual(['x'])
    expect(b.cluster.forget('b')).toBe(false)
  })
})

describe('membership: bounds', () => {
  it('pub-D13: 200 new replicas that live for a moment, within one permdown: hidden ones are bounded, the oldest go first', () => {
    const world = new World()
    const a = world.start('a')
    for (let i = 0; i < 200; i++) {
      const node = world.start(`n${i}`)
      node.track(...names(`n${i}-`, 10))
      world.link('a', node.id)
      world.run(100)
      world.kill(node)
      world.run(4_000)
    }
    world.run(30_000)
    expect(a.stat('members')).toBeLessThanOrEqual(64 + 10)
    expect(a.map.sizes().entries).toBeLessThanOrEqual(740)
    expect(
      a.map.record({ id: 'n199', incarnation: a.cluster.replicas().find(replica => replica.id === 'n199')?.incarnation ?? 0 })
    ).toBeDefined()
  })

  it('pub-F5: a member that invents ids: is held to its share, and one who comes himself is taken', () => {
    const world = new World({ options: { limits: { replicas: 20 } } })
    const [a] = world.mesh('a', 'm') as [Node, Node]
    world.run(500)
    for (let i = 0; i < 100; i++) {
      const replica = { id: `fake${i}`, incarnation: 1 }
      world.inject('m', 'a', {
        type: 'digest',
        entries: [{ replica, shard: 0, head: 0, hash: { high: 0, low: 0 }, floor: 0, graceMs: 0 }],
        unreached: [],
        reply: false
      })
    }
    expect(a.stat('members')).toBe(11)
    expect(a.stat('introductionsRefused')).toBe(90)
    for (const id of names('honest', 15)) {
      world.start(id).track(id)
      world.link('a', id)
    }
    world.run(2_000)
    expect(a.list()).toHaveLength(15)
    expect(a.stat('evictions')).toBeGreaterThan(0)
    expect(a.stat('members')).toBeLessThanOrEqual(20)
  })
})

describe('member', () => {
  const create = (): Member =>
    new Member({ ref: { id: 'a', incarnation: 1 }, graceMs: 0, introducer: 'a', options: resolveOptions(), nowMs: 0 })

  it('INV-31: intervals in which a counter was skipped teach nothing: the next silence is found as soon as with all of them', () => {
    const [every, second] = [create(), create()]
    every.link(0)
    second.link(0)
    for (let i = 1; i <= 100; i++) {
      every.beat(i, 1_000 * i)
      if (i % 2 === 0) {
        second.beat(i, 1_000 * i)
      }
    }
    for (const silenceMs of [4_000, 5_000, 8_000]) {
      expect(second.phi(100_000 + silenceMs)).toBeCloseTo(every.phi(100_000 + silenceMs), 1)
    }
  })

  it('an old counter, and the same counter by another path: are not new', () => {
    const member = create()
    expect([member.beat(5, 1_000), member.beat(5, 1_100), member.beat(4, 1_200), member.beat(6, 900)]).toEqual([true, false, false, true])
    expect(member.lastSignMs).toBe(1_000)
  })
})

describe('membership: full', () => {
  it('limits.replicas is reached by replicas that live: one more is cut off', () => {
    const world = new World({ options: { limits: { replicas: 2 } } })
    const [a] = world.mesh('a', 'b', 'c') as [Node]
    world.run(2_000)
    world.start('d')
    world.link('a', 'd')
    world.run(100)
    expect(world.isLinked('a', 'd')).toBe(false)
    expect(
      a.cluster
        .replicas()
        .map(replica => replica.id)
        .sort()
    ).toEqual(['a', 'b', 'c'])
  })

  it('limits.entriesPerReplica is exceeded: nothing more is taken, and the stream is closed', () => {
    const world = new World({ options: { limits: { entriesPerReplica: 10 } } })
    const [a, b] = world.mesh('a', 'b') as [Node, Node]
    for (const key of names('x', 20)) {
      b.track(key)
      world.run(21)
    }
    world.run(100)
    expect(a.list()).toHaveLength(11)
    expect(world.isLinked('a', 'b')).toBe(false)
  })
})

describe('membership: out of reach', () => {
  it('a line a–b–c–d: d was dropped by a while b and c heard it: it is told by way of them, and is back within seconds', () => {
    const world = new World({ options: { permdownAfterMs: 30_000 } })
    const [a, , , d] = world.line('a', 'b', 'c', 'd') as [Node, Node, Node, Node]
    d.track('x')
    world.run(10_000)
    expect(a.cluster.forget('d')).toBe(true)
    world.run(10_000)
    expect(d.stat('reincarnations')).toBe(1)
    expect(a.status('d')).toBe('up')
    expect(a.list()).toEqual(['x'])
  })
})
