import { type CounterExample, GHOST, ONE } from './counter-example.ts'
import { demand } from './invariants.ts'

/** Of marks, frames and repairs: what the search found beyond the table of docs/algorithm.md. */
export const MARK_COUNTER_EXAMPLES: readonly CounterExample[] = [
  {
    id: 'M1: a full state tells of a lingering entry that is held as live',
    rule: 'a full state moves states on',
    effect: /no lost removal or move|entries = L/,
    limits: { logLimit: 0 },
    run(s) {
      s.add(2)
      s.pull(s.r, s.owner, '(0@2→2@2] +1 +2')
      s.mark(1, 1)
      s.pull(s.r, s.owner, '(0@3→3@3] +1~ +2')
      s.holds(s.r, '3 {1~ 2}')
    }
  },
  {
    id: 'M2: a late full state tells of a live entry that is known to be closed',
    rule: 'a state never moves back',
    effect: /never moves back/,
    run(s) {
      s.add(2)
      const late = s.cut(s.owner, s.r)
      s.mark(1, 2)
      s.pull(s.r, s.owner, '(0@3→1@3] +1=', ONE)
      s.give(s.r, late, 'applied +2')
      s.holds(s.r, '2 {1= 2}…')
    }
  },
  {
    id: 'M3: a relay logs removals, but not what lingers',
    rule: 'the log keeps every state',
    effect: GHOST,
    run(s) {
      s.add()
      s.pull(s.r, s.owner, '(0@1→1@1] +1')
      s.pull(s.y, s.owner, '(0@1→1@1] +1')
      s.mark(1, 1)
      s.pull(s.r, s.owner, '(1→2] [2:1~]')
      s.pull(s.y, s.r, '(1→2] [2:1~]')
      s.holds(s.y, '2 {1~}')
    }
  },
  {
    id: 'M4: a frame is cut as a plain interval, though a mark behind it has changed what it says',
    rule: 'a plain cut hides no later mark',
    effect: GHOST,
    run(s) {
      s.add()
      s.pull(s.r, s.owner, '(0@1→1@1] +1')
      s.add(3)
      s.remove(2)
      s.pull(s.r, s.owner, '(1@1→3@5] +3 [5:2x]', ONE)
      s.holds(s.r, '1 {1 3}…')
    }
  },
  {
    id: 'M5: an interval of marks alone is taken for old, as its dots are',
    rule: 'old intervals are known by asOf, not by to',
    effect: /all converge/,
    run(s) {
      s.add()
      s.pull(s.r, s.owner, '(0@1→1@1] +1')
      s.mark(1, 1)
      s.mark(1, 2)
      s.pull(s.r, s.owner, '(1@1→1@2] [2:1~]', ONE)
      s.holds(s.r, '1 {1~}…')
    }
  },
  {
    id: 'M6: a repair that ends leaves in place what no event of the owner has made',
    rule: 'a repair sweeps what is above',
    effect: GHOST,
    run(s) {
      s.add(2)
      const older = s.push(s.owner, 0)
      s.add(2)
      s.pull(s.r, s.owner, '(0@4→3@4] +1 +2 +3', { adds: 3 })
      s.world.invalidate(s.r, s.owner.map.self)
      s.give(s.r, older)
      s.holds(s.r, '2 {1 2}')
      demand(s.r.map.record(s.owner.map.self)?.repairing === false, 'the schedule', () => 'the repair is over')
    }
  },
  {
    id: 'M7: a repair is answered with a plain interval from the beginning, which names no dead dot',
    rule: 'a repair sweeps with plain intervals too',
    effect: GHOST,
    run(s) {
      s.add(2)
      s.pull(s.r, s.owner, '(0@2→2@2] +1 +2')
      s.add()
      s.mark(3, 1)
      s.add()
      // False entries 3 and 4, and 2 is gone. What a mark moves on and the repair overwrites has changed once.
      s.world.corrupt(s.r, s.owner.map.self, 3)
      s.holds(s.r, '0 {1 3 4}…')
      s.give(s.r, s.plain(0, 5), 'applied +2 +5 ~3~ −4')
      s.holds(s.r, '5 {1 2 3~ 5}')
    }
  },
  {
    id: 'M8: a repair that began twice ends below where the first began',
    rule: 'a repair never goes back',
    effect: /never returns|never ends below/,
    run(s) {
      s.add()
      const older = s.push(s.owner, 0)
      s.add()
      s.pull(s.r, s.owner, '(0@2→2@2] +1 +2')
      s.world.invalidate(s.r, s.owner.map.self)
      s.world.invalidate(s.r, s.owner.map.self)
      s.give(s.r, older, 'old')
      s.holds(s.r, '0 {1 2}…')
    }
  }
]
