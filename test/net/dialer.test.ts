import { describe, expect, it } from 'vitest'
import { redialDelayMs } from '../../src/net/libp2p/back-off.ts'
import { Dialer, type DialerOptions, type DialFailure, type DialTarget } from '../../src/net/libp2p/dialer.ts'
import { VirtualClock } from '../../src/testing/virtual-clock.ts'
import { createRandom } from '../../src/tracker/environment.ts'

const HOUR_MS = 3_600_000

class DialError extends Error {
  readonly failure: DialFailure

  constructor(failure: DialFailure) {
    super(failure)
    this.failure = failure
  }
}

interface Dial {
  readonly atMs: number
  readonly target: DialTarget
  readonly signal: AbortSignal
}

/** Who listens where, and a dialer that dials there, in virtual time. */
class World {
  readonly clock = new VirtualClock()
  readonly dials: Dial[] = []
  readonly linked = new Set<string>()
  readonly refused: string[] = []
  /** Address to the id that answers; or what happens instead. */
  readonly hosts = new Map<string, string | DialFailure | 'hangs'>()
  readonly dialer: Dialer
  mostAtOnce = 0
  /** How late timers run: the process does not get its processor. */
  lateMs = 0
  #readings = 0

  constructor(options: Partial<DialerOptions> = {}, seed = 1) {
    this.dialer = new Dialer(
      {
        reach: (target, signal) => this.#reach(target, signal),
        failure: error => (error instanceof DialError ? error.failure : 'failed'),
        isLinked: id => this.linked.has(id),
        linkCount: () => this.linked.size,
        refused: id => this.refused.push(id),
        began: () => {},
        failed: () => {}
      },
      {
        self: 'm',
        environment: {
          // A real clock moves on between two readings.
          monotonicMs: () => this.clock.nowMs + 1e-6 * this.#readings++,
          wallClockMs: () => this.clock.nowMs,
          random: createRandom(seed),
          schedule: (delayMs, task) => this.clock.after(delayMs + this.lateMs, task)
        },
        random: createRandom(seed),
        dialTimeoutMs: 10_000,
        maxLinks: 32,
        maxMembers: 1_000,
        forgetAfterMs: HOUR_MS,
        ...options
      }
    )
  }

  /** Virtual time goes on; whatever is due is done, promises included. */
  async run(ms: number): Promise<void> {
    const until = this.clock.nowMs + ms
    do {
      await new Promise(setImmediate)
    } while (this.clock.step(until))
    await new Promise(setImmediate)
  }

  link(id: string): void {
    this.linked.add(id)
    this.dialer.linked(id)
  }

  lose(id: string): void {
    this.linked.delete(id)
    this.dialer.lost(id)
  }

  dialsOf(address: string, fromMs = 0): Dial[] {
    return this.dials.filter(dial => dial.atMs >= fromMs && dial.target.addresses.includes(address))
  }

  #reach(target: DialTarget, signal: AbortSignal): Promise<string> {
    this.dials.push({ atMs: this.clock.nowMs, target, signal })
    this.mostAtOnce = Math.max(this.mostAtOnce, this.dialer.dialing)
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
      const host = this.hosts.get(target.addresses[0] ?? '') ?? 'refused'
      if (host === 'hangs') {
        return
      }
      if (host === 'refused' || host === 'self' || host === 'foreign' || host === 'failed') {
        reject(new DialError(host))
      } else if (target.id !== undefined && target.id !== host) {
        reject(new DialError('failed'))
      } else {
        this.link(host)
        resolve(host)
      }
    })
  }
}

const bare = (address: string): { id: undefined; address: string } => ({ id: undefined, address })

