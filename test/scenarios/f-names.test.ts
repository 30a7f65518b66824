import { describe, expect, it } from 'vitest'
import { PresenceFold, type WatchEvent } from '../../src/index.ts'
import { ready } from '../support/lone.ts'
import { NAUGHTY_NAMES } from '../support/naughty-names.ts'
import { keys } from '../support/scenario.ts'
import { listed, startCluster, told } from '../support/sim.ts'

describe('(f) names and clocks of others', () => {
  it('pub-F3: names of built-in properties, as topic, key, user and in a meta, on both sides: ordinary names', async () => {
    const { sim, a, b } = await startCluster({ replicas: 2 })
    const fold = new PresenceFold()
    const watch = b.tracker.watch('__proto__')
    fold.apply((await ready<WatchEvent>(watch))[0] as WatchEvent)
    for (const name of NAUGHTY_NAMES) {
      const connection = a.tracker.connect(name)
      for (const topic of NAUGHTY_NAMES) {
        connection.track(topic, JSON.parse(`{${JSON.stringify(name)}: {"polluted": true}}`))
      }
    }
    await sim.settle()
    for (const replica of [a, b]) {
      expect([...replica.tracker.topics().keys()].sort()).toEqual([...NAUGHTY_NAMES].sort())
      for (const name of NAUGHTY_NAMES) {
        expect(keys(replica, name)).toEqual([...NAUGHTY_NAMES].sort())
        expect(JSON.stringify(replica.tracker.get('toString', name)[0]?.meta)).toBe(`{${JSON.stringify(name)}:{"polluted":true}}`)
        expect([replica.tracker.isOnline(name), replica.tracker.topicsOf(name).size]).toEqual([true, NAUGHTY_NAMES.length])
      }
      expect([replica.tracker.list('nobody').size, replica.tracker.get('room', 'toString')]).toEqual([0, []])
    }
    for (const event of await ready<WatchEvent>(watch)) {
      fold.apply(event)
    }
    expect([...fold.keys.keys()].sort()).toEqual([...NAUGHTY_NAMES].sort())
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })

  it('pub-F3: an empty name, a lone surrogate, one too long: refused by name, and nothing is changed', async () => {
    const { a } = await startCluster({ replicas: 1 })
    const ann = a.tracker.connect('ann')
    for (const name of ['', '\ud800', 'x'.repeat(10_000)]) {
      for (const call of [
        () => a.tracker.connect(name),
        () => ann.track(name),
        () => ann.track('room', {}, { key: name }),
        () => a.tracker.watch(name)
      ]) {
        expect(call).toThrowError(expect.objectContaining({ code: 'ERR_INVALID_NAME' }))
      }
    }
    expect([a.tracker.topics().size, [...a.tracker.users()]]).toEqual([0, ['ann']])
  })

  it('pub-F7: the wall clock of a replica jumps far ahead and back: no call of its own fails, and no order depends on it', async () => {
    const { sim, a, b } = await startCluster({ replicas: 2 })
    const years = 8_000 * 365 * 86_400_000
    for (const byMs of [years, -2 * years, years]) {
      sim.shiftWallClock(a, byMs)
      const ann = a.tracker.connect('ann')
      ann.track('room', { byMs })
      ann.update('room', { byMs, again: true })
      await sim.settle()
      expect(listed(b)).toMatchObject([{ meta: { byMs, again: true } }])
      expect(listed(b)[0]?.joinedAt).toBeGreaterThanOrEqual(0)
      ann.close()
      await sim.settle()
      expect(b.tracker.user('ann').lastSeen).toBeLessThanOrEqual(b.wall())
    }
    expect(told(sim, b, 'joins')).toHaveLength(3)
  })
})
