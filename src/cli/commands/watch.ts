import pc from 'picocolors'
import type { Presence, WatchEvent } from '../../tracker/types.ts'
import { resolveCommand } from '../config.ts'
import { ControlClient, locate } from '../control/client.ts'
import { UnreachableError } from '../errors.ts'
import { CLIENT } from '../setting-tables.ts'
import { plural } from '../tables.ts'

/** Prints what happens in a topic until Ctrl-C (status 0) or the end of the replica (status 3). */
export async function watch(flags: Record<string, unknown>, topic: string): Promise<void> {
  const { settings } = resolveCommand(CLIENT, flags)
  const stop = new AbortController()
  process.once('SIGINT', () => stop.abort())
  process.once('SIGTERM', () => stop.abort())
  const client = new ControlClient(locate(settings), settings.timeout)
  for await (const event of client.stream<WatchEvent>('/v1/watch', { topic }, stop.signal)) {
    if (settings.json) {
      console.log(JSON.stringify(event))
    } else {
      for (const line of renderEvent(event)) {
        console.log(line)
      }
    }
  }
  if (!stop.signal.aborted) {
    throw new UnreachableError('the replica ended the stream; it stopped, or was restarted: watch again')
  }
}

/** An event in words, a line each. */
function renderEvent(event: WatchEvent): string[] {
  const time = pc.dim(new Date().toTimeString().slice(0, 8))
  if (event.type === 'snapshot') {
    const names = event.presences.map(presence => presence.key).join(' ')
    return [`${time} ${pc.bold(event.topic)}: ${plural(event.presences.length, 'presence')}${names === '' ? '' : ` ${pc.dim(names)}`}`]
  }
  const meta = ({ meta: value }: Presence): string => (Object.keys(value).length === 0 ? '' : ` ${pc.dim(JSON.stringify(value))}`)
  return [
    ...event.replicas.map(({ id, state }) => `${time} ${pc.yellow('~')} all on ${id} are ${state}`),
    ...event.leaves.map(({ presence, reason }) => `${time} ${pc.red('-')} ${presence.key} ${pc.dim(`(${reason})`)}`),
    ...event.updates.map(({ next, changed }) => `${time} ${pc.cyan('*')} ${next.key} ${pc.dim(`(${changed.join(', ')})`)}${meta(next)}`),
    ...event.moves.map(({ key, replica }) => `${time} ${pc.cyan('>')} ${key} ${pc.dim(`(now on ${replica})`)}`),
    ...event.joins.map(presence => `${time} ${pc.green('+')} ${presence.key}${meta(presence)}`),
    ...event.replace.map(({ replica, presences }) => `${time} ${pc.cyan('=')} ${plural(presences.length, 'presence')} on ${replica}`)
  ]
}
