import { describe, expect, test } from 'vitest'
import { Checker } from '../../src/cli/sim/checks.ts'
import { Ledger, placeOf, type Span } from '../../src/cli/sim/ledger.ts'
import { Oracle } from '../../src/cli/sim/oracle.ts'
import type { WorkerSnapshot } from '../../src/cli/sim/worker-protocol.ts'

const BOUNDS = { propagationMs: 1_000, recoveryMs: 2_000, detectionMs: 5_000, graceMs: 10_000 }
const PLACE = placeOf('room', 'ada')
const [A, B, C] = [0, 1, 2]

function setup(): { ledger: Ledger; oracle: Oracle; hold: (replica: number, atMs: number) => Span } {
  const ledger = new Ledger()
  const hold = (replica: number, atMs: number): Span => {
    const span = ledger.open(PLACE, replica, atMs)
    span.heldMs = atMs
    return span
  }
  return { ledger, oracle: new Oracle(ledger, BOUNDS), hold }
}

function end(span: Span, how: Span['how'], atMs: number): void {
  span.how = how
  span.endMs = atMs
  span.endedMs = atMs
}

describe('Oracle: nothing is broken', () => {
  test('who never came must not be listed', () => {
    expect(setup().oracle.verdict(PLACE, A, 1_000)).toBe('never')
  })

  test('who comes may be listed at once, and must be when the news had time to travel', () => {
    const { oracle, hold } = setup()
    hold(A, 1_000)
    expect([999, 1_000, 1_999, 2_000, 1e9].map(atMs => oracle.verdict(PLACE, B, atMs))).toEqual(['never', 'may', 'may', 'must', 'must'])
  })

  test('an operation that no replica has confirmed: may', () => {
    const { ledger, oracle } = setup()
    ledger.open(PLACE, A, 1_000)
    expect(oracle.verdict(PLACE, B, 60_000)).toBe('may')
  })

  test('who leaves cleanly may be listed while the news travels, then must not', () => {
    const { oracle, hold } = setup()
    end(hold(A, 1_000), 'left', 20_000)
    expect([19_999, 20_000, 21_000, 21_001].map(atMs => oracle.verdict(PLACE, B, atMs))).toEqual(['must', 'may', 'may', 'never'])
  })

  test('whose socket died must be held for the grace, and not longer', () => {
    const { oracle, hold } = setup()
    end(hold(A, 1_000), 'lost', 20_000)
    expect([28_999, 29_000, 31_000, 31_001].map(atMs => oracle.verdict(PLACE, B, atMs))).toEqual(['must', 'may', 'may', 'never'])
  })

  test('whose socket died, and who came back and left, is not held', () => {
    const { oracle, hold } = setup()
    end(hold(A, 1_000), 'lost', 20_000)
    end(hold(B, 21_000), 'left', 22_000)
    expect(oracle.verdict(PLACE, C, 25_000)).toBe('may')
  })

  test('who moves must be listed all the time', () => {
    const { oracle, hold } = setup()
    end(hold(A, 1_000), 'lost', 20_000)
    hold(B, 21_000)
    for (let atMs = 2_000; atMs < 60_000; atMs += 500) {
      expect(oracle.verdict(PLACE, C, atMs)).toBe('must')
    }
  })
})

