import type { SimulatedNetwork } from '../net/simulated-network.ts'
import type { ReplicaInfo } from '../tracker/types.ts'
import { checkConvergence } from './convergence.ts'
import type { SimulatedReplica } from './simulated-replica.ts'

/**
 * Whether no state is in flight: all frames are read, every link that can be is open, and all replicas that reach each other know the same
 * events.
 *
 * @returns what is still missing, in words; undefined when nothing is
 */
export function whatIsMissing(network: SimulatedNetwork, replicas: readonly SimulatedReplica[]): string | undefined {
  const running = runningOf(replicas)
  for (const [index, one] of running.entries()) {
    for (const two of running.slice(index + 1)) {
      if (network.passable(one.name, two.name) && !network.connected(one.name, two.name)) {
        return `no link between ${one.name} and ${two.name}`
      }
    }
  }
  for (const component of components(network, running)) {
    const missing = whatIsMissingAmong(component)
    if (missing !== undefined) {
      return missing
    }
  }
  return network.inFlight > 0 ? `${network.inFlight} frames are on their way or held` : undefined
}

/** What replicas that reach each other list differently; undefined when nothing. */
export function whatDiffers(network: SimulatedNetwork, replicas: readonly SimulatedReplica[]): string | undefined {
  for (const component of components(network, runningOf(replicas))) {
    const [first] = checkConvergence(component)
    if (first !== undefined) {
      return first.finding
    }
  }
  return undefined
}

const runningOf = (replicas: readonly SimulatedReplica[]): SimulatedReplica[] =>
  replicas.filter(replica => replica.state === 'running' && replica.transport.running)

/** Replicas that reach each other, directly or through others. */
export function components(network: SimulatedNetwork, running: readonly SimulatedReplica[]): SimulatedReplica[][] {
  const left = new Set(running)
  const found: SimulatedReplica[][] = []
  for (const first of running) {
    if (left.delete(first)) {
      const component = [first]
      for (const member of component) {
        for (const other of left) {
          if (network.connected(member.name, other.name)) {
            left.delete(other)
            component.push(other)
          }
        }
      }
      found.push(component)
    }
  }
  return found
}

function whatIsMissingAmong(component: readonly SimulatedReplica[]): string | undefined {
  const known = new Map(component.map(member => [member, new Map(member.tracker.replicas().map(info => [info.id, info]))]))
  for (const owner of component) {
    const own = known.get(owner)?.get(owner.id)
    for (const member of component) {
      const info = known.get(member)?.get(owner.id)
      if (info === undefined || own === undefined) {
        return `${member.name} does not know ${owner.name}`
      }
      if (info.incarnation !== own.incarnation || info.head !== own.head || !info.complete || info.status !== 'up') {
        return `${member.name} holds ${owner.name} ${describe(info)}, itself is ${describe(own)}`
      }
    }
  }
  return whatIsMissingOfOthers(component, known)
}

/** Origins that nobody here is: those who still believe in them must agree on what they said. */
function whatIsMissingOfOthers(
  component: readonly SimulatedReplica[],
  known: ReadonlyMap<SimulatedReplica, ReadonlyMap<string, ReplicaInfo>>
): string | undefined {
  const ids = new Set(component.map(member => member.id))
  const first = new Map<string, { member: SimulatedReplica; info: ReplicaInfo }>()
  for (const [member, infos] of known) {
    for (const info of infos.values()) {
      if (ids.has(info.id) || info.status === 'down' || !info.complete) {
        continue
      }
      const other = first.get(info.id)
      if (other === undefined) {
        first.set(info.id, { member, info })
      } else if (other.info.incarnation !== info.incarnation || other.info.head !== info.head) {
        return `${member.name} holds ${info.id} ${describe(info)}, ${other.member.name} ${describe(other.info)}`
      }
    }
  }
  return undefined
}

const describe = (info: ReplicaInfo): string => `${info.status} #${info.incarnation} at ${info.head}${info.complete ? '' : ', incomplete'}`
