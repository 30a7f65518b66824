import { describe, expect, it } from 'vitest'
import { Audience } from '../../../src/net/gateway/feeds/audience.ts'
import { frameOf } from '../../../src/net/gateway/protocol/wire.ts'
import { type FakeWatcher, fakeWatcher } from './fakes.ts'

const STATE = frameOf('state')
const DIFF = frameOf('diff')
const give = (watcher: { send(frame: typeof STATE): void }): void => watcher.send(STATE)

function audienceOf(...watchers: readonly FakeWatcher[]): Audience {
  const audience = new Audience(() => {})
  for (const watcher of watchers) {
    audience.enter(watcher)
  }
  return audience
}

describe('an audience', () => {
  it('a newcomer is told nothing before its state', () => {
    const ann = fakeWatcher()
    const audience = audienceOf(ann)
    expect([audience.tell(DIFF), audience.waiting, audience.size]).toEqual([0, true, 1])
    audience.admit(give)
    expect([audience.tell(DIFF), audience.waiting, audience.size]).toEqual([1, false, 1])
    expect(ann.texts).toEqual(['state', 'diff'])
  })

  it('INV-94: one who does not take a frame gets nothing more, and then the whole state, once', () => {
    const ann = fakeWatcher()
    const bob = fakeWatcher()
    const audience = audienceOf(ann, bob)
    audience.admit(give)
    ann.takes = false
    expect(audience.tell(DIFF)).toBe(1)
    ann.takes = true
    expect(audience.tell(DIFF)).toBe(1)
    expect([audience.resume(ann), audience.resume(bob), audience.resume(ann)]).toEqual([true, false, false])
    expect(audience.tell(DIFF)).toBe(1)
    audience.admit(give)
    expect(audience.tell(DIFF)).toBe(2)
    expect(ann.texts).toEqual(['state', 'state', 'diff'])
    expect(bob.texts).toEqual(['state', 'diff', 'diff', 'diff', 'diff'])
  })

  it('one who did not read, and has missed nothing, is told what comes then: no state again', () => {
    const ann = fakeWatcher()
    const audience = audienceOf(ann)
    audience.admit(give)
    ann.takes = false
    ann.takes = true
    expect([audience.resume(ann), audience.waiting, audience.tell(DIFF)]).toEqual([false, false, 1])
    expect(ann.texts).toEqual(['state', 'diff'])
  })

  it('one who does not take its state waits until it has read', () => {
    const ann = fakeWatcher()
    ann.takes = false
    const audience = audienceOf(ann)
    audience.admit(give)
    ann.takes = true
    audience.admit(give)
    expect([ann.texts, audience.waiting, audience.size]).toEqual([[], false, 1])
    expect(audience.resume(ann)).toBe(true)
    audience.admit(give)
    expect(ann.texts).toEqual(['state'])
  })

  it('one who enters twice counts once; one who enters while level gets the state again, and no diff before it', () => {
    const ann = fakeWatcher()
    const audience = audienceOf(ann, ann)
    audience.admit(give)
    audience.enter(ann)
    expect([audience.size, audience.tell(DIFF)]).toEqual([1, 0])
    audience.admit(give)
    expect(ann.texts).toEqual(['state', 'state'])
  })

  it('one who enters while behind counts once, and is behind no more', () => {
    const ann = fakeWatcher()
    const audience = audienceOf(ann)
    audience.admit(give)
    ann.takes = false
    audience.tell(DIFF)
    ann.takes = true
    audience.enter(ann)
    audience.admit(give)
    expect([audience.size, audience.resume(ann), ann.texts]).toEqual([1, false, ['state', 'state']])
  })

  it('a recall makes the state due to all who are level, and to nobody else', () => {
    const [ann, bob, cid] = [fakeWatcher(), fakeWatcher(), fakeWatcher()] as [FakeWatcher, FakeWatcher, FakeWatcher]
    const audience = audienceOf(ann, bob)
    audience.admit(give)
    bob.takes = false
    audience.tell(DIFF)
    bob.takes = true
    audience.enter(cid)
    audience.recall()
    audience.admit(give)
    expect([ann.texts, bob.texts, cid.texts]).toEqual([['state', 'diff', 'state'], ['state'], ['state']])
  })

  it('who has left is told nothing, in whatever state he left', () => {
    const [level, due, behind] = [fakeWatcher(), fakeWatcher(), fakeWatcher()] as [FakeWatcher, FakeWatcher, FakeWatcher]
    const audience = audienceOf(level, behind)
    audience.admit(give)
    behind.takes = false
    audience.tell(DIFF)
    audience.enter(due)
    for (const watcher of [level, due, behind, fakeWatcher()]) {
      audience.leave(watcher)
    }
    expect(audience.size).toBe(0)
    audience.admit(give)
    expect([audience.tell(DIFF), due.texts]).toEqual([0, []])
  })

  it('one who leaves, and one who makes another leave, while they are told, miss nobody', () => {
    const audience = new Audience(() => {})
    const told: string[] = []
    const leaver = fakeWatcher('1', () => {
      told.push('leaver')
      audience.leave(leaver)
      audience.leave(other)
    })
    const other = fakeWatcher('2', () => told.push('other'))
    const last = fakeWatcher('3', () => told.push('last'))
    for (const watcher of [leaver, other, last]) {
      audience.enter(watcher)
    }
    audience.admit(give)
    expect(told).toEqual(['leaver', 'last'])
    expect(audience.size).toBe(1)
  })
})
