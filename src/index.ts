/**
 * Presence for app backends without a central store: who is here, across a fleet of servers.
 *
 * ```ts
 * import { createTracker } from 'rollcall'
 *
 * const tracker = createTracker()
 * await tracker.start()
 * const connection = tracker.connect('user:42')
 * connection.track('room:1', { status: 'here' })
 * console.log(tracker.count('room:1')) // { keys: 1, presences: 1 }
 * await tracker.stop()
 * ```
 *
 * @packageDocumentation
 */

export type { ReplicaId, ReplicaRef } from './crdt/dot.ts'
export type { MetaSchema, MetaSchemaOption, MetaSchemaResult } from './tracker/connections/meta-schema.ts'
export type { Cancel, Environment, Random } from './tracker/environment.ts'
export { createRandom, createSystemEnvironment } from './tracker/environment.ts'
export * from './tracker/errors.ts'
export type { DetectorOptions, GossipOptions, LimitOptions, ResolvedOptions, TrackerOptions } from './tracker/options.ts'
export { DEFAULTS, resolveOptions } from './tracker/options.ts'
export { PresenceFold } from './tracker/presence/presence-fold.ts'
export { createTracker } from './tracker/tracker.ts'
export type { Transport, TransportListener } from './tracker/transport.ts'
export type * from './tracker/types.ts'
