import { type ReplicaRef, refKey } from '../../crdt/dot.ts'
import type { OrMap } from '../../crdt/or-map.ts'
import type { Environment } from '../environment.ts'
import { Judge } from '../membership/judge.ts'
import { OwnIncarnation } from '../membership/own-incarnation.ts'
import { Membership } from '../membership.ts'
import type { ResolvedOptions } from '../options.ts'
import type { Transport } from '../transport.ts'
import { Counters } from './counters.ts'
import { Digests } from './digests.ts'
import { Flush } from './flush.ts'
import { Lags } from './lags.ts'
import { Outbox } from './outbox.ts'
import { Peers } from './peers.ts'
import { Reach } from './reach.ts'
import { Repair } from './repair.ts'
import { Returns } from './returns.ts'
import { Sources } from './sources.ts'
import type { StepListener } from './step-listener.ts'
import { Timers } from './timers.ts'

export interface CoreInit {
  readonly map: OrMap
  readonly options: ResolvedOptions
  readonly environment: Environment
  readonly transport: Transport
  readonly listener: StepListener
  /** Runs a step and settles it. */
  readonly step: (run: () => void) => void
  /** Our record began again under a higher incarnation. */
  readonly onReincarnated: (before: ReplicaRef) => void
}

/** The parts of the cluster side, each of which knows only those it is given. */
export interface Core {
  readonly map: OrMap
  readonly options: ResolvedOptions
  readonly environment: Environment
  readonly transport: Transport
  readonly listener: StepListener
  readonly counters: Counters
  readonly timers: Timers
  readonly peers: Peers
  readonly membership: Membership
  readonly own: OwnIncarnation
  readonly judge: Judge
  readonly sources: Sources
  readonly lags: Lags
  readonly repair: Repair
  readonly digests: Digests
  readonly outbox: Outbox
  readonly flush: Flush
  readonly reach: Reach
  readonly returns: Returns
}

export function createCore({ map, options, environment, transport, listener, step, onReincarnated }: CoreInit): Core {
  const counters = new Counters()
  const timers = new Timers(environment, step)
  const peers = new Peers()
  const { flushWindowMs } = options.gossip
  const membership = new Membership({
    map,
    options,
    environment,
    listener,
    counters,
    onDropped: ref => {
      peers.forget(ref)
      sources.forget(ref)
      lags.forget(ref)
      repair.forget(ref)
      reach.forget(refKey(ref))
      reach.changed()
    }
  })
  const sources = new Sources({ map, peers, transport, environment, counters })
  const lags = new Lags({ map, sources, environment, timers, flushWindowMs })
  const repair = new Repair({ map, sources, listener, counters, heartbeatIntervalMs: options.gossip.heartbeatIntervalMs })
  const digests = new Digests({ map, options, membership, repair })
  const reach = new Reach({ peers, membership, transport, environment, timers, heartbeatIntervalMs: options.gossip.heartbeatIntervalMs })
  const outbox = new Outbox({
    map,
    peers,
    transport,
    timers,
    counters,
    mayServe: ref => !repair.isQuarantined(ref)
  })
  const flush = new Flush({ map, peers, outbox, environment, timers, windowMs: flushWindowMs })
  const disconnect = transport.disconnect.bind(transport)
  const judge = new Judge({ map, options, membership, listener, counters, disconnect })
  const own = new OwnIncarnation({ map, environment, timers, listener, counters, isTrusted: () => peers.trustUs(), onReincarnated })
  return {
    map,
    options,
    environment,
    transport,
    listener,
    counters,
    timers,
    peers,
    membership,
    own,
    judge,
    sources,
    lags,
    repair,
    digests,
    outbox,
    flush,
    reach,
    returns: new Returns({ membership, sources, environment, heartbeatIntervalMs: options.gossip.heartbeatIntervalMs })
  }
}