describe('dialer', () => {
  it('a bootstrap address: is dialled within 100 ms of start, and not again once linked', async () => {
    const world = new World()
    world.hosts.set('/seed', 'a')
    world.dialer.configure(bare('/seed'))
    world.dialer.start()
    await world.run(100)
    expect(world.linked).toEqual(new Set(['a']))
    await world.run(HOUR_MS)
    expect(world.dials).toHaveLength(1)
  })

  it('the smaller id dials at once, the larger waits half a second', async () => {
    const world = new World()
    world.dialer.start()
    world.dialer.learn('z', ['/z'])
    world.dialer.learn('a', ['/a'])
    await world.run(2_000)
    expect(world.dialsOf('/z')[0]?.atMs).toBeLessThan(100)
    expect(world.dialsOf('/a')[0]?.atMs).toBeGreaterThanOrEqual(500)
  })

  it('a member that links by itself while its dial waits or runs: is spared the dial', async () => {
    const world = new World()
    world.hosts.set('/z', 'hangs')
    world.dialer.start()
    world.dialer.learn('a', ['/a'])
    world.dialer.learn('z', ['/z'])
    await world.run(200)
    world.link('a')
    world.link('z')
    expect(world.dialsOf('/z')[0]?.signal.aborted).toBe(true)
    await world.run(HOUR_MS)
    expect(world.dialsOf('/a')).toHaveLength(0)
    expect(world.dialsOf('/z')).toHaveLength(1)
  })

  it('pub-G2: a member dead for an hour: at most 30 dials, and linked within one back-off when it is back', async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const world = new World({}, seed)
      world.link('b')
      world.dialer.start()
      world.dialer.configure({ id: 'z', address: '/z' })
      await world.run(HOUR_MS)
      expect(world.dialsOf('/z').length, `seed ${seed}`).toBeLessThanOrEqual(30)
      expect(world.dialsOf('/z').length, `seed ${seed}`).toBeGreaterThan(10)
      world.hosts.set('/z', 'z')
      await world.run(375_000)
      expect(world.linked, `seed ${seed}`).toContain('z')
    }
  })

  it('pub-G2: what is linked is not dialled', async () => {
    const world = new World()
    world.link('z')
    world.dialer.start()
    for (let i = 0; i < 100; i++) {
      world.dialer.learn('z', [`/z/${i}`])
      await world.run(1_000)
    }
    expect(world.dials).toHaveLength(0)
  })

  it('the delays: double from half a second to 15 s, then, for who is not alone, to five minutes', () => {
    const still = { ...createRandom(1), nextFloat: () => 0.5 }
    const first = [1, 2, 3, 4, 5, 6, 7, 11].map(failures => redialDelayMs(failures, false, still))
    expect(first).toEqual([500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000])
    expect([12, 13, 14, 15, 16, 1_000].map(failures => redialDelayMs(failures, false, still))).toEqual([
      30_000, 60_000, 120_000, 240_000, 300_000, 300_000
    ])
    expect(redialDelayMs(1_000, true, still)).toBe(15_000)
  })

  it('pub-G3: a dial that never settles: is aborted at its timeout, and others are dialled meanwhile', async () => {
    const world = new World()
    world.hosts.set('/hung', 'hangs').set('/z', 'z')
    world.dialer.configure(bare('/hung'))
    world.dialer.start()
    await world.run(1_000)
    world.dialer.configure(bare('/z'))
    await world.run(1_000)
    expect(world.linked).toContain('z')
    expect(world.dialsOf('/hung')[0]?.signal.aborted).toBe(false)
    await world.run(9_000)
    expect(world.dialsOf('/hung')[0]?.signal.aborted).toBe(true)
    await world.run(60_000)
    expect(world.dialsOf('/hung').length).toBeGreaterThan(1)
  })

  it('pub-G3: hung dials to every member but one: the one is reached', async () => {
    const world = new World()
    for (let i = 0; i < 20; i++) {
      world.hosts.set(`/hung/${i}`, 'hangs')
      world.dialer.configure(bare(`/hung/${i}`))
    }
    world.dialer.start()
    await world.run(1_000)
    world.hosts.set('/z', 'z')
    world.dialer.configure(bare('/z'))
    await world.run(120_000)
    expect(world.linked).toContain('z')
    expect(world.mostAtOnce).toBe(16)
  })

  it('fifty members at once: two dials begin per second, as long as those before have not ended', async () => {
    const world = new World()
    for (let i = 0; i < 50; i++) {
      world.hosts.set(`/hung/${i}`, 'hangs')
      world.dialer.configure(bare(`/hung/${i}`))
    }
    world.dialer.start()
    await world.run(7_000)
    for (const { atMs } of world.dials) {
      expect(world.dials.filter(dial => dial.atMs >= atMs && dial.atMs < atMs + 999).length).toBeLessThanOrEqual(2)
    }
    expect(world.dials.length).toBe(14)
  })

  it('fifty members at once, in a process that runs late: one dial at a time', async () => {
    const world = new World()
    world.lateMs = 200
    for (let i = 0; i < 50; i++) {
      world.hosts.set(`/hung/${i}`, 'hangs')
      world.dialer.configure(bare(`/hung/${i}`))
    }
    world.dialer.start()
    await world.run(20_000)
    expect(world.dials.length).toBeLessThanOrEqual(4)
    expect(world.dials.length).toBeGreaterThan(1)
  })

  it('pub-G3: stop, then start on the same object: dials again', async () => {
    const world = new World()
    world.hosts.set('/seed', 'hangs')
    world.dialer.configure(bare('/seed'))
    world.dialer.start()
    await world.run(1_000)
    world.dialer.stop()
    expect(world.dials[0]?.signal.aborted).toBe(true)
    expect(world.dialer.dialing).toBe(0)
    await world.run(HOUR_MS)
    expect(world.dials).toHaveLength(1)
    expect(world.clock.waiting).toBe(0)
    world.hosts.set('/seed', 'a')
    world.dialer.start()
    await world.run(1_000)
    expect(world.linked).toContain('a')
  })

  it('pub-G1: at most one dial per member, whatever is said of it', async () => {
    const world = new World()
    world.hosts.set('/z1', 'hangs').set('/z2', 'hangs')
    world.dialer.configure({ id: 'z', address: '/z1' })
    world.dialer.start()
    for (let i = 0; i < 50; i++) {
      world.dialer.learn('z', ['/z1', '/z2', `/z/${i}`])
      await world.run(100)
      expect(world.dialer.dialing).toBeLessThanOrEqual(1)
    }
  })

  it('pub-G11: cut off for ten minutes, then the network is back: linked within 19 s, and with all others soon after', async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const world = new World({}, seed)
      const others = ['a', 'b', 'y', 'z']
      world.dialer.start()
      for (const id of others) {
        world.hosts.set(`/${id}`, id)
        world.dialer.learn(id, [`/${id}`])
      }
      await world.run(20_000)
      expect(world.linked.size).toBe(4)
      for (const id of others) {
        world.hosts.set(`/${id}`, 'failed')
      }
      for (const id of others) {
        world.lose(id)
      }
      await world.run(600_000)
      for (const id of others) {
        world.hosts.set(`/${id}`, id)
      }
      const backAtMs = world.clock.nowMs
      while (world.linked.size === 0) {
        await world.run(100)
      }
      expect(world.clock.nowMs - backAtMs, `seed ${seed}`).toBeLessThanOrEqual(19_000)
      await world.run(2_000)
      expect(world.linked.size, `seed ${seed}`).toBe(4)
    }
  })

  it('pub-G11: cut off from the last peer: a member given up long ago is dialled every 15 s again', async () => {
    const world = new World()
    world.link('b')
    world.dialer.start()
    world.dialer.configure({ id: 'z', address: '/z' })
    await world.run(HOUR_MS)
    world.hosts.set('/z', 'z')
    world.lose('b')
    await world.run(19_000)
    expect(world.linked).toContain('z')
  })

  it('pub-G12: a bare address that leads to a member known by id: is that member’s from then on', async () => {
    const world = new World()
    world.hosts.set('/seed', 'a').set('/a', 'a')
    world.dialer.start()
    world.link('a')
    world.dialer.learn('a', ['/a'])
    world.dialer.configure(bare('/seed'))
    await world.run(HOUR_MS)
    expect(world.dials).toHaveLength(1)
    expect(world.dialer.memberCount).toBe(1)
  })

  it('a bare address whose owner was replaced under another id: the successor is found', async () => {
    const world = new World()
    world.hosts.set('/seed', 'a').set('/a', 'a')
    world.dialer.configure(bare('/seed'))
    world.dialer.start()
    await world.run(1_000)
    world.dialer.learn('a', ['/a'])
    world.hosts.set('/seed', 'b').set('/a', 'refused')
    world.lose('a')
    await world.run(3_000)
    expect(world.linked).toContain('b')
  })

  it('our own address among the bootstrap addresses: is dialled once', async () => {
    const world = new World()
    world.hosts.set('/me', 'self')
    world.dialer.configure(bare('/me'))
    world.dialer.configure({ id: 'm', address: '/me2' })
    world.dialer.start()
    await world.run(HOUR_MS)
    expect(world.dials).toHaveLength(1)
    expect(world.dialer.memberCount).toBe(0)
  })

  it('a refused dial: is told for a member whose id is known, and only then', async () => {
    const world = new World()
    world.dialer.configure({ id: 'z', address: '/z' })
    world.dialer.configure(bare('/nobody'))
    world.dialer.start()
    await world.run(300)
    expect(world.refused).toEqual(['z'])
  })

  it('somebody who is no replica: is forgotten when it was found, and tried again when it was configured', async () => {
    const world = new World()
    world.hosts.set('/dht', 'foreign').set('/seed', 'foreign')
    world.dialer.learn('dht', ['/dht'])
    world.dialer.configure(bare('/seed'))
    world.dialer.start()
    await world.run(60_000)
    expect(world.dialsOf('/dht')).toHaveLength(1)
    expect(world.dialsOf('/seed').length).toBeGreaterThan(3)
  })

  it('two replicas that end each other’s links at once: do not spin, nor give up', async () => {
    const world = new World()
    world.link('b')
    world.hosts.set('/z', 'z')
    world.dialer.start()
    world.dialer.learn('z', ['/z'])
    for (let second = 0; second < 600; second++) {
      await world.run(1_000)
      if (world.linked.has('z')) {
        world.lose('z')
      }
    }
    expect(world.dialsOf('/z').length).toBeLessThan(100)
    await world.run(11_000)
    expect(world.linked).toContain('z')
  })

  it('members learned from others: at most 64 that never were linked, and those that were are dialled first', async () => {
    const world = new World()
    world.dialer.start()
    world.link('b')
    world.dialer.learn('b', ['/b'])
    for (let i = 0; i < 10_000; i++) {
      world.dialer.learn(`invented/${i}`, [`/invented/${i}`])
    }
    expect(world.dialer.memberCount).toBe(65)
    world.hosts.set('/b', 'b')
    world.lose('b')
    await world.run(1_500)
    expect(world.linked).toContain('b')
  })

  it('a member that was learned: is forgotten after an hour out of reach, unless all the others are out of reach as well', async () => {
    const world = new World()
    world.dialer.start()
    world.link('b')
    world.dialer.learn('z', ['/z'])
    await world.run(2 * HOUR_MS)
    expect(world.dialer.memberCount).toBe(1)
    const alone = new World()
    alone.dialer.start()
    alone.dialer.learn('z', ['/z'])
    await alone.run(3 * HOUR_MS)
    expect(alone.dialer.memberCount).toBe(1)
    alone.hosts.set('/z', 'z')
    await alone.run(19_000)
    expect(alone.linked).toContain('z')
  })

  it('with maxLinks links: only configured members are dialled', async () => {
    const world = new World({ maxLinks: 2 })
    world.dialer.start()
    world.link('b')
    world.link('c')
    world.hosts.set('/x', 'x').set('/seed', 's')
    world.dialer.learn('x', ['/x'])
    world.dialer.configure(bare('/seed'))
    await world.run(10_000)
    expect(world.dialsOf('/x')).toHaveLength(0)
    expect(world.linked).toContain('s')
    world.lose('b')
    world.lose('c')
    await world.run(10_000)
    expect(world.linked).toContain('x')
  })

  it('pub-D9: four hundred replicas that lose a peer at once: no 100 ms in which more than 6 % of them dial first', async () => {
    const replicas = 400
    const times: number[] = []
    for (let seed = 0; seed < replicas; seed++) {
      const world = new World({ self: seed % 2 === 0 ? 'm' : 'zz', maxLinks: 1_000 }, seed)
      world.dialer.start()
      for (let i = 0; i < 100; i++) {
        world.linked.add(`other/${i}`)
      }
      world.link('z')
      world.dialer.learn('z', ['/z'])
      await world.run(60_000)
      const lostAtMs = world.clock.nowMs
      world.lose('z')
      await world.run(10_000)
      const first = world.dialsOf('/z', lostAtMs)[0]
      times.push((first?.atMs ?? Number.NaN) - lostAtMs)
    }
    const windows = Array.from({ length: 100 }, (_, i) => times.filter(ms => ms >= i * 100 && ms < (i + 1) * 100).length)
    expect(times.filter(Number.isFinite)).toHaveLength(replicas)
    expect(Math.max(...windows)).toBeLessThanOrEqual(0.06 * replicas)
  })
})
