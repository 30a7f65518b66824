import pc from 'picocolors'
import { resolveCommand } from '../config.ts'
import type * as answers from '../control/answers.ts'
import { ControlClient, locate } from '../control/client.ts'
import { formatDuration } from '../durations.ts'
import { CLIENT } from '../setting-tables.ts'
import { colorStatus, plural, renderTable } from '../tables.ts'

type Flags = Record<string, unknown>

/** Asks one thing; prints it as JSON or as `human` writes it. */
async function ask<T>(
  flags: Flags,
  method: 'GET' | 'POST',
  path: string,
  query: Record<string, string | undefined>,
  human: (answer: T) => string
): Promise<T> {
  const { settings } = resolveCommand(CLIENT, flags)
  const answer = await new ControlClient(locate(settings), settings.timeout).ask<T>(method, path, query)
  console.log(settings.json ? JSON.stringify(answer) : human(answer))
  return answer
}

/** The replicas that it knows. */
export async function nodes(flags: Flags): Promise<void> {
  await ask<answers.NodesAnswer>(flags, 'GET', '/v1/nodes', {}, ({ self, nodes: known }) =>
    renderTable(
      ['replica', 'status', 'phi', 'silent', 'head', 'lag', 'state', 'incarnation'],
      known.map(node => [
        node.id === self ? `${node.id} ${pc.dim('(this)')}` : node.id,
        colorStatus(node.status),
        node.phi.toFixed(1),
        node.id === self ? '–' : formatDuration(node.silentMs),
        String(node.head),
        node.lagMs === 0 ? '–' : formatDuration(node.lagMs),
        node.complete ? 'complete' : pc.yellow('loading'),
        String(node.incarnation)
      ])
    )
  )
}

/** Topics with somebody in them. */
export async function topics(flags: Flags, prefix?: string): Promise<void> {
  await ask<answers.TopicsAnswer>(flags, 'GET', '/v1/topics', { prefix }, answer => {
    if (answer.topics.length === 0) {
      return prefix === undefined ? 'nobody is in any topic' : `nobody is in a topic that begins with ${prefix}`
    }
    const more = answer.cursor === null ? '' : pc.dim(`\nmore than ${answer.topics.length}: give a longer prefix`)
    const rows = answer.topics.map(({ topic, keys, presences }) => [topic, String(keys), String(presences)])
    return renderTable(['topic', 'keys', 'presences'], rows) + more
  })
}

/** Who is in a topic. */
export async function who(flags: Flags, topic: string): Promise<void> {
  await ask<answers.WhoAnswer>(flags, 'GET', '/v1/who', { topic }, answer => {
    if (answer.presences === 0) {
      return `nobody is in ${topic}`
    }
    const rows = answer.list.map(presence => [
      presence.key,
      presence.key === presence.user ? '' : presence.user,
      presence.state === 'online' ? pc.green('online') : pc.yellow('unknown'),
      formatDuration(Math.max(0, Date.now() - presence.joinedAt)),
      presence.replica,
      JSON.stringify(presence.meta)
    ])
    const more = answer.cursor === null ? '' : `, of which ${answer.list.length} are shown`
    const summary = pc.dim(`${plural(answer.keys, 'key')}, ${plural(answer.presences, 'presence')}${more}`)
    return `${renderTable(['key', 'user', 'state', 'for', 'replica', 'meta'], rows)}\n${summary}`
  })
}

/** How many are in a topic. */
export async function count(flags: Flags, topic: string): Promise<void> {
  await ask<answers.CountAnswer>(
    flags,
    'GET',
    '/v1/count',
    { topic },
    answer => `${plural(answer.keys, 'key')}, ${plural(answer.presences, 'presence')}`
  )
}

/** Whether a user is online, and where. */
export async function user(flags: Flags, id: string): Promise<void> {
  await ask<answers.UserAnswer>(flags, 'GET', '/v1/user', { user: id }, answer => {
    const seen = answer.lastSeen === null ? 'not seen here' : `last seen ${formatDuration(Math.max(0, Date.now() - answer.lastSeen))} ago`
    const online =
      answer.online === undefined
        ? pc.yellow('not known before the replica is ready')
        : answer.online
          ? pc.green(`online by ${plural(answer.connections, 'connection')}`)
          : `offline, ${seen}`
    const rows = answer.presences.map(presence => [presence.topic, presence.key, presence.state, presence.replica])
    return `${id} is ${online}${rows.length === 0 ? '' : `\n${renderTable(['topic', 'key', 'state', 'replica'], rows)}`}`
  })
}

/** Ends a user's connections. */
export async function kick(flags: Flags, id: string): Promise<void> {
  await ask<answers.KickAnswer>(flags, 'POST', '/v1/kick', { user: id }, ({ kicked }) => `${plural(kicked, 'connection')} of ${id} ended`)
}

/** Exit status 1 when the replica is not known. */
export async function forget(flags: Flags, replica: string): Promise<void> {
  const { forgotten } = await ask<answers.ForgetAnswer>(flags, 'POST', '/v1/forget', { replica }, answer =>
    answer.forgotten
      ? `${replica} is forgotten here, with all it held`
      : `${replica} is not known here; rollcall nodes lists those that are`
  )
  if (!forgotten) {
    process.exitCode = 1
  }
}

/** Lets the replica take no new connections. */
export async function drain(flags: Flags): Promise<void> {
  await ask<answers.DrainAnswer>(
    flags,
    'POST',
    '/v1/drain',
    {},
    () => 'draining: no new connections; stop the replica when its clients have moved'
  )
}

/** Exit status 1 when something is bad, so that a script can ask. */
export async function doctor(flags: Flags, id?: string): Promise<void> {
  const { findings } = await ask<answers.DoctorAnswer>(flags, 'GET', '/v1/doctor', { user: id }, renderDoctor)
  if (findings.some(finding => finding.severity === 'bad')) {
    process.exitCode = 1
  }
}

const MARK = { ok: pc.green('✓'), notice: pc.yellow('!'), bad: pc.red('✗') } as const

function renderDoctor({ status, loop, clock, nodes: known, user: examined, findings }: answers.DoctorAnswer): string {
  const up = known.filter(node => node.status === 'up').length
  const lines = [
    `${pc.bold(status.replica)} of cluster ${status.cluster}, up ${formatDuration(status.uptimeMs)}, Node ${status.node}`,
    `replicas     ${up} of ${known.length} up, slowest ${formatDuration(Math.max(0, ...known.map(node => node.lagMs)))} behind`,
    `event loop   p50 ${formatDuration(loop.p50Ms)}, p99 ${formatDuration(loop.p99Ms)}, at most ${formatDuration(loop.maxMs)} late`,
    `wall clock   ${new Date(clock.wallMs).toISOString()}, moved by ${formatDuration(clock.steppedMs)} since the start`,
    '',
    ...findings.flatMap(({ severity, what, advice }) => [`${MARK[severity]} ${what}`, ...(advice === '' ? [] : [pc.dim(`  → ${advice}`)])])
  ]
  if (examined !== null) {
    lines.push('', examined.why)
    if (examined.presences.length > 0) {
      const rows = examined.presences.map(presence => [
        presence.topic,
        presence.key,
        presence.state,
        formatDuration(presence.ageMs),
        presence.replica,
        colorStatus(presence.replicaStatus),
        presence.provenMsAgo === null ? 'never' : `${formatDuration(presence.provenMsAgo)} ago`
      ])
      lines.push(renderTable(['topic', 'key', 'state', 'for', 'held by', 'which is', 'last proof of life'], rows))
    }
  }
  return lines.join('\n')
}
