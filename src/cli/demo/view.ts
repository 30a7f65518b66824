import pc from 'picocolors'
import { replicaName } from '../sim/fleet.ts'
import type { Sentence } from './narrator.ts'

/** What we did to a replica's process. */
export type ReplicaCondition = 'starting' | 'up' | 'killed' | 'stopped' | 'paused'

/** A replica as it is shown. */
export interface ReplicaRow {
  readonly condition: ReplicaCondition
  readonly connections: number
  /** Presences it lists; undefined when it cannot be asked. */
  readonly listed: number | undefined
}

/** A presence as it is shown. */
export interface SeenPerson {
  readonly user: string
  /** −1 when its replica is none of ours. */
  readonly replica: number
  readonly unknown: boolean
}

/** Everything that the screen shows. */
export interface DemoView {
  readonly elapsedMs: number
  /** Where the live page is; undefined before it is there. */
  readonly page: string | undefined
  readonly replicas: readonly ReplicaRow[]
  /** Which replica's view is shown; −1 before there is one. */
  readonly seenBy: number
  readonly topics: ReadonlyMap<string, readonly SeenPerson[]>
  /** Whether all replicas that answer list the same. */
  readonly agree: boolean
  /** Median in ms from a join until other replicas show it; 0 when none was seen. */
  readonly joinP50Ms: number
  readonly story: readonly Sentence[]
}

const COLORS = [pc.cyan, pc.magenta, pc.yellow, pc.green, pc.blue]
const colorOf = (replica: number): ((text: string) => string) =>
  replica < 0 ? pc.dim : (COLORS[replica % COLORS.length] as typeof pc.cyan)

const SIGNS: Record<ReplicaCondition, string> = {
  starting: pc.yellow('◌ starting'),
  up: pc.green('● up'),
  killed: pc.red('✗ killed'),
  stopped: pc.red('✗ stopped'),
  paused: pc.yellow('‖ paused')
}

/** The screen as lines, each at most `width` columns wide, at most `height` of them. */
export function renderView(view: DemoView, width: number, height: number): string[] {
  const top = [
    `${pc.bold('rollcall demo')}  ${clock(view.elapsedMs)}  ${pc.dim('three servers, each its own process, no database between them. Ctrl-C ends it.')}`,
    view.page === undefined ? '' : `live page      ${pc.underline(view.page)}  ${pc.dim('the same, in a browser')}`,
    '',
    ...view.replicas.map((row, replica) => replicaLine(row, replica)),
    pc.dim('  ') + agreement(view),
    '',
    view.seenBy < 0
      ? pc.dim('nobody to ask yet')
      : `${pc.bold('who is where')}, as ${colorOf(view.seenBy)(replicaName(view.seenBy))} sees it ${pc.dim(`(colour: the server that holds the connection; ?: unknown)`)}`,
    ...[...view.topics].flatMap(([topic, people]) => topicLines(topic, people, width)),
    '',
    pc.bold('what happens')
  ]
  const room = Math.max(0, height - top.length)
  const story = view.story.flatMap(sentence => storyLines(sentence, width)).slice(-room)
  return [...top, ...story].slice(0, height).map(line => cut(line, width))
}

function replicaLine({ condition, connections, listed }: ReplicaRow, replica: number): string {
  const held = `${String(connections).padStart(3)} connections`
  const sees = listed === undefined ? '' : `${String(listed).padStart(3)} presences listed`
  return `  ${colorOf(replica)(replicaName(replica))} ${padVisible(SIGNS[condition], 12)} ${condition === 'up' ? `${held}   ${sees}` : pc.dim(sees)}`
}

function agreement({ agree, replicas, joinP50Ms }: DemoView): string {
  const asked = replicas.filter(row => row.listed !== undefined).length
  const same = asked < 2 ? '' : agree ? pc.green('all that answer list the same') : pc.yellow('lists differ for the moment')
  return `${same}${joinP50Ms > 0 ? pc.dim(`   a join shows on the others after ${joinP50Ms.toFixed(1)} ms (median)`) : ''}`
}

function topicLines(topic: string, people: readonly SeenPerson[], width: number): string[] {
  const head = `  ${pc.bold(`#${topic}`.padEnd(9))}${String(people.length).padStart(3)}  `
  const lines: string[] = []
  let line = head
  for (const { user, replica, unknown } of people) {
    const shown = unknown ? pc.dim(`${user}?`) : colorOf(replica)(user)
    if (visibleLength(line) + user.length + 2 > width) {
      lines.push(line)
      line = ' '.repeat(visibleLength(head))
    }
    line += `${shown} `
  }
  return [...lines, line]
}

/** A sentence, wrapped. */
export function storyLines({ atMs, text, mood }: Sentence, width: number): string[] {
  const color = mood === 'fault' ? pc.red : mood === 'good' ? pc.green : pc.dim
  const time = `  ${clock(atMs)}  `
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && time.length + line.length + word.length + 1 > width) {
      lines.push(line)
      line = ''
    }
    line += (line === '' ? '' : ' ') + word
  }
  return [...lines, line].map((part, index) => (index === 0 ? pc.dim(time) : ' '.repeat(time.length)) + color(part))
}

/** `0:07`. */
export function clock(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000))
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the escape character is what is looked for.
const ESCAPES = /(\u001b\[[0-9;]*m)/g
const visibleLength = (line: string): number => line.replace(ESCAPES, '').length
const padVisible = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - visibleLength(text)))

/** Cuts a line to its visible width, keeping escapes whole. */
function cut(line: string, width: number): string {
  if (visibleLength(line) <= width) {
    return line
  }
  let left = width
  const kept = line.split(ESCAPES).map(part => {
    if (part.startsWith('\u001b')) {
      return part
    }
    const piece = part.slice(0, left)
    left -= piece.length
    return piece
  })
  return kept.join('')
}
