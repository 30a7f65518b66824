import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Connection, type Diff, type Meta, type Presence, PresenceFold, type Tracker, type WatchEvent } from '../../src/index.ts'
import { ready, startLone } from '../support/lone.ts'

const presence = (key: string, session: string, revision: number, replica = 'a'): Presence => ({
  ref: `${session.padEnd(16, '0')}.${revision}.x`,
  prevRef: null,
  key,
  user: key,
  meta: {},
  replica,
  state: 'online',
  joinedAt: revision
})
const diff = (parts: Partial<Diff>): Diff => ({
  topic: 't',
  cause: 'delta',
  joins: [],
  leaves: [],
  updates: [],
  moves: [],
  replicas: [],
  ...parts
})
const refs = (fold: PresenceFold, key: string): string[] => fold.get(key).map(p => p.ref)

describe('PresenceFold', () => {
  it('pub-C2: an update of one device leaves the other devices alone, whichever part is applied first', () => {
    const fold = new PresenceFold()
    const [one, two, other] = [presence('u', 'one', 1), presence('u', 'one', 2), presence('u', 'other', 9)]
    fold.apply(diff({ joins: [one, other] }))
    fold.apply(diff({ updates: [{ prev: one, next: two, changed: [] }] }))
    expect(refs(fold, 'u')).toEqual([two.ref, other.ref])
    const asJoinAndLeave = new PresenceFold()
    asJoinAndLeave.apply(diff({ joins: [one, other] }))
    asJoinAndLeave.apply(diff({ joins: [two], leaves: [{ presence: one, reason: 'unseen' }] }))
    expect(refs(asJoinAndLeave, 'u')).toEqual([two.ref, other.ref])
  })

  it('pub-C4: a diff that was applied before, or that the snapshot holds already, changes nothing', () => {
    const fold = new PresenceFold()
    const join = diff({ joins: [presence('u', 'one', 1)] })
    fold.apply(join)
    const list = fold.get('u')
    fold.apply(join)
    expect(fold.get('u')).toEqual(list)
    expect(fold.size).toBe(1)
  })

  it('pub-C6: an update of a ref that was never seen is a join, a leave of one is ignored; both are counted', () => {
    const fold = new PresenceFold()
    const [prev, next] = [presence('u', 'one', 1), presence('u', 'one', 2)]
    fold.apply(diff({ updates: [{ prev, next, changed: [] }] }))
    expect(refs(fold, 'u')).toEqual([next.ref])
    fold.apply(diff({ leaves: [{ presence: presence('x', 'z', 1), reason: 'left' }] }))
    fold.apply(diff({ moves: [{ ref: 'none', key: 'x', replica: 'b', state: 'online' }] }))
    expect(fold.unknownRefs).toBe(3)
  })

  it('moves and replicas change who holds a presence and how sure that is, and nothing else', () => {
    const fold = new PresenceFold()
    fold.apply(diff({ joins: [presence('u', 'one', 1, 'a'), presence('v', 'two', 1, 'a')] }))
    fold.apply(diff({ replicas: [{ id: 'a', state: 'unknown' }] }))
    fold.apply(diff({ moves: [{ ref: refs(fold, 'u')[0] as string, key: 'u', replica: 'b', state: 'online' }] }))
    expect(fold.get('u')).toMatchObject([{ replica: 'b', state: 'online' }])
    expect(fold.get('v')).toMatchObject([{ replica: 'a', state: 'unknown' }])
  })

  it('pub-D3, pub-E18: a diff touches its own keys only, and gives them new arrays', () => {
    const fold = new PresenceFold()
    fold.apply(diff({ joins: Array.from({ length: 10_000 }, (_, i) => presence(`u${i}`, `s${i}`, 1)) }))
    const before = new Map(fold.keys)
    fold.apply(diff({ joins: [presence('u5', 'again', 2)] }))
    const changed = [...fold.keys].filter(([key, list]) => before.get(key) !== list).map(([key]) => key)
    expect(changed).toEqual(['u5'])
    expect(before.get('u5')).toHaveLength(1)
  })

  it('pub-C1, pub-C7: whatever a client reads late, in pieces, or resumes, the fold is what is listed', async () => {
    const step = fc.record({
      user: fc.integer({ min: 0, max: 3 }),
      what: fc.constantFrom('track', 'untrack', 'update', 'lost', 'close', 'read', 'resume', 'run')
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async steps => {
        const { tracker, run } = await startLone({ limits: { changeLog: 6 } })
        const fold = new PresenceFold()
        let watch = tracker.watch('room')
        let token: string | undefined
        const read = async (): Promise<void> => {
          for (const event of await ready<WatchEvent>(watch)) {
            fold.apply(event)
            token = event.token
          }
        }
        for (const { user, what } of steps) {
          await act(tracker, user, what)
          if (what === 'read') {
            await read()
          } else if (what === 'resume' && token !== undefined) {
            await watch.return?.()
            watch = tracker.watch('room', { since: token })
          } else if (what === 'run') {
            await run(6_000)
          }
        }
        await read()
        expect(new Map(fold.keys)).toEqual(tracker.list('room'))
        await tracker.stop()
      }),
      { numRuns: 200 }
    )
  })
})

const connections = new WeakMap<object, Map<number, Connection>>()

async function act(tracker: Tracker, user: number, what: string): Promise<void> {
  const mine = connections.get(tracker) ?? new Map()
  connections.set(tracker, mine)
  let connection = mine.get(user)
  if (connection === undefined || !connection.open || (what === 'track' && connection.heartbeat() === false)) {
    connection = tracker.connect(`user:${user}`, { session: `s${user}` })
    mine.set(user, connection)
  }
  const listed = tracker.get('room', `user:${user}`).length > 0
  if (what === 'track') {
    try {
      connection.track('room', { n: user })
    } catch {
      // Tracked already.
    }
  } else if (what === 'untrack') {
    connection.untrack('room')
  } else if (what === 'update' && listed) {
    try {
      connection.update('room', (meta: Meta) => ({ ...meta, n: (meta.n as number) + 1 }))
    } catch {
      // Listed of the connection before, and not adopted yet.
    }
  } else if (what === 'lost') {
    connection.lost()
  } else if (what === 'close') {
    connection.close()
  }
}
