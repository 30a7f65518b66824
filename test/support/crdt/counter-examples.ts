import type { DeltaInterval } from '../../../src/crdt/index.ts'
import { type CounterExample, GHOST, ONE } from './counter-example.ts'
import { show } from './notation.ts'

/** Seen one step before the ghost: the record that will serve wrongly has a wrong log. */
const LOG = /the log is the owner’s/

/** The numbers are those of docs/algorithm.md. `(p@v→q@w]`: from, since → to, asOf. */
export const COUNTER_EXAMPLES: readonly CounterExample[] = [
  {
    id: 'C2: a slice goes as a plain interval, and two receivers at one head differ',
    rule: 'slices carry since and asOf',
    effect: GHOST,
    run(s) {
      s.add(3)
      s.pull(s.r, s.owner, '(0@3→2@3] +1 +2', { adds: 2 })
      s.remove(1)
      s.pull(s.x, s.owner, '(0@4→2@4] +2', ONE)
      s.holds(s.r, '0 {1 2}…')
      s.holds(s.x, '0 {2}…')
    }
  },
  {
    id: 'C3: a slice goes as a plain interval, and the removal is past the log',
    rule: 'slices carry since and asOf',
    effect: /all converge/,
    limits: { logLimit: 0 },
    run(s) {
      s.add(3)
      s.pull(s.r, s.owner, '(0@3→2@3] +1 +2', { adds: 2 })
      s.remove(1)
      s.pull(s.r, s.owner, '(0@4→2@4] +2', ONE)
      s.holds(s.r, '0 {2}…')
    }
  },
  {
    id: 'C4: a slice carries the marks of its own dots only, and one falls between two slices',
    rule: 'a later slice names every mark since the last cut',
    effect: GHOST,
    run(s) {
      s.add(2)
      s.pull(s.r, s.owner, '(0@2→1@2] +1', ONE)
      s.update(1)
      s.pull(s.r, s.owner, '(1@2→2@3] +2 [3:1x]', ONE)
      s.pull(s.r, s.owner, '(2@3→3@3] +3', ONE)
      s.holds(s.r, '3 {2 3}')
    }
  },
  {
    id: 'C5: a third party takes the end of a transfer whose start it never had',
    rule: 'since is checked',
    effect: GHOST,
    run(s) {
      s.add(2)
      s.pull(s.r, s.owner, '(0@2→2@2] +1 +2')
      s.update(1)
      s.pull(s.x, s.owner, '(0@3→2@3] +2', ONE)
      const end = s.cut(s.owner, s.x)
      s.expect(show(end), '(2@3→3@3] +3')
      s.give(s.r, end, 'gap')
      s.holds(s.r, '2 {1 2}')
    }
  },
  {
    id: 'C6: a later slice comes without the marks since the cut before it',
    rule: 'later slices carry marks',
    effect: GHOST,
    run(s) {
      s.add(2)
      s.pull(s.r, s.owner, '(0@2→1@2] +1', ONE)
      s.remove(1)
      s.pull(s.r, s.owner, '(1@2→3@3] +2 [3:1x]')
      s.holds(s.r, '3 {2}')
    }
  },
  {
    id: 'C7: an interval leaves out what it adds and removes itself, and one who has half of it trims it blindly',
    rule: 'marks of dots inside the interval travel',
    effect: GHOST,
    run(s, sent) {
      s.add()
      s.pull(s.r, s.owner, '(0@1→1@1] +1')
      s.remove(1)
      s.give(s.r, sent(s.plain(0, 2)), 'applied −1')
    }
  },
  {
    id: 'C8: a relay serves from inside an interval that left out what it added and removed',
    rule: 'marks of dots inside the interval travel',
    effect: LOG,
    run(s, sent) {
      s.add()
      s.pull(s.r, s.owner, '(0@1→1@1] +1')
      s.remove(1)
      s.give(s.x, sent(s.plain(0, 2)), 'applied')
      s.pull(s.r, s.x, '(1→2] [2:1x]')
    }
  },
  {
    id: 'C9: a relay resumes a transfer past what an interval left out',
    rule: 'marks of dots inside the interval travel',
    effect: LOG,
    run(s) {
      s.add(2)
      s.pull(s.y, s.owner, '(0@2→2@2] +1 +2')
      s.add(2)
      s.pull(s.x, s.owner, '(0@4→3@4] +1 +2 +3', { adds: 3 })
      s.remove(3)
      s.pull(s.y, s.owner, '(2→5] +4 [5:3x]')
      s.pull(s.x, s.y, '(3@4→5@5] +4 [5:3x]')
      s.holds(s.x, '5 {1 2 4}')
    }
  },
  {
    id: 'C10: a relay logs only what it removed itself, and the next laggard keeps the rest',
    rule: 'a relay logs every mark',
    effect: LOG,
    run(s) {
      s.add()
      s.pull(s.r, s.owner, '(0@1→1@1] +1')
      s.add()
      s.pull(s.y, s.owner, '(0@2→2@2] +1 +2')
      s.remove(2)
      s.pull(s.r, s.owner, '(1→3] [3:2x]')
      s.pull(s.y, s.r, '(2→3] [3:2x]')
      s.holds(s.y, '3 {1}')
    }
  },
  {
    id: 'C11: a relay in the middle of a transfer serves what it has',
    rule: 'only complete records serve',
    effect: GHOST,
    run(s) {
      s.add()
      s.pull(s.r, s.owner, '(0@1→1@1] +1')
      s.add()
      s.update(1)
      s.give(s.r, s.cut(s.owner, s.x, ONE), 'applied +2 −1')
      s.pull(s.x, s.r, 'nothing')
      s.holds(s.x, 'unknown')
    }
  },
  {
    id: 'C13: an interval is applied past a gap',
    rule: 'from is checked',
    effect: GHOST,
    run(s) {
      s.add(2)
      s.give(s.x, s.push(s.owner, 1), 'gap')
      s.holds(s.x, '0 {}')
    }
  },
  {
    id: 'C15: a full state leaves the old log in place, and the relay serves from before it',
    rule: 'a full state resets the log',
    effect: LOG,
    run(s) {
      s.add()
      s.pull(s.y, s.owner, '(0@1→1@1] +1')
      s.remove(1)
      s.pull(s.r, s.owner, '(0@2→2@2]')
      s.pull(s.y, s.r, '(0@2→2@2]')
      s.holds(s.y, '2 {}')
    }
  },
  {
    id: 'C16: the floor is one below the evicted event',
    rule: 'the floor is the evicted event',
    effect: GHOST,
    limits: { logLimit: 1 },
    run(s) {
      s.add()
      s.pull(s.r, s.owner, '(0@1→1@1] +1')
      s.update(1)
      s.remove(2)
      s.pull(s.r, s.owner, '(0@3→3@3]')
      s.holds(s.r, '3 {}')
    }
  },
  {
    id: 'C17: a full state removes nothing',
    rule: 'a full state sweeps',
    effect: GHOST,
    limits: { logLimit: 0 },
    run(s) {
      s.add()
      s.pull(s.r, s.owner, '(0@1→1@1] +1')
      s.remove(1)
      s.pull(s.r, s.owner, '(0@2→2@2]')
      s.holds(s.r, '2 {}')
    }
  },
  {
    id: 'C18: a late full state brings back what a newer slice knows to be gone',
    rule: 'only dots above known are inserted',
    effect: /never returns/,
    run(s) {
      s.add(2)
      const late = s.cut(s.owner, s.r)
      s.update(1)
      s.pull(s.r, s.owner, '(0@3→2@3] +2', ONE)
      s.give(s.r, late, 'applied')
      s.holds(s.r, '2 {2}…')
    }
  },
  {
    id: 'C19: complete is said without a look at the horizon',
    rule: 'complete needs the horizon',
    effect: GHOST,
    run(s) {
      s.add(2)
      const late = s.cut(s.owner, s.r)
      s.update(1)
      s.pull(s.r, s.owner, '(0@3→2@3] +2', ONE)
      s.give(s.r, late)
      s.holds(s.r, '2 {2}…')
      s.pull(s.r, s.owner, '(2→3] +3 [3:1x]')
      s.holds(s.r, '3 {2 3}')
    }
  },
  {
    id: 'C20: a sender prefers part of a step from the head to the step from the cursor',
    rule: 'a step from the head only if whole',
    effect: /all converge/,
    run(s) {
      s.add()
      s.pull(s.r, s.owner, '(0@1→1@1] +1')
      s.add(2)
      s.remove(2)
      s.remove(3)
      s.remove(1)
      s.pull(s.r, s.owner, '(1@1→1@5] [4:2x] [5:3x]', { marks: 2 })
      s.pull(s.r, s.owner, '(1@5→6@6] [6:1x]', ONE)
      s.holds(s.r, '6 {}')
    }
  },
  {
    id: 'C21: a slice is taken though it is older than the cursor',
    rule: 'a slice must be newer than the cursor',
    effect: /never go back/,
    run(s) {
      s.add(3)
      const older = s.cut(s.owner, s.r, ONE)
      s.add()
      s.pull(s.r, s.owner, '(0@4→1@4] +1', ONE)
      for (let pulls = 0; pulls < 3; pulls++) {
        s.give(s.r, s.cut(s.owner, s.r, ONE))
        s.give(s.r, older, 'old')
      }
      s.holds(s.r, '4 {1 2 3 4}')
    }
  },
  {
    id: 'C22: marks come as bare dots, and a relay cuts between two of them',
    rule: 'marks carry their event',
    effect: LOG,
    run(s) {
      s.add(2)
      s.pull(s.r, s.owner, '(0@2→2@2] +1 +2')
      s.pull(s.x, s.owner, '(0@2→2@2] +1 +2')
      s.remove(2)
      s.remove(1)
      s.pull(s.r, s.owner, '(2→4] [3:2x] [4:1x]')
      s.pull(s.x, s.r, '(2@2→2@3] [3:2x]', ONE)
      s.holds(s.x, '2 {1}…')
    }
  },
  {
    id: 'C23: a repair takes what was cut before it began, and ends below where it did',
    rule: 'a repair never goes back',
    effect: /never returns|never ends below/,
    run(s) {
      s.add(2)
      const older = s.push(s.owner, 0)
      s.give(s.r, older)
      s.add()
      s.pull(s.r, s.owner, '(2→3] +3')
      s.add()
      s.world.corrupt(s.r, s.owner.map.self, 1)
      s.holds(s.r, '0 {1 2}…')
      s.give(s.r, older, 'old')
      s.pull(s.r, s.owner, '(0@4→3@4] +1 +2 +3', { adds: 3 })
      s.give(s.r, older, 'old')
      s.pull(s.r, s.owner, '(3@4→4@4] +4')
      s.holds(s.r, '4 {1 2 3 4}')
    }
  }
]

/** What a sender leaves out that thinks nobody needs it: marks of dots that the interval itself would add. */
export function thinned(interval: DeltaInterval): DeltaInterval {
  return { ...interval, marks: interval.marks.filter(mark => mark.counter <= interval.from) }
}
