import { randomBytes } from 'node:crypto'
import pc from 'picocolors'
import type { Tracker, TrackerEventDetails } from '../../tracker/types.ts'
import { type Resolved, resolveCommand } from '../config.ts'
import { Endpoints } from '../control/endpoints.ts'
import { ControlServer } from '../control/server.ts'
import { EXIT, messageOf, UsageError } from '../errors.ts'
import { gatewayAuth } from '../gateway/gateway-auth.ts'
import { GatewayServer, type GatewayServerOptions } from '../gateway/gateway-server.ts'
import { parseHostPort, requireLoopback } from '../host-port.ts'
import { openReplica } from '../open-replica.ts'
import type { ReplicaHandle } from '../replica.ts'
import { SERVE } from '../setting-tables.ts'
import { isRunning, pathIn, readControlFile, removeControlFile, stateDirectory, writeControlFile } from '../state-directory.ts'
import { plural } from '../tables.ts'
import { trackerOptions } from '../tuning.ts'

type LogFormat = 'text' | 'json' | 'none'

/** Runs one replica until it is told to stop. Resolves when it has stopped. */
export async function serve(flags: Record<string, unknown>): Promise<void> {
  const resolved = resolveCommand(SERVE, flags)
  const { settings, given } = resolved
  const directory = stateDirectory(settings.state)
  refuseSecond(directory, settings.name)
  const listen = parseHostPort(settings.control, '--control')
  requireLoopback(listen, '--control')
  const gatewayOptions = readGateway(resolved)
  const log = createLog(settings.log[0] ?? 'none')
  const replica = await openReplica({
    cluster: settings.cluster,
    listen: settings.listen,
    peers: settings.peers,
    identity: settings.identity ?? pathIn(directory, settings.name, '.key'),
    allow: settings.allow,
    swarmKey: settings.swarmKey,
    mdns: settings.mdns,
    options: { ...trackerOptions(settings), ...(settings.secret !== undefined && { secret: settings.secret }) }
  })
  const token = randomBytes(24).toString('base64url')
  let control: ControlServer | undefined
  let gateway: GatewayServer | undefined
  try {
    gateway = gatewayOptions && (await GatewayServer.open({ ...gatewayOptions, replica }))
    const endpoints = new Endpoints(replica, gateway)
    control = new ControlServer({ listen, token, endpoints, anyPortInstead: !given('control') })
    const url = await control.start()
    const { id } = replica.tracker
    const file = { url, token, pid: process.pid, replica: id, cluster: replica.cluster, startedAt: Date.now() }
    const path = writeControlFile(directory, settings.name, { ...file, ...(gateway !== undefined && { gateway: gateway.url }) })
    announce(replica, log, url, path)
    if (gateway !== undefined) {
      log(
        'gateway',
        { url: gateway.url, auth: settings.gatewayAuth },
        `live page at ${gateway.url}, clients connect to ${gateway.url}/socket`
      )
    }
    await untilSignal(replica, gateway, log)
  } finally {
    removeControlFile(directory, settings.name, process.pid)
    await control?.stop()
    await gateway?.stop()
    await replica.stop()
  }
}

/** Undefined: none is wanted. Before anything starts, so that a mistake leaves nothing running. */
function readGateway({ settings, given }: Resolved<typeof SERVE>): Omit<GatewayServerOptions, 'replica'> | undefined {
  if (settings.gateway === 'none') {
    return undefined
  }
  const address = parseHostPort(settings.gateway, '--gateway', '127.0.0.1:7480, or none')
  const auth = gatewayAuth(settings, address)
  return { listen: address, anyPortInstead: !given('gateway'), auth, origins: settings.origins }
}

function refuseSecond(directory: string, name: string): void {
  const other = readControlFile(directory, name)
  if (other !== undefined && other.pid !== process.pid && isRunning(other.pid)) {
    throw new UsageError(`a replica named "${name}" runs already (process ${other.pid}, ${other.url}); give this one another --name`)
  }
}

type Log = (event: string, details: Record<string, unknown>, words: string) => void

function createLog(format: LogFormat): Log {
  if (format === 'none') {
    return () => undefined
  }
  return format === 'json'
    ? (event, details) => console.log(JSON.stringify({ time: new Date().toISOString(), event, ...details }))
    : (_event, _details, words) => console.log(`${pc.dim(new Date().toTimeString().slice(0, 8))} ${words}`)
}

function announce({ tracker, addresses, cluster }: ReplicaHandle, log: Log, url: string, path: string): void {
  log('started', { replica: tracker.id, cluster, addresses, control: url, file: path }, `${pc.bold(tracker.id)} of cluster ${cluster}`)
  for (const address of addresses) {
    log('listening', { address }, `other replicas reach it with --peers ${address}`)
  }
  log('control', { url }, `control API at ${url}, token in ${path}`)
  tracker.ready.then(
    () => log('ready', { partial: tracker.partial }, tracker.partial ? pc.yellow('ready, without the state of every replica') : 'ready'),
    () => undefined
  )
  logReplicas(tracker, log)
}

function logReplicas(tracker: Tracker, log: Log): void {
  const colors = { up: pc.green, suspect: pc.yellow, down: pc.red, permdown: pc.red, duplicate: pc.red, diverged: pc.red }
  for (const status of Object.keys(colors) as (keyof typeof colors)[]) {
    const name: `replica:${keyof typeof colors}` = `replica:${status}`
    tracker.addEventListener(name, ({ detail }: { detail: TrackerEventDetails[typeof name] }) => {
      log(name, { ...detail }, `${colors[status](status)} ${detail.id}`)
    })
  }
  tracker.addEventListener('isolated', ({ detail: { isolated } }) => {
    const words = isolated ? pc.red('isolated: most replicas vanished at once, leaves are held') : pc.green('no longer isolated')
    log('isolated', { isolated }, words)
  })
  tracker.addEventListener('error', ({ detail: { error } }) => log('error', { message: messageOf(error) }, pc.red(messageOf(error))))
}

/**
 * SIGTERM: clients of the gateway are sent elsewhere, and keep their presences; other presences of ours leave at once. SIGINT: all are held for the grace, as
 * somebody is about to start us again. Twice: at once.
 */
async function untilSignal(replica: ReplicaHandle, gateway: GatewayServer | undefined, log: Log): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>()
  let asked = false
  const onSignal = (signal: NodeJS.Signals): void => {
    if (asked) {
      process.exit(EXIT.interrupted)
    }
    asked = true
    resolve(signal)
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  const signal = await promise
  const isAnnounced = signal === 'SIGTERM'
  log(
    'stopping',
    { signal, announce: isAnnounced },
    `${signal}: stopping, presences ${isAnnounced ? 'leave at once' : 'are held for the grace'}`
  )
  if (gateway !== undefined && isAnnounced) {
    if (gateway.size > 0) {
      log('draining', { sockets: gateway.size }, `sending ${plural(gateway.size, 'client')} elsewhere`)
    }
    await gateway.drain()
  }
  await gateway?.stop()
  await replica.stop({ announce: isAnnounced })
  log('stopped', {}, 'stopped')
}