describe('Oracle: something is broken', () => {
  test('between owner and observer, for less than the grace: who was known before stays listed', () => {
    const { ledger, oracle, hold } = setup()
    hold(A, 1_000)
    const cut = ledger.disturbLinks('cut', [[A], [B]], 10_000)
    cut.untilMs = 15_000
    expect([9_999, 10_001, 16_999, 17_000].map(atMs => oracle.verdict(PLACE, B, atMs))).toEqual(['must', 'must', 'must', 'must'])
    expect(oracle.verdict(PLACE, C, 12_000)).toBe('must')
    expect(oracle.verdict(PLACE, A, 12_000)).toBe('must')
  })

  test('between owner and observer, for longer than the grace: may, until mended and recovered', () => {
    const { ledger, oracle, hold } = setup()
    hold(A, 1_000)
    const cut = ledger.disturbLinks('cut', [[A], [B]], 10_000)
    cut.untilMs = 60_000
    const times = [18_999, 19_000, 61_999, 62_000]
    expect(times.map(atMs => oracle.verdict(PLACE, B, atMs))).toEqual(['must', 'may', 'may', 'must'])
  })

  test('trouble upon trouble counts from the first; who came in its midst may be missing', () => {
    const { ledger, oracle, hold } = setup()
    hold(A, 1_000)
    for (const fromMs of [10_000, 14_000, 18_000]) {
      ledger.disturbLinks('cut', [[A], [B]], fromMs).untilMs = fromMs + 2_500
    }
    expect([18_999, 19_000].map(atMs => oracle.verdict(PLACE, B, atMs))).toEqual(['must', 'may'])
    const late = ledger.open(placeOf('room', 'ben'), A, 11_000)
    late.heldMs = 11_000
    expect(oracle.verdict(placeOf('room', 'ben'), B, 13_000)).toBe('may')
  })

  test('the observer itself begins again: may', () => {
    const { ledger, oracle, hold } = setup()
    hold(A, 1_000)
    ledger.disturbReplica('kill', B, 10_000, true).untilMs = 11_000
    expect(oracle.verdict(PLACE, B, 12_000)).toBe('may')
    expect(oracle.verdict(PLACE, C, 12_000)).toBe('must')
  })

  test('the observer begins again in the midst of older trouble: may', () => {
    const { ledger, oracle, hold } = setup()
    hold(A, 1_000)
    ledger.disturbLinks('cut', [[A], [B]], 10_000).untilMs = 12_000
    ledger.disturbReplica('kill', B, 12_500, true)
    expect(oracle.verdict(PLACE, B, 13_500)).toBe('may')
  })

  test('who hops and is lost at once may stay hidden by how he left elsewhere', () => {
    const { oracle, hold } = setup()
    end(hold(B, 10_000), 'left', 10_010)
    end(hold(A, 10_020), 'lost', 10_030)
    expect(oracle.verdict(PLACE, C, 15_000)).toBe('may')
    const other = setup()
    end(other.hold(B, 1_000), 'left', 2_000)
    end(other.hold(A, 10_020), 'lost', 10_030)
    expect(other.oracle.verdict(PLACE, C, 15_000)).toBe('must')
  })

  test('its replica dies: it stays listed for the grace, as its client is about to come back', () => {
    const { ledger, oracle, hold } = setup()
    ledger.disturbReplica('kill', A, 20_000, true)
    end(hold(A, 1_000), 'died', 20_000)
    expect([28_999, 29_000].map(atMs => oracle.verdict(PLACE, B, atMs))).toEqual(['must', 'may'])
  })

  test('a stall of the process that carries all links touches every pair', () => {
    const { ledger, oracle, hold } = setup()
    hold(A, 1_000)
    ledger.stalled(-1, 1_500, 40_000)
    expect(oracle.verdict(PLACE, B, 41_000)).toBe('may')
    expect([ledger.stallCount, ledger.stallMs]).toEqual([1, 38_500])
  })

  test('where the session was before counts: its late end hides it for a moment', () => {
    const { ledger, oracle, hold } = setup()
    end(hold(B, 1_000), 'left', 5_000)
    hold(A, 6_000)
    ledger.disturbLinks('cut', [[A], [B]], 5_500)
    expect(oracle.verdict(PLACE, A, 9_000)).toBe('may')
    expect(oracle.verdict(PLACE, C, 9_000)).toBe('may')
  })

  test('a leave behind a cut: may until it is mended, recovered, and a grace that began meanwhile is over', () => {
    const { ledger, oracle, hold } = setup()
    const span = hold(A, 1_000)
    const cut = ledger.disturbLinks('cut', [[A], [B]], 10_000)
    end(span, 'left', 11_000)
    expect(oracle.verdict(PLACE, B, 1e9)).toBe('may')
    cut.untilMs = 20_000
    expect([37_000, 37_001].map(atMs => oracle.verdict(PLACE, B, atMs))).toEqual(['may', 'never'])
    expect(oracle.verdict(PLACE, C, 12_001)).toBe('never')
  })

  test('a cut that begins when the leave has arrived does not excuse a ghost', () => {
    const { ledger, oracle, hold } = setup()
    end(hold(A, 1_000), 'left', 11_000)
    ledger.disturbLinks('cut', [[A], [B]], 13_000)
    expect(oracle.verdict(PLACE, B, 14_000)).toBe('never')
  })

  test('a replica dies for good: its presences may be held for detection and grace, no longer', () => {
    const { ledger, oracle, hold } = setup()
    const span = hold(A, 1_000)
    const kill = ledger.disturbReplica('kill', A, 20_000)
    end(span, 'died', 20_000)
    kill.untilMs = 20_001
    expect([30_000, 38_000].map(atMs => oracle.verdict(PLACE, B, atMs))).toEqual(['may', 'never'])
  })

  test('expected: the open spans, with their replicas', () => {
    const { oracle, hold } = setup()
    end(hold(A, 1_000), 'lost', 2_000)
    expect(oracle.expected()).toEqual(new Map())
    hold(B, 3_000)
    expect(oracle.expected()).toEqual(new Map([[PLACE, B]]))
  })
})

describe('Ledger', () => {
  test('compact: keeps what has not ended, or not long ago', () => {
    const { ledger, oracle, hold } = setup()
    end(hold(A, 1_000), 'left', 2_000)
    end(hold(A, 3_000), 'left', 50_000)
    const gone = ledger.open(placeOf('room', 'ben'), A, 0)
    end(gone, 'left', 10)
    ledger.compact(10_000)
    expect(ledger.spans.get(PLACE)).toHaveLength(1)
    expect(ledger.spans.size).toBe(1)
    expect(oracle.verdict(PLACE, B, 40_000)).toBe('must')
  })
})

describe('Checker', () => {
  const snapshot = (atMs: number, keys: string[], more: Partial<WorkerSnapshot> = {}): WorkerSnapshot => ({
    type: 'snapshot',
    request: 1,
    atMs,
    topics: keys.map(() => 'room'),
    keys,
    refs: keys.map(key => `ref of ${key}`),
    replicas: keys.map(() => 'id:0'),
    unknown: keys.map(() => false),
    usersOnline: keys,
    contradictions: [],
    nodes: [],
    ...more
  })
  const checker = (ledger: Ledger, oracle: Oracle) => new Checker(ledger, oracle, replica => 'abc'[replica] as string)
  const idOf = (replica: number): string => `id:${replica}`

  test('a ghost, a loss, a presence twice, and a fold that differs are each found, and told with what is known of them', () => {
    const { ledger, oracle, hold } = setup()
    hold(A, 1_000)
    const checks = checker(ledger, oracle)
    checks.during(B, snapshot(5_000, ['ada']), '5.0 s')
    expect(checks.results().every(check => check.ok)).toBe(true)
    checks.during(B, snapshot(6_000, ['eve', 'eve'], { contradictions: ['room: 1 is 2'] }), '6.0 s')
    const [ghosts, losses, folds] = checks.results()
    expect(ghosts?.examples).toEqual(['6.0 s: b lists room: eve (never there)', '6.0 s: b lists 1 presences twice'])
    expect(losses?.examples).toEqual(['6.0 s: b does not list room: ada (on a 1.00/1.00 to …/… open)'])
    expect(folds?.examples).toEqual(['6.0 s: b: room: 1 is 2'])
  })

  test('differences: equal is empty; each way of being wrong is named', () => {
    const { ledger, oracle, hold } = setup()
    hold(A, 1_000)
    const checks = checker(ledger, oracle)
    expect(checks.differences(B, snapshot(9_000, ['ada']), idOf, ['ada'])).toEqual([])
    const wrong = (given: WorkerSnapshot, users = ['ada']) => checks.differences(B, given, idOf, users).join('\n')
    expect(wrong(snapshot(9_000, [], { usersOnline: ['ada'] }))).toMatch(/b does not list room: ada .*who is on a/)
    expect(wrong(snapshot(9_000, ['ada', 'eve']))).toMatch(/b lists room: eve \(never there\), who is not there\nb holds eve online/)
    expect(wrong(snapshot(9_000, ['ada', 'ada']))).toMatch(/b lists room: ada twice/)
    expect(wrong(snapshot(9_000, ['ada'], { replicas: ['id:1'] }))).toMatch(/on another replica than a/)
    expect(wrong(snapshot(9_000, ['ada'], { unknown: [true] }))).toMatch(/as unknown/)
    expect(wrong(snapshot(9_000, ['ada']), [])).toMatch(/b holds ada online, who is not connected/)
    expect(wrong(snapshot(9_000, ['ada'], { usersOnline: [] }))).toMatch(/b does not hold ada online/)
  })
})
